// What a slow relay costs: calls of many agents while each send takes eight seconds, as the public relay's do; and, without
// leases and on a prompt ledger, the server's CPU for each call.
import { type Figure, judgeFigure } from '../figure.ts'
import { control, type InNetwork, likeTestnet, promptly } from '../ledger-control.ts'
import { openWindows } from '../open-windows.ts'
import {
  accessPath,
  deployAccess,
  inPaymentNetwork,
  type PaymentNetwork,
  startAccess,
  TINYBAR_PER_HBAR,
} from '../payment-network.ts'
import { median, quantile } from '../quantile.ts'
import { getRequest, runLanes } from '../raw-load.ts'
import type { ServerProcess } from '../server-process.ts'
import type { FigureValues } from '../suite-result.ts'

/** The slowest that Hedera's relay answers a send. */
const SEND_MS = 8_000
const AGENTS = 20
const CALLS_A_SECOND = 50
const SECONDS = 40

const LOAD = `${CALLS_A_SECOND} calls a second of ${AGENTS} agents, sends of ${SEND_MS / 1_000} s`
const UNLEASED = 'metered call without a lease, CPU of the server'

/** A quota of which no call can be leased: 5 % of it is one call. */
const UNLEASED_QUOTA = 39
const UNLEASED_AGENTS = 160
const UNLEASED_LANES = 32
const UNLEASED_CALLS = 1_280
const REPEATS = 3
/** Fewer where sends are slow: what waits for them is bounded (A10). */
const UNLEASED_CALLS_SLOW = 640

type Hex = `0x${string}`

/** Runs `work` on a service of a contract with that quota and open windows for so many agents. */
async function withWindows<Result>(
  network: PaymentNetwork,
  setup: { readonly callsAllowed: number; readonly agents: number },
  work: (access: ServerProcess, agents: readonly Hex[]) => Promise<Result>,
): Promise<Result> {
  const { facts } = network
  const agents = Array.from(
    { length: setup.agents },
    (_, index): Hex => `0x${(index + 0xb00).toString(16).padStart(40, '0')}`,
  )
  const { contract } = await deployAccess(network, {
    offer: { periodSeconds: 3_600, callsAllowed: setup.callsAllowed },
    recorders: [facts.recorder.evmAddress],
  })
  await openWindows({
    ledgerUrl: facts.ledgerUrl,
    contract,
    agents,
    payerKey: facts.owner.privateKey,
    valueTinybar: 12n * TINYBAR_PER_HBAR,
  })
  const access = await startAccess(network, contract)
  try {
    return await work(access, agents)
  } finally {
    await access.stop()
  }
}

/** Every send takes 8 s while `work` runs. */
async function slowly<Result>(ledgerUrl: string, work: () => Promise<Result>): Promise<Result> {
  await control(ledgerUrl, 'setSendLatencyMs', { min: SEND_MS, max: SEND_MS })
  try {
    return await work()
  } finally {
    await control(ledgerUrl, 'answerPromptly')
  }
}

/** Milliseconds of each call of `SECONDS`, evenly spread over the agents, in a network of that kind. */
function measureSlowSends(
  network: PaymentNetwork,
  inNetwork: InNetwork,
): Promise<readonly number[]> {
  const { ledgerUrl } = network.facts
  const setup = { callsAllowed: 1_000, agents: AGENTS }
  return withWindows(network, setup, async (access, agents) => {
    const url = new URL(access.url)
    const requests = agents.map((agent) => getRequest(url, accessPath(agent)))
    const load = {
      url: access.url,
      lanes: AGENTS,
      count: CALLS_A_SECOND * SECONDS,
      everyMs: (AGENTS * 1_000) / CALLS_A_SECOND,
      status: 200,
      request: (index: number) => requests[index % AGENTS] ?? Buffer.of(),
    }
    return (await inNetwork(ledgerUrl, () => runLanes(load))).delaysMs
  })
}

/** CPU of the server for a call that no lease covers, microseconds; over so many calls a round. */
function measureUnleased(
  network: PaymentNetwork,
  { calls, repeats, inNetwork }: { calls: number; repeats: number; inNetwork: InNetwork },
): Promise<number> {
  const setup = { callsAllowed: UNLEASED_QUOTA, agents: UNLEASED_AGENTS }
  return withWindows(network, setup, async (access, agents) => {
    const url = new URL(access.url)
    const requests = agents.map((agent) => getRequest(url, accessPath(agent)))
    const load = {
      url: access.url,
      lanes: UNLEASED_LANES,
      count: calls,
      status: 200,
      request: (index: number) => requests[index % UNLEASED_AGENTS] ?? Buffer.of(),
    }
    return await inNetwork(network.facts.ledgerUrl, async () => {
      const micros: number[] = []
      for (let round = 0; round <= repeats; round += 1) {
        const used = await access.readCpuMicros(() => runLanes(load))
        // The first round warms up.
        if (round > 0) micros.push(used / calls)
      }
      return median(micros)
    })
  })
}

/** Calls behind a slow relay, and without leases. */
export function measureAccessSlowRelay(): Promise<readonly Figure[]> {
  return inPaymentNetwork(1, async (network) => {
    const unleasedMicros = await measureUnleased(network, {
      calls: UNLEASED_CALLS,
      repeats: REPEATS,
      inNetwork: promptly,
    })
    const delaysMs = await measureSlowSends(network, slowly)
    const send = { name: 'one send', value: SEND_MS }
    return [
      judgeFigure({
        name: `${LOAD}, p50`,
        value: quantile(delaysMs, 0.5),
        unit: 'ms',
        baseline: send,
        aim: { kind: 'none' },
      }),
      judgeFigure({
        name: `${LOAD}, p99`,
        value: quantile(delaysMs, 0.99),
        unit: 'ms',
        baseline: send,
        aim: { kind: 'at-most', value: 60 },
      }),
      judgeFigure({
        name: UNLEASED,
        value: unleasedMicros,
        unit: 'µs',
        baseline: { name: 'through viem’s clients, 2026-11-21', value: 245 },
        aim: { kind: 'at-most', value: 150 },
      }),
    ]
  })
}

/** The same where sends take 3 to 8 s and reads lag. */
export function accessSlowRelayLikeTestnet(): Promise<FigureValues> {
  return inPaymentNetwork(1, async (network) => {
    const unleased = { calls: UNLEASED_CALLS_SLOW, repeats: 1, inNetwork: likeTestnet }
    const unleasedMicros = await measureUnleased(network, unleased)
    const delaysMs = await measureSlowSends(network, likeTestnet)
    return {
      [`${LOAD}, p50`]: quantile(delaysMs, 0.5),
      [`${LOAD}, p99`]: quantile(delaysMs, 0.99),
      [UNLEASED]: unleasedMicros,
    }
  })
}
