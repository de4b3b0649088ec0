// What recording calls costs with leases (A18): transactions and HBAR for a quota that is used up, and the recorder's CPU for
// a call that a lease covers.
import { accessWindowAbi } from '@tallystick/contracts'
import { type DevnetAccount, startDevnet } from '@tallystick/devnet'
import { systemClock } from '@tallystick/service-kit'
import { createPublicClient, http, numberToHex } from 'viem'
import { createLedgerFacts } from '../../../services/access/src/adapters/ledger-facts.ts'
import { createRecorderLedger } from '../../../services/access/src/adapters/recorder-ledger.ts'
import { createRelay } from '../../../services/access/src/adapters/relay.ts'
import { deployAccessWindow } from '../../../services/access/src/command/deploy.ts'
import type { UsageCall } from '../../../services/access/src/metering/usage-call.ts'
import type {
  UsageEntry,
  UsageLedger,
  UsageReceipt,
} from '../../../services/access/src/metering/usage-ledger.ts'
import {
  createUsageRecorder,
  type UsageRecorder,
} from '../../../services/access/src/metering/usage-recorder.ts'
import { type Figure, judgeFigure } from '../figure.ts'
import { type InNetwork, likeTestnet, promptly } from '../ledger-control.ts'
import { openWindows } from '../open-windows.ts'
import { TINYBAR_PER_HBAR } from '../payment-network.ts'
import { median } from '../quantile.ts'
import type { FigureValues } from '../suite-result.ts'

/** The default offer of a public ledger. */
const CALLS_ALLOWED = 1_000
const PERIOD_SECONDS = 3_600
const PRICE_TINYBAR = 3n * TINYBAR_PER_HBAR
const WEIBAR_PER_TINYBAR = 10_000_000_000n
const FUNDS_TINYBAR = 1_000_000n * TINYBAR_PER_HBAR
/** A full batch (A10). */
const BATCH_AGENTS = 50
const RECEIPT_WAIT_MS = 20

/** Windows whose leases are all used up at once to measure CPU, and the unused calls of each. */
const LEASED_WINDOWS = 4_000
const UNUSED_CALLS = 49
/** Calls after which an agent's lease has its full length. */
const CALLS_TO_FULL_LEASE = 64
const REPEATS = 3

const NAMES = {
  transactions: `transactions for ${CALLS_ALLOWED} calls of one agent`,
  alone: `cost of ${CALLS_ALLOWED} calls of one agent`,
  together: `cost of ${CALLS_ALLOWED} calls, ${BATCH_AGENTS} agents at once`,
  covered: 'covered call, CPU of the recorder',
}

/** A call of a window of the future; its read is behind, as reads are. */
const makeCall = (
  agent: string,
  windowExpiresAtSeconds: number,
  callsAllowed: number,
): UsageCall => ({
  agent,
  windowExpiresAtSeconds,
  windowStartsAtSeconds: windowExpiresAtSeconds - PERIOD_SECONDS,
  callsAllowed,
  callsUsedInRead: 0,
  readAtMs: Date.now(),
})

async function receipted(recorder: UsageRecorder): Promise<void> {
  while (recorder.figures().unreceiptedCalls > recorder.figures().leasedCalls)
    await new Promise((resolve) => {
      setTimeout(resolve, RECEIPT_WAIT_MS)
    })
}

/** Lets each agent make so many calls, all of them side by side. */
async function make(
  count: number,
  recorder: UsageRecorder,
  calls: readonly UsageCall[],
): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    const outcomes = await Promise.all(calls.map((call) => recorder.record(call)))
    if (outcomes.some(({ kind }) => kind !== 'recorded')) throw new Error('a call was not recorded')
  }
  await receipted(recorder)
}

type Costs = {
  readonly transactions: number
  /** Of a quota, and of the first call's transaction, HBAR an agent. */
  readonly quotaHbar: number
  readonly firstHbar: number
}

/** A recorder of one process, on a ledger in real time. */
function startRecorder({
  rpcUrl: url,
  ...key
}: {
  readonly rpcUrl: string
  readonly chainId: number
  readonly contract: `0x${string}`
  readonly privateKey: `0x${string}`
}): UsageRecorder {
  const clock = systemClock
  const relay = createRelay({ url, clock })
  const facts = createLedgerFacts({ relay, clock })
  const ledger = createRecorderLedger({ relay, facts, ...key })
  return createUsageRecorder({ ledger, clock, recorderCount: 1 })
}

/** What so many agents cost that use up their quota together, on a ledger of their own, in a network of that kind. */
async function measureQuota(agentCount: number, inNetwork: InNetwork): Promise<Costs> {
  const devnet = await startDevnet()
  try {
    const { rpcUrl, chainId, controls } = devnet
    const account = async (name: string): Promise<DevnetAccount> =>
      devnet.createAccount({ name, balanceTinybar: FUNDS_TINYBAR })
    const owner = await account('seller')
    const key = await account('lease recorder')
    await controls.setBalanceTinybar(owner.evmAddress, FUNDS_TINYBAR)
    const { contract } = await deployAccessWindow({
      rpcUrl,
      chainId,
      ownerKey: owner.privateKey,
      forwarder: owner.evmAddress,
      recorders: [key.evmAddress],
      offer: {
        priceTinybar: PRICE_TINYBAR,
        periodSeconds: PERIOD_SECONDS,
        callsAllowed: CALLS_ALLOWED,
        slotSeconds: 1,
      },
      reserveTinybar: 500n * TINYBAR_PER_HBAR,
    })
    const agents = Array.from({ length: agentCount }, (_, at) =>
      numberToHex(0x1ea5_0000 + at, { size: 20 }),
    )
    const payment = { payerKey: owner.privateKey, valueTinybar: PRICE_TINYBAR }
    await openWindows({ ledgerUrl: rpcUrl, contract, agents, ...payment })
    const client = createPublicClient({ transport: http(rpcUrl) })
    const calls = await Promise.all(
      agents.map(async (agent) => {
        const { expiresAt } = await client.readContract({
          address: contract,
          abi: accessWindowAbi,
          functionName: 'windowOf',
          args: [agent, BigInt(devnet.nowSeconds())],
        })
        return makeCall(agent, Number(expiresAt), CALLS_ALLOWED)
      }),
    )
    const recorder = startRecorder({ rpcUrl, chainId, contract, privateKey: key.privateKey })
    const balance = () => client.getBalance({ address: key.evmAddress })
    const before = await balance()
    const paidHbar = async (): Promise<number> =>
      Number((before - (await balance())) / WEIBAR_PER_TINYBAR) /
      Number(TINYBAR_PER_HBAR) /
      agentCount
    await inNetwork(rpcUrl, () => make(1, recorder, calls))
    const firstHbar = await paidHbar()
    await inNetwork(rpcUrl, () => make(CALLS_ALLOWED - 1, recorder, calls))
    const { transactionsSentTotal: transactions } = recorder.figures()
    await recorder.close()
    return { transactions, firstHbar, quotaHbar: await paidHbar() }
  } finally {
    await devnet.stop()
  }
}

/** A ledger that counts whatever it is sent at once. */
function countingLedger(): UsageLedger {
  let nonce = 0
  const used = new Map<string, number>()
  const receipts = new Map<string, UsageReceipt>()
  const signed = new Map<string, readonly UsageEntry[]>()
  return {
    readNonce: async () => nonce,
    quoteGasPriceWeibar: async () => 1n,
    readBlockSeconds: async () => Math.floor(Date.now() / 1000),
    readCallsUsed: async ({ agent }) => used.get(agent) ?? 0,
    sign({ entries, nonce: at, gasPriceWeibar }) {
      const hash = `${at}`
      signed.set(hash, entries)
      return { nonce: at, gasPriceWeibar, rawTransaction: hash, hash }
    },
    async send({ rawTransaction: hash }) {
      nonce += 1
      const counts = (signed.get(hash) ?? []).map(({ agent, windowExpiresAtSeconds, calls }) => {
        const callsUsed = (used.get(agent) ?? 0) + calls
        used.set(agent, callsUsed)
        return { kind: 'recorded', agent, windowExpiresAtSeconds, callsUsed } as const
      })
      receipts.set(hash, { kind: 'mined', counts, costTinybar: 0n })
      return { kind: 'accepted' }
    },
    readReceipt: async (hash) => receipts.get(hash),
  }
}

/**
 * CPU of the whole process for a call as the service makes it, what remains and then the record: after so many calls of each
 * window, over so many more. Microseconds.
 */
async function measureCalls(plan: {
  readonly callsAllowed: number
  readonly madeBefore: number
  readonly measured: number
}): Promise<{ readonly micros: number; readonly transactions: number }> {
  const recorder = createUsageRecorder({
    ledger: countingLedger(),
    clock: systemClock,
    recorderCount: 1,
  })
  const expiresAtSeconds = Math.floor(Date.now() / 1000) + PERIOD_SECONDS
  const calls = Array.from({ length: LEASED_WINDOWS }, (_, at) =>
    makeCall(numberToHex(at, { size: 20 }), expiresAtSeconds, plan.callsAllowed),
  )
  // Few enough at once for one open batch.
  for (let from = 0; from < calls.length; from += BATCH_AGENTS)
    await make(plan.madeBefore, recorder, calls.slice(from, from + BATCH_AGENTS))
  const { transactionsSentTotal } = recorder.figures()
  const before = process.cpuUsage()
  for (let made = 0; made < plan.measured; made += 1)
    for (const call of calls) if (recorder.callsRemaining(call) > 0) await recorder.record(call)
  const { user, system } = process.cpuUsage(before)
  const transactions = recorder.figures().transactionsSentTotal - transactionsSentTotal
  await recorder.close()
  return { transactions, micros: (user + system) / (LEASED_WINDOWS * plan.measured) }
}

async function measureCoveredCall(): Promise<number> {
  const { micros, transactions } = await measureCalls({
    callsAllowed: CALLS_ALLOWED,
    madeBefore: CALLS_TO_FULL_LEASE,
    measured: UNUSED_CALLS,
  })
  if (transactions !== 0) throw new Error('a call was not covered')
  return micros
}

/** A quota too small for leases; signing and sending, which take most, are not in it. */
const measureOwnRecord = async (): Promise<number> =>
  (await measureCalls({ callsAllowed: 20, madeBefore: 1, measured: 5 })).micros

/** Leases: what a used-up quota costs, alone and in full batches, and what a covered call does. */
export async function measureAccessLeases(): Promise<readonly Figure[]> {
  const alone = await measureQuota(1, promptly)
  const together = await measureQuota(BATCH_AGENTS, promptly)
  const coveredMicros: number[] = []
  const ownMicros: number[] = []
  for (let round = 0; round < REPEATS; round += 1) {
    coveredMicros.push(await measureCoveredCall())
    ownMicros.push(await measureOwnRecord())
  }
  const each = 'a transaction each'
  const eachHbar = CALLS_ALLOWED * alone.firstHbar
  return [
    judgeFigure({
      name: NAMES.transactions,
      value: alone.transactions,
      unit: 'transactions',
      baseline: { name: each, value: CALLS_ALLOWED },
      aim: { kind: 'at-most', value: 27 },
    }),
    judgeFigure({
      name: NAMES.alone,
      value: alone.quotaHbar,
      unit: 'HBAR',
      baseline: { name: each, value: eachHbar },
      aim: { kind: 'at-most', value: 0.9 },
    }),
    judgeFigure({
      name: NAMES.together,
      value: together.quotaHbar,
      unit: 'HBAR',
      baseline: { name: each, value: eachHbar },
      aim: { kind: 'at-most', value: 0.25 },
    }),
    judgeFigure({
      name: NAMES.covered,
      value: median(coveredMicros),
      unit: 'µs',
      baseline: { name: 'a record of its own, unsigned', value: median(ownMicros) },
      aim: { kind: 'at-most', value: 150 },
    }),
  ]
}

/** The same where sends are slow and reads lag; a covered call asks no network. */
export async function accessLeasesLikeTestnet(): Promise<FigureValues> {
  const alone = await measureQuota(1, likeTestnet)
  const together = await measureQuota(BATCH_AGENTS, likeTestnet)
  return {
    [NAMES.transactions]: alone.transactions,
    [NAMES.alone]: alone.quotaHbar,
    [NAMES.together]: together.quotaHbar,
    [NAMES.covered]: await measureCoveredCall(),
  }
}
