// Three real processes over one contract, with the requests of several agents spread over them. The tests query the
// ledger itself. services/access tests every kind of failure, with three replicas in one process.
import { accessWindowAbi } from '@tallystick/contracts'
import type { DevnetAccount } from '@tallystick/devnet'
import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import { createPublicClient, http, parseEventLogs } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from './eventually.ts'
import { type ReplicaStack, startReplicaStack, untilReady } from './replica-stack.ts'
import { doubleSpendTests } from './replicas/double-spends.suite.ts'
import { forgeryTests } from './replicas/forgeries.suite.ts'
import { oddRequestTests } from './replicas/odd-requests.suite.ts'

const HBAR = 100_000_000n
const FUNDS_TINYBAR = 100n * HBAR
const PURCHASE_TINYBAR = 12n * HBAR
const PERIOD_SECONDS = 15
/** Above 3 × 100: some calls wait for their receipts and some do not (A11). */
const CALLS_ALLOWED = 330
/** A18: calls of one agent that a process has counted in advance, at most a twentieth. */
const LEASE_CALLS_MAX = 16
/** Simultaneous calls by one agent, more than its quota in total. */
const VOLLEY = 60
const REPLICAS = 3

let stack: ReplicaStack

beforeAll(async () => {
  stack = await startReplicaStack({ periodSeconds: PERIOD_SECONDS, callsAllowed: CALLS_ALLOWED })
})
afterAll(() => stack.stop())

forgeryTests(() => stack)
oddRequestTests(() => stack)
doubleSpendTests(() => stack)

type Body = {
  readonly error?: string
  readonly paidThisRequest?: boolean
  readonly accepts?: readonly object[]
  readonly subscription?: { readonly expiresAt: number }
  readonly metering?: { readonly recordedOnChain: `0x${string}` }
}
type Answer = { readonly status: number; readonly body: Body }

const newAgent = (name: string): Promise<DevnetAccount> =>
  stack.devnet.createAccount({ name, balanceTinybar: FUNDS_TINYBAR })

async function call(at: number, agent: DevnetAccount, header?: string): Promise<Answer> {
  const headers = header === undefined ? {} : { 'payment-signature': header }
  const url = `${stack.baseUrls[at % REPLICAS]}/api/svc/access?agent=${agent.evmAddress}`
  try {
    const answer = await fetch(url, { headers })
    return { status: answer.status, body: (await answer.json()) as Body }
  } catch {
    return { status: 0, body: {} }
  }
}

/** Gets a replica's challenge and signs a payment without sending it. */
async function sign(at: number, agent: DevnetAccount, memo?: string): Promise<string> {
  const { body } = await call(at, agent)
  const [accepted] = body.accepts ?? []
  const scheme = new ExactHederaClient({
    signer: hederaSigner(agent),
    ...(memo === undefined ? {} : { memo }),
  })
  const { payload } = await scheme.createPaymentPayload(2, accepted as never)
  const envelope = { x402Version: 2, accepted, payload }
  return Buffer.from(JSON.stringify(envelope)).toString('base64')
}

const reader = () => createPublicClient({ transport: http(stack.devnet.rpcUrl) })

async function spentTinybar(agent: DevnetAccount): Promise<bigint> {
  return FUNDS_TINYBAR - (await stack.balanceTinybar(agent))
}

async function takenTinybar(agent: DevnetAccount): Promise<readonly bigint[]> {
  const events = await reader().getContractEvents({
    abi: accessWindowAbi,
    address: stack.contract,
    eventName: 'PaymentConsumed',
    args: { agent: agent.evmAddress },
    fromBlock: 0n,
  })
  return events.map(({ args }) => args.valueTinybar ?? 0n)
}

async function expectPaidOnce(agent: DevnetAccount): Promise<void> {
  expect(await spentTinybar(agent)).toBe(PURCHASE_TINYBAR)
  expect(await takenTinybar(agent)).toEqual([PURCHASE_TINYBAR])
}

/** Waits until that replica serves the agent; returns the answers on the way. */
async function untilServed(
  at: number,
  agent: DevnetAccount,
  header?: string,
): Promise<Set<number>> {
  const statuses = new Set<number>()
  await eventually(async () => {
    statuses.add((await call(at, agent, header)).status)
    return statuses.has(200)
  })
  return statuses
}

it('A14: twelve agents pay at three processes at once: each is charged once and served, though all forwards share one key', async () => {
  const agents = await Promise.all(Array.from({ length: 12 }, (_, at) => newAgent(`crowd-${at}`)))
  const headers = await Promise.all(agents.map((agent, at) => sign(at, agent)))
  const answers = await Promise.all(agents.map((agent, at) => call(at, agent, headers[at])))
  expect(answers.map(({ status }) => status)).toEqual(agents.map(() => 200))
  for (const agent of agents) await expectPaidOnce(agent)
})

it('X7, X9: one header at three processes at once is one settlement and one opening', async () => {
  const agent = await newAgent('everywhere')
  const header = await sign(0, agent)
  const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => call(at, agent, header)))
  expect(answers.some(({ status }) => status === 200)).toBe(true)
  expect(answers.filter(({ status }) => status !== 200 && status !== 502)).toEqual([])
  for (let at = 0; at < REPLICAS; at += 1) await untilServed(at, agent, header)
  await expectPaidOnce(agent)
})

it('X9: killed between settle and open, the header resent to another process is completed there, charged once', async () => {
  const agent = await newAgent('orphan')
  const header = await sign(0, agent)
  stack.devnet.controls.holdConsensus(true)
  const paying = call(0, agent, header)
  await eventually(() => stack.devnet.controls.heldTransfers() === 1)
  await stack.kill(0)
  expect((await paying).status).toBe(0)
  stack.devnet.controls.holdConsensus(false)
  expect([...(await untilServed(1, agent, header))]).not.toContain(402)
  await expectPaidOnce(agent)
  await stack.restart(0)
  await untilReady(stack.baseUrls[0] ?? '')
  expect((await call(0, agent)).status).toBe(200)
})

it('X10: a stranger who sends a payment’s public bytes to any process, for himself, buys nothing', async () => {
  const agent = await newAgent('robbed')
  const thief = await newAgent('thief')
  const header = await sign(0, agent, `x402:${agent.evmAddress}`)
  expect((await call(1, thief, header)).body.error).toBe('payment_memo_mismatch')
  expect((await call(0, agent, header)).status).toBe(200)
  for (let at = 0; at < REPLICAS; at += 1)
    expect((await call(at, thief, header)).status, `process ${at}`).toBe(402)
  await expectPaidOnce(agent)
  expect(await takenTinybar(thief)).toEqual([])
})

it('A11: one agent’s calls at three processes at once never overspend its quota, and each answered one is counted', async () => {
  const agent = await newAgent('spender')
  const paid = await call(0, agent, await sign(0, agent))
  expect(paid.status).toBe(200)
  const answers: Answer[] = []
  while (answers.length < CALLS_ALLOWED + VOLLEY)
    answers.push(...(await Promise.all(Array.from({ length: VOLLEY }, (_, at) => call(at, agent)))))
  const end = paid.body.subscription?.expiresAt
  const inWindow = answers.filter(({ body }) => body.subscription?.expiresAt === end)
  const served = inWindow.filter(({ status }) => status === 200)
  // A busy machine may leave a call unrecorded for 10 s: that one is 502, and may count.
  const failed = answers.filter(({ status }) => status === 502)
  expect(answers.filter(({ status }) => ![200, 429, 502].includes(status))).toEqual([])
  expect(served.length).toBeLessThan(CALLS_ALLOWED)
  expect(served.length).toBeGreaterThan(0)
  const counted = await countedCalls([paid, ...served], agent)
  expect(counted).toBeLessThanOrEqual(CALLS_ALLOWED)
  expect(counted).toBeGreaterThanOrEqual(served.length + 1)
  expect(counted).toBeLessThanOrEqual(
    served.length + 1 + failed.length + REPLICAS * LEASE_CALLS_MAX,
  )
})

/** The agent's call counter in its window, from these answers' receipts. */
async function countedCalls(answers: readonly Answer[], agent: DevnetAccount): Promise<number> {
  const hashes = new Set(answers.map(({ body }) => body.metering?.recordedOnChain ?? '0x'))
  const counters = await Promise.all(
    [...hashes].map(async (hash) => {
      const receipt = await reader().waitForTransactionReceipt({ hash, pollingInterval: 50 })
      return parseEventLogs({
        abi: accessWindowAbi,
        logs: receipt.logs,
        eventName: 'UsageRecorded',
      })
        .filter(({ args }) => args.agent.toLowerCase() === agent.evmAddress.toLowerCase())
        .map(({ args }) => args.callsUsed)
    }),
  )
  return Math.max(...counters.flat())
}

it('A8: calls rotate over three processes through two renewals by the network, one process killed on the way: no false 402', async () => {
  const agent = await newAgent('subscriber')
  const paid = await call(0, agent, await sign(0, agent))
  const firstEnd = paid.body.subscription?.expiresAt ?? 0
  const statuses = new Map<number, number>()
  const ends = new Set<number>()
  let isKilled = false
  // On a busy machine the second renewal may take a while to show.
  for (
    let at = 0;
    ends.size < 3 || stack.devnet.nowSeconds() < firstEnd + PERIOD_SECONDS + 4;
    at += 1
  ) {
    const answer = await call(at, agent)
    // The dead process refuses connections: a load balancer tries another.
    if (!isKilled || at % REPLICAS !== 2)
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    if (answer.body.subscription !== undefined) ends.add(answer.body.subscription.expiresAt)
    if (!isKilled && stack.devnet.nowSeconds() >= firstEnd) {
      await stack.kill(2)
      isKilled = true
    }
    await new Promise((resolve) => setTimeout(resolve, 400))
  }
  expect(ends.size).toBe(3)
  expect([...statuses.keys()].filter((status) => status !== 200 && status !== 429)).toEqual([])
  expect(await spentTinybar(agent)).toBe(PURCHASE_TINYBAR)
})
