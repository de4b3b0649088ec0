// Assembles the ledger and its three edges. Everything in a devnet is created here and ended by `stop`.

import type { AddressInfo } from 'node:net'
import { type Clock, systemClock } from '@tallystick/service-kit'
import type { FastifyInstance } from 'fastify'
import { startAnvilGenerations } from './anvil/anvil-generations.ts'
import { startAnvil } from './anvil/anvil-process.ts'
import { startConsensusServer } from './consensus/consensus-server.ts'
import { createWaitingRoom } from './consensus/handle-transaction.ts'
import { createTransactionService } from './consensus/transaction-service.ts'
import { createControls } from './controls.ts'
import { completeOpenTransfers } from './ledger/complete-transfers.ts'
import { type ConsensusClock, createConsensusClock } from './ledger/consensus-clock.ts'
import { STATES_KEPT } from './ledger/evm.ts'
import { createAccount, createGenesis, type NewAccount } from './ledger/genesis.ts'
import { createLedger, type Ledger } from './ledger/ledger.ts'
import { BLOCK_GAS_MAX, CHAIN_ID } from './ledger/network.ts'
import type { NetworkConditions } from './ledger/network-faults.ts'
import { createScheduler } from './ledger/scheduler.ts'
import { hostAndPort, reachableHost, requireFreePort } from './listen.ts'
import { createMirrorServer } from './mirror/mirror-server.ts'
import { controlMethods } from './rpc/control-methods.ts'
import { createRpcServer } from './rpc/rpc-server.ts'
import { createSnapshots, keepInFile } from './snapshots.ts'

/** How often the network closes a block while idle, milliseconds (a record file every two seconds). */
const IDLE_BLOCK_MS = 2_000

/** How far the genesis block lies before the start, seconds, so that lagging stamps never fall below it. */
const GENESIS_MARGIN_SECONDS = 60

/** Blocks that anvil keeps beyond those that can be read: it forgets while others read. */
const BLOCKS_SPARE = 16

export type DevnetOptions = {
  /** Port of the JSON-RPC edge; 0, the default, takes a free one. */
  rpcPort?: number
  /** Port of the mirror node's REST interface; 0, the default, takes a free one. */
  mirrorPort?: number
  /** Port of the consensus gRPC edge; 0, the default, takes a free one. */
  consensusPort?: number
  /** Address to listen on; loopback by default. */
  host?: string
  /** The ledger's time, by default the machine's. Travel is added to it. */
  clock?: Clock
  /** The time that judges the validity of transfers, by default the machine's, since SDKs stamp wall time. */
  wallClock?: Pick<Clock, 'unixMs'>
  /**
   * How far the machine's clock, which services in other processes use, is ahead of the ledger's, milliseconds; below 0,
   * behind it. The ledger's time is `clock` minus this.
   */
  serverClockOffMs?: number
  /** Where the ledger is kept across restarts; by default it ends with the process. */
  stateFile?: string | undefined
  /** How long a send takes, as `setSendLatencyMs` sets it; no time by default. */
  sendLatencyMs?: NetworkConditions['sendLatencyMs']
}

/** A running local Hedera. */
export type Devnet = Awaited<ReturnType<typeof startDevnet>>

/**
 * Starts a local Hedera in this process; anvil runs as its child and cannot outlive it.
 * @throws PortTaken naming the port, AnvilMissing naming what to install, AnvilFailed, StateUnreadable naming the file
 */
export async function startDevnet(options: DevnetOptions = {}) {
  const { host = '127.0.0.1', rpcPort = 0, mirrorPort = 0, consensusPort = 0 } = options
  await requireFreePort({ name: 'JSON-RPC', host, port: rpcPort })
  await requireFreePort({ name: 'mirror REST', host, port: mirrorPort })
  await requireFreePort({ name: 'consensus gRPC', host, port: consensusPort })
  const { clock: base = systemClock, serverClockOffMs = 0 } = options
  const clock = createConsensusClock(shifted(base, () => -serverClockOffMs))
  const { anvil, ledger } = await startLedger(clock)
  ledger.faults.serverClockOffMs = serverClockOffMs
  ledger.faults.sendLatencyMs = options.sendLatencyMs ?? ledger.faults.sendLatencyMs
  const closers: (() => unknown)[] = []
  /** Closes the edges and ends anvil. Can be called again. */
  const stop = async (): Promise<void> => {
    clock.stop()
    try {
      for (const close of closers.splice(0).toReversed()) await close()
      await ledger.queue.idle()
    } finally {
      await anvil.stop()
    }
  }
  const openEdge = (app: FastifyInstance, port: number): Promise<string> => {
    closers.push(() => app.close())
    return listen(app, { host, port })
  }
  try {
    const scheduler = createScheduler(ledger, createWaitingRoom(ledger))
    await scheduler.install()
    const accounts = await createGenesis(ledger)
    const transfers = createTransactionService(ledger, options.wallClock ?? systemClock)
    const parts = { ledger, anvil, scheduler, accounts }
    const snapshots = await createSnapshots(parts, transfers)
    if (options.stateFile !== undefined) {
      const stateKeeper = await keepInFile(options.stateFile, { snapshots, ledger, timers: base })
      closers.push(() => stateKeeper.end())
    }
    const controlled = {
      accounts,
      async createAccount(account: NewAccount) {
        const created = await ledger.queue.run(() => createAccount(ledger, account))
        accounts.push(created)
        return created
      },
      controls: { ...createControls({ ledger, scheduler, transfers }), ...snapshots.controls },
      /** Current consensus second, Unix seconds. */
      nowSeconds: () => clock.nowSeconds(),
      /** Every execution of a schedule so far, oldest first. */
      executions: () => scheduler.executions(),
    }
    const node = await startConsensusServer({ ledger, transfers, host, port: consensusPort })
    closers.push(node.stop)
    const consensus = { host: reachableHost(host), port: node.port }
    const mirror = createMirrorServer(ledger, { scheduler, consensus })
    const mirrorUrl = await openEdge(mirror, mirrorPort)
    const views = { timers: base, pageUrl: mirrorUrl }
    const rpc = createRpcServer(ledger, controlMethods(controlled), views)
    const devnet = {
      ...controlled,
      /** JSON-RPC, e.g. `http://127.0.0.1:7546`. */
      rpcUrl: await openEdge(rpc, rpcPort),
      /** Mirror REST without `/api/v1`, e.g. `http://127.0.0.1:5551`. */
      mirrorUrl,
      /** For `Client.forNetwork({[address]: nodeAccountId})`. */
      consensus: { address: hostAndPort(consensus.host, consensus.port), nodeAccountId: '0.0.3' },
      chainId: CHAIN_ID,
      /** Ledger time with its travel, for services that live in the same process. */
      clock: clock as Clock,
      /** The clock of servers in the same process: the ledger's, off by `setServerClockOffMs`. */
      serverClock: shifted(clock, () => ledger.faults.serverClockOffMs),
      stop,
    }
    closeIdleBlocks(ledger)
    return devnet
  } catch (cause) {
    await stop()
    throw cause
  }
}

/** A ledger that does not age: anvils succeed one another, and transfers are read from a state before it is forgotten. */
async function startLedger(clock: ConsensusClock) {
  const genesisSecond = clock.nowSeconds() - GENESIS_MARGIN_SECONDS
  const anvil = await startAnvilGenerations(() =>
    startAnvil({
      chainId: CHAIN_ID,
      genesisSecond,
      gasLimit: BLOCK_GAS_MAX,
      blocksKept: STATES_KEPT + BLOCKS_SPARE,
    }),
  )
  let tracedBlock = 0
  const ledger: Ledger = createLedger({
    clock,
    anvil,
    async beforeChange(newestBlock) {
      if (newestBlock - tracedBlock >= STATES_KEPT / 2) {
        tracedBlock = newestBlock
        await completeOpenTransfers(ledger)
      }
      await anvil.succeedIfDue(newestBlock)
      await ledger.tokens.tellAccounts()
    },
  })
  return { anvil, ledger }
}

/** Resolves with the URL. */
async function listen(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<string> {
  await app.listen({ host, port })
  const { port: bound } = app.server.address() as AddressInfo
  return `http://${hostAndPort(reachableHost(host), bound)}`
}

/** `base`, ahead by `offMs`. */
function shifted(base: Clock, offMs: () => number): Clock {
  return { unixMs: () => base.unixMs() + offMs(), after: (ms, run) => base.after(ms, run) }
}

function closeIdleBlocks(ledger: Ledger): void {
  ledger.clock.after(IDLE_BLOCK_MS, () => {
    void closeIdleBlock(ledger).finally(() => closeIdleBlocks(ledger))
  })
}

async function closeIdleBlock(ledger: Ledger): Promise<void> {
  const { to } = ledger.evm.blockRange(ledger.evm.newestBlock())
  if (ledger.clock.unixMs() - Number(to / 1_000_000n) < IDLE_BLOCK_MS / 2) return
  try {
    await ledger.queue.run(() => ledger.evm.mine(ledger.clock.nextTimestamp()))
  } catch (cause) {
    process.stderr.write(`devnet: ${String(cause)}\n`)
  }
}
