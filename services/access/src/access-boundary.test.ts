/**
 * The second at which a window closes, on a real local ledger, over HTTP, with three replicas: calls before, across and
 * after it, while reads are prompt or lag by up to 10 s, with renewals made by the network, made late and not made at all.
 */
import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type BoundaryCall,
  type BoundaryRecord,
  buyWindow,
  CALLS_EACH,
  crossBoundary,
  findProblems,
  VOLLEYS,
} from './testing/boundary-calls.ts'
import { createPayingAgent } from './testing/paying-agent.ts'
import { type ReplicaStack, startReplicaStack } from './testing/replica-stack.ts'

const isLong = process.env.TALLYSTICK_LONG === '1'
const CALLS_ALLOWED = 24
const PERIOD_SECONDS = 60
const PERIODS = 4
const AGENTS = 5
const CALLS_PER_BOUNDARY = AGENTS * 3 * CALLS_EACH * VOLLEYS.length
/** Purchases, each with four boundaries of which the last is the end: 10,000 calls and more in the long run. */
const PURCHASES = isLong ? Math.ceil(10_000 / (CALLS_PER_BOUNDARY * PERIODS)) : 1

/** What is wrong while a boundary passes. */
const moods = [
  { name: 'nothing', arm: () => undefined },
  {
    name: 'reads lag by 3 s',
    arm: (stack: ReplicaStack) => stack.devnet.controls.setReadLagMs(3_000),
  },
  {
    name: 'reads lag by 10 s',
    arm: (stack: ReplicaStack) => stack.devnet.controls.setReadLagMs(10_000),
  },
  {
    name: 'the network makes no renewal',
    arm: (stack: ReplicaStack) => stack.devnet.controls.setBalanceTinybar(stack.contract, 1n),
  },
] as const

let stack: ReplicaStack

beforeAll(async () => {
  stack = await startReplicaStack({ periodSeconds: PERIOD_SECONDS, callsAllowed: CALLS_ALLOWED })
  await stack.heal()
})
afterAll(() => stack.stop())

async function playPurchase(number: number): Promise<{ record: BoundaryRecord; calls: number }> {
  const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
  const fromBlock = await client.getBlockNumber()
  const agents = await Promise.all(
    Array.from({ length: AGENTS }, (_, index) =>
      createPayingAgent(stack, { name: `boundary-${number}-${index}`, hasMemo: index % 2 === 0 }),
    ),
  )
  const buying = agents.map(async (agent, at) => ({
    agent,
    answer: await buyWindow(stack, agent, at),
  }))
  const purchases = await stack.drive(Promise.all(buying))
  const firstEnd = Math.min(...purchases.map(({ answer }) => answer.body.subscription.expiresAt))
  const calls: BoundaryCall[] = []
  for (let period = 0; period < PERIODS; period += 1) {
    await moods[(number + period) % moods.length]?.arm(stack)
    calls.push(...(await crossBoundary(stack, agents, firstEnd + period * PERIOD_SECONDS)))
    await stack.devnet.controls.setBalanceTinybar(stack.contract, 10_000_000_000_000n)
    await stack.heal()
  }
  await stack.devnet.controls.advanceSeconds(15)
  const record = { stack, calls, purchases, callsAllowed: CALLS_ALLOWED, fromBlock }
  return { record, calls: calls.length }
}

const times = (calls: readonly BoundaryCall[], status: number): number =>
  calls.filter((call) => call.status === status).length

test.each(Array.from({ length: PURCHASES }, (_, number) => number))(
  `A8, A11: no false 402 at a boundary and no quota overspent, purchase %i of ${PURCHASES}, ${CALLS_PER_BOUNDARY * PERIODS} calls each`,
  async (number) => {
    const { record } = await playPurchase(number)
    const { calls } = record
    const problems = await findProblems(record)
    expect(problems, problems.join('\n')).toEqual([])
    // The volleys met what they were made for: open windows, spent quotas and the end.
    expect(times(calls, 200)).toBeGreaterThan(0)
    expect(times(calls, 429)).toBeGreaterThan(0)
    expect(times(calls, 402)).toBeGreaterThan(0)
    if (isLong)
      console.info(
        number,
        [200, 402, 429, 502].map((status) => `${status}: ${times(calls, status)}`).join(' '),
      )
  },
)
