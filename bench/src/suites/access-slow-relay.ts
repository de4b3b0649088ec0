// What a slow relay costs: calls of many agents while each send takes eight seconds, as the public relay's do; and, without
// leases and on a prompt ledger, the server's CPU for each call.
import { type Figure, judgeFigure } from '../figure.ts'
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

/** The slowest that Hedera's relay answers a send. */
const SEND_MS = 8_000
const AGENTS = 20
const CALLS_A_SECOND = 50
const SECONDS = 40

/** A quota of which no call can be leased: 5 % of it is one call. */
const UNLEASED_QUOTA = 39
const UNLEASED_AGENTS = 160
const UNLEASED_LANES = 32
const UNLEASED_CALLS = 1_280
const REPEATS = 3

type Hex = `0x${string}`

async function control(ledgerUrl: string, method: string, params: unknown): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [params] })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(ledgerUrl, { method: 'POST', headers, body })
  if ('error' in ((await answer.json()) as object)) throw new Error(`${method} was refused`)
}

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

/** Milliseconds of each call of `SECONDS`, evenly spread over the agents, while every send takes 8 s. */
function measureSlowSends(network: PaymentNetwork): Promise<readonly number[]> {
  const { ledgerUrl } = network.facts
  const setup = { callsAllowed: 1_000, agents: AGENTS }
  return withWindows(network, setup, async (access, agents) => {
    const url = new URL(access.url)
    const requests = agents.map((agent) => getRequest(url, accessPath(agent)))
    await control(ledgerUrl, 'devnet_setSendLatencyMs', { min: SEND_MS, max: SEND_MS })
    try {
      const { delaysMs } = await runLanes({
        url: access.url,
        lanes: AGENTS,
        count: CALLS_A_SECOND * SECONDS,
        everyMs: (AGENTS * 1_000) / CALLS_A_SECOND,
        status: 200,
        request: (index) => requests[index % AGENTS] ?? Buffer.of(),
      })
      return delaysMs
    } finally {
      await control(ledgerUrl, 'devnet_setSendLatencyMs', { min: 0, max: 0 })
    }
  })
}

/** CPU of the server for a call that no lease covers, microseconds. */
function measureUnleased(network: PaymentNetwork): Promise<number> {
  const setup = { callsAllowed: UNLEASED_QUOTA, agents: UNLEASED_AGENTS }
  return withWindows(network, setup, async (access, agents) => {
    const url = new URL(access.url)
    const requests = agents.map((agent) => getRequest(url, accessPath(agent)))
    const micros: number[] = []
    for (let round = 0; round <= REPEATS; round += 1) {
      const used = await access.cpuMicrosOf(() =>
        runLanes({
          url: access.url,
          lanes: UNLEASED_LANES,
          count: UNLEASED_CALLS,
          status: 200,
          request: (index) => requests[index % UNLEASED_AGENTS] ?? Buffer.of(),
        }),
      )
      // The first round warms up.
      if (round > 0) micros.push(used / UNLEASED_CALLS)
    }
    return median(micros)
  })
}

/** Calls behind a slow relay, and without leases. */
export function measureAccessSlowRelay(): Promise<readonly Figure[]> {
  return inPaymentNetwork(1, async (network) => {
    const unleasedMicros = await measureUnleased(network)
    const delaysMs = await measureSlowSends(network)
    const send = { name: 'one send', value: SEND_MS }
    const load = `${CALLS_A_SECOND} calls a second of ${AGENTS} agents, sends of ${SEND_MS / 1_000} s`
    return [
      judgeFigure({
        name: `${load}, p50`,
        value: quantile(delaysMs, 0.5),
        unit: 'ms',
        baseline: send,
        aim: { kind: 'none' },
      }),
      judgeFigure({
        name: `${load}, p99`,
        value: quantile(delaysMs, 0.99),
        unit: 'ms',
        baseline: send,
        aim: { kind: 'at-most', value: 60 },
      }),
      judgeFigure({
        name: 'metered call without a lease, CPU of the server',
        value: unleasedMicros,
        unit: 'µs',
        baseline: { name: 'through viem’s clients, 2026-11-21', value: 245 },
        aim: { kind: 'at-most', value: 150 },
      }),
    ]
  })
}
