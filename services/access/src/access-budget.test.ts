/** Paying agents and a stranger behind a relay with the public one's limits (A25), on a real local ledger, in ledger time. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createServiceCalls,
  type LocalStack,
  type RunningService,
  startLocalStack,
  untilInTime,
} from './testing/local-stack.ts'
import { createPayingAgent, type PayingAgent } from './testing/paying-agent.ts'

/** Paid calls, one a second in all. */
const PAID_CALLS = 300
/** Another agent comes to buy at each of these. */
const NEWCOMERS_AT = [50, 150, 250]
const UNPAID_PER_SECOND = 10
/** Most of the stranger's calls pretend to pay; some bring a signed payment, without the money. */
const JUNK: Readonly<Record<string, string>>[] = [{}, { 'x-payment': 'e30=' }]
const POOR_TINYBAR = 100_000_000n

let stack: LocalStack
let service: RunningService

beforeAll(async () => {
  stack = await startLocalStack(
    { periodSeconds: 3_600, callsAllowed: 1_000 },
    { isPaymentTimeTheLedgers: true },
  )
  service = await stack.startService({ RELAY_CALLS_PER_MINUTE: '100', TRUST_PROXY_HOPS: '1' })
  await untilInTime(stack, createServiceCalls(service).isReady)
})
afterAll(() => stack?.stop())

/** Calls as that agent from that address. */
async function callFrom(
  address: string,
  agent: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await fetch(createServiceCalls(service).accessUrl(agent), {
    headers: { ...headers, 'x-forwarded-for': address },
  })
  return { status: answer.status, body: await answer.json() }
}

const callAs = ({ address }: PayingAgent, headers?: Readonly<Record<string, string>>) =>
  callFrom('198.51.100.7', address, headers)

/** The stranger's calls of one second, each as another agent. */
async function pester(): Promise<void> {
  const calls = Array.from({ length: UNPAID_PER_SECOND }, (_, call) =>
    callFrom('203.0.113.9', `0x${randomBytes(20).toString('hex')}`, JUNK[call % JUNK.length]),
  )
  await Promise.all(calls)
}

/** Lets ledger time pass until that is over. */
async function inTime(running: Promise<unknown>): Promise<void> {
  let isOver = false
  void running.finally(() => {
    isOver = true
  })
  await untilInTime(stack, async () => {
    await fetch(`${service.baseUrl}/health`)
    return isOver
  })
}

/** The statuses of a purchase: its unpaid call's, and the paid one's. No time is let pass: both have room within 5 s. */
async function buy(agent: PayingAgent): Promise<readonly number[]> {
  const challenge = await callAs(agent)
  if (challenge.status !== 402) return [challenge.status]
  const { header } = await agent.sign(challenge.body)
  return [402, (await callAs(agent, { 'payment-signature': header })).status]
}

const newAgent = (name: string, change = {}) =>
  createPayingAgent(stack, { name, hasMemo: true, ...change })

test('A25: of 300 paid calls none fails while a stranger makes ten unpaid ones a second, and newcomers buy at their first try', async () => {
  const agents = await Promise.all(['first', 'second', 'third'].map(newAgent))
  for (const agent of agents) expect(await buy(agent)).toEqual([402, 200])
  const poor = await newAgent('stranger', { hasMemo: false, fundsTinybar: POOR_TINYBAR })
  const challenge = (await callAs(poor)).body
  // What the start and these purchases took counts no more a minute later.
  for (let second = 0; second < 60; second += 1) await stack.devnet.controls.advanceSeconds(1)
  stack.devnet.controls.setRequestLimits('public')
  const statuses: number[] = []
  const newcomers: (readonly number[])[] = []
  const strangers: Promise<void>[] = []
  for (let call = 0; call < PAID_CALLS; call += 1) {
    JUNK[2] = { 'payment-signature': (await poor.sign(challenge)).header }
    strangers.push(pester())
    const [agent] = agents.splice(0, 1)
    if (agent === undefined) throw new Error('unreachable')
    agents.push(agent)
    statuses.push((await callAs(agent)).status)
    if (NEWCOMERS_AT.includes(call)) newcomers.push(await buy(await newAgent(`newcomer ${call}`)))
    await stack.devnet.controls.advanceSeconds(1)
  }
  await inTime(Promise.all(strangers))
  expect(statuses.filter((status) => status !== 200)).toEqual([])
  expect(newcomers).toEqual(NEWCOMERS_AT.map(() => [402, 200]))
})
