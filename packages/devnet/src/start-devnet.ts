// Puts the ledger and its three edges together. Everything that a devnet consists of is made here and ended by `stop`.

import { systemClock } from '@tallystick/service-kit'
import type { FastifyInstance } from 'fastify'
import { createAnvilClient } from './anvil/anvil-client.ts'
import { startAnvil } from './anvil/anvil-process.ts'
import { startConsensusServer } from './consensus/consensus-server.ts'
import { createTransferService, type TransferService } from './consensus/transfer-service.ts'
import { createControls } from './controls.ts'
import type { Devnet, DevnetAccount, DevnetControls, DevnetOptions } from './devnet.ts'
import { createConsensusClock } from './ledger/consensus-clock.ts'
import { createAccount, createGenesis } from './ledger/genesis.ts'
import { createLedger, type Ledger } from './ledger/ledger.ts'
import { CHAIN_ID, TRANSACTION_GAS_MAX } from './ledger/network.ts'
import { createScheduler, type Scheduler } from './ledger/scheduler.ts'
import { hostAndPort, reachableHost, requireFreePort } from './listen.ts'
import { createMirrorServer } from './mirror/mirror-server.ts'
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
  const ports = await requirePorts(options)
  const clock = createConsensusClock(options.clock ?? systemClock)
  const anvilProcess = await startAnvil({
    chainId: CHAIN_ID,
    genesisSecond: clock.nowSeconds() - GENESIS_MARGIN_SECONDS,
    gasLimit: TRANSACTION_GAS_MAX,
  })
  const anvil = createAnvilClient(anvilProcess)
  const ledger = createLedger({ clock, anvil })
  const closers: (() => unknown)[] = []
  const stop = async (): Promise<void> => {
    clock.stop()
    for (const close of closers.splice(0).toReversed()) await close()
    await ledger.queue.idle()
    anvil.close()
    await anvilProcess.stop()
  }
  try {
    const scheduler = createScheduler(ledger)
    await scheduler.install()
    const accounts = await createGenesis(ledger)
    const transfers = createTransferService(ledger, options.wallClock ?? systemClock)
    const controls = createControls({ ledger, scheduler, transfers })
    const edges = await openEdges({
      ledger,
      scheduler,
      transfers,
      controls,
      accounts,
      closers,
      ports,
    })
    closeIdleBlocks(ledger)
    return {
      ...edges,
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

type Ports = { host: string; rpcPort: number; mirrorPort: number; consensusPort: number }

async function requirePorts(options: DevnetOptions): Promise<Ports> {
  const { host = '127.0.0.1', rpcPort = 0, mirrorPort = 0, consensusPort = 0 } = options
  await requireFreePort({ name: 'JSON-RPC', host, port: rpcPort })
  await requireFreePort({ name: 'mirror REST', host, port: mirrorPort })
  await requireFreePort({ name: 'consensus gRPC', host, port: consensusPort })
  return { host, rpcPort, mirrorPort, consensusPort }
}

async function openEdges(parts: {
  ledger: Ledger
  scheduler: Scheduler
  transfers: TransferService
  controls: DevnetControls
  accounts: DevnetAccount[]
  closers: (() => unknown)[]
  ports: Ports
}): Promise<Pick<Devnet, 'rpcUrl' | 'mirrorUrl' | 'consensus'>> {
  const { ledger, scheduler, transfers, closers } = parts
  const { host, rpcPort, mirrorPort, consensusPort } = parts.ports
  const consensus = await startConsensusServer({ ledger, transfers, host, port: consensusPort })
  closers.push(() => {
    consensus.stop()
  })
  const rpc = createRpcServer(ledger, controlMethods(parts))
  closers.push(() => rpc.close())
  const mirror = createMirrorServer(ledger, {
    scheduler,
    consensus: { host: reachableHost(host), port: consensus.port },
  })
  closers.push(() => mirror.close())
  return {
    rpcUrl: await listen(rpc, { host, port: rpcPort }),
    mirrorUrl: await listen(mirror, { host, port: mirrorPort }),
    consensus: {
      address: hostAndPort(reachableHost(host), consensus.port),
      nodeAccountId: '0.0.3',
    },
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
  return `http://${hostAndPort(reachableHost(at.host), port)}`
}
