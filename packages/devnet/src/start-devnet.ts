// Puts the ledger and its three edges together. Everything that a devnet consists of is made here and ended by `stop`.

import type { FastifyInstance } from 'fastify'
import { createAnvilClient } from './anvil/anvil-client.ts'
import { startAnvil } from './anvil/anvil-process.ts'
import { systemClock } from './clock.ts'
import { startConsensusServer } from './consensus/consensus-server.ts'
import { createTransferService } from './consensus/transfer-service.ts'
import { createControls } from './controls.ts'
import type { Devnet, DevnetOptions } from './devnet.ts'
import { createConsensusClock } from './ledger/consensus-clock.ts'
import { createAccount } from './ledger/create-account.ts'
import { createGenesis } from './ledger/genesis.ts'
import { createLedger, type Ledger } from './ledger/ledger.ts'
import { CHAIN_ID, TRANSACTION_GAS_MAX } from './ledger/network.ts'
import { createScheduler } from './ledger/scheduler.ts'
import { createMirrorServer } from './mirror/mirror-server.ts'
import { requireFreePort } from './port-taken.ts'
import { controlMethods } from './rpc/control-methods.ts'
import { createRpcServer } from './rpc/rpc-server.ts'

/** How often the network closes a block when nothing happens, milliseconds (a record file every two seconds). */
const IDLE_BLOCK_MS = 2_000

/** The genesis block lies this far before the start, seconds, so that lagging stamps never go below it. */
const GENESIS_MARGIN_SECONDS = 60

/**
 * Starts a local Hedera in this process; anvil runs as its child and cannot outlive it.
 * @throws PortTaken naming the port, AnvilMissing naming what to install, AnvilFailed
 */
export async function startDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  const host = options.host ?? '127.0.0.1'
  const { rpcPort = 0, mirrorPort = 0, consensusPort = 0 } = options
  await requireFreePort({ name: 'JSON-RPC', host, port: rpcPort })
  await requireFreePort({ name: 'mirror REST', host, port: mirrorPort })
  await requireFreePort({ name: 'consensus gRPC', host, port: consensusPort })
  const clock = createConsensusClock(options.clock ?? systemClock)
  const anvilProcess = await startAnvil({
    chainId: CHAIN_ID,
    genesisSecond: clock.nowSeconds() - GENESIS_MARGIN_SECONDS,
    gasLimit: TRANSACTION_GAS_MAX,
  })
  const anvil = createAnvilClient(anvilProcess.port)
  const closers: (() => unknown)[] = []
  const stop = async (): Promise<void> => {
    clock.stop()
    for (const close of closers.splice(0).toReversed()) await close()
    await ledger.queue.idle()
    anvil.close()
    await anvilProcess.stop()
  }
  const ledger = createLedger({ clock, anvil })
  try {
    const scheduler = createScheduler(ledger)
    await scheduler.install()
    const accounts = await createGenesis(ledger)
    const transfers = createTransferService(ledger, options.wallClock ?? systemClock)
    const controls = createControls({ ledger, scheduler, transfers })
    const rpc = createRpcServer(ledger, controlMethods({ ledger, scheduler, controls, accounts }))
    closers.push(() => rpc.close())
    const mirror = createMirrorServer(ledger)
    closers.push(() => mirror.close())
    const rpcUrl = await listen(rpc, { host, port: rpcPort })
    const mirrorUrl = await listen(mirror, { host, port: mirrorPort })
    const consensus = await startConsensusServer({
      ledger,
      transfers,
      host,
      port: consensusPort,
    })
    closers.push(() => {
      consensus.stop()
    })
    closeIdleBlocks(ledger)
    return {
      rpcUrl,
      mirrorUrl,
      consensus: { address: `${shownHost(host)}:${consensus.port}`, nodeAccountId: '0.0.3' },
      chainId: CHAIN_ID,
      accounts,
      createAccount: async (account) => {
        const created = await ledger.queue.run(() => createAccount(ledger, account))
        accounts.push(created)
        return created
      },
      controls,
      clock,
      nowSeconds: () => clock.nowSeconds(),
      executions: () => scheduler.executions(),
      stop,
    }
  } catch (cause) {
    await stop()
    throw cause
  }
}

function closeIdleBlocks(ledger: Ledger): void {
  ledger.clock.after(IDLE_BLOCK_MS, () => {
    void closeIdleBlock(ledger).finally(() => {
      closeIdleBlocks(ledger)
    })
  })
}

async function closeIdleBlock(ledger: Ledger): Promise<void> {
  const newest = ledger.evm.blockTimes(ledger.evm.latestBlock())
  if (ledger.clock.unixMs() - (newest?.recordedAtMs ?? 0) < IDLE_BLOCK_MS / 2) return
  try {
    await ledger.queue.run(() => ledger.evm.mine(ledger.clock.nextTimestamp()))
  } catch (cause) {
    process.stderr.write(`devnet: ${String(cause)}\n`)
  }
}

async function listen(app: FastifyInstance, at: { host: string; port: number }): Promise<string> {
  await app.listen({ host: at.host, port: at.port })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : at.port
  return `http://${shownHost(at.host)}:${port}`
}

/** A wildcard is no address to connect to. */
function shownHost(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
}
