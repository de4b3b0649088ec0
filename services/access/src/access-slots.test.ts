/**
 * Slots on a real local ledger, over HTTP, with three replicas: agents that join in the last seconds before their slot's
 * second, and a gas price that falls to a third under an armed slot. Nobody who paid is turned away.
 */
import { accessWindowAbi } from '@tallystick/contracts'
import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ZERO_ADDRESS } from './domain/access-window.ts'
import {
  type BoundaryCall,
  boundaryCall,
  buyWindow,
  crossBoundary,
  findProblems,
} from './testing/boundary-calls.ts'
import { until } from './testing/local-stack.ts'
import { createPayingAgent, type PayingAgent } from './testing/paying-agent.ts'
import { type ReplicaStack, startReplicaStack } from './testing/replica-stack.ts'

const PERIOD_SECONDS = 60
const SLOT_SECONDS = 30

/** Before a slot's second: late enough to join it, and longer than two purchases take on a busy machine, seconds. */
const LATE_SECONDS = SLOT_SECONDS - 5
/** After a slot's second: more than the one or two by which a block's time trails the ledger's, seconds. */
const FRESH_SECONDS = 4
const PERIODS = 4
const CALLS_ALLOWED = 100

let stack: ReplicaStack
let agents = 0

beforeAll(async () => {
  const offer = { periodSeconds: PERIOD_SECONDS, callsAllowed: CALLS_ALLOWED }
  stack = await startReplicaStack({ ...offer, slotSeconds: SLOT_SECONDS })
})
beforeEach(async () => {
  await stack.devnet.controls.makeGasCheaper(1)
  await stack.heal()
})
afterAll(() => stack.stop())

const client = () => createPublicClient({ transport: http(stack.devnet.rpcUrl) })

const newAgent = (): Promise<PayingAgent> => {
  agents += 1
  return createPayingAgent(stack, { name: `slot-${agents}`, hasMemo: true })
}

const readWindow = (agent: PayingAgent) =>
  client().readContract({
    abi: accessWindowAbi,
    address: stack.contract,
    functionName: 'windowOf',
    args: [agent.address, BigInt(stack.devnet.nowSeconds())],
  })

/** Status of the agent at a replica, over HTTP. */
async function readStatus(agent: PayingAgent) {
  const answer = await fetch(`${stack.replicas[0].baseUrl}/api/svc/status?agent=${agent.address}`)
  return (await answer.json()) as { nextRenewalSchedule: string; expiresAt: number }
}

const moveTo = async (second: number): Promise<void> => {
  const seconds = second - stack.devnet.nowSeconds()
  if (seconds > 0) await stack.devnet.controls.advanceSeconds(seconds)
}

/** Past a slot's second in the blocks' time too, so that purchases that follow share the next slot. */
async function moveToFreshSlot(): Promise<void> {
  const width = BigInt(SLOT_SECONDS)
  const sinceSlot = (BigInt(stack.devnet.nowSeconds()) + BigInt(stack.contract)) % width
  await stack.devnet.controls.advanceSeconds(SLOT_SECONDS + FRESH_SECONDS - Number(sinceSlot))
  await stack.heal()
}

/** Calls that the network made for the slot since that block, and whether each armed the next. */
async function networkRenewals(slotId: bigint, fromBlock: bigint) {
  const [renewed, armed] = await Promise.all(
    (['SlotRenewed', 'RenewalArmed'] as const).map((eventName) =>
      client().getContractEvents({
        abi: accessWindowAbi,
        address: stack.contract,
        eventName,
        args: { slotId },
        fromBlock,
        strict: true,
      }),
    ),
  )
  const arming = new Set(armed?.map(({ transactionHash }) => transactionHash))
  return (renewed ?? [])
    .filter(({ args }) => 'byNetwork' in args && args.byNetwork)
    .map(({ transactionHash }) => ({ hasArmed: arming.has(transactionHash) }))
}

test('A8, A12, A19: agents that join in the last seconds before their slot’s second get no false 402, at it or at any later end', async () => {
  const fromBlock = await client().getBlockNumber()
  const early = await newAgent()
  const first = await buyWindow(stack, early, 0)
  const { expiresAt: firstEnd } = first.body.subscription
  await moveTo(firstEnd - LATE_SECONDS)
  await stack.heal()
  const late = [await newAgent(), await newAgent()]
  const bought = await Promise.all(late.map((agent, at) => buyWindow(stack, agent, at + 1)))
  const members = [early, ...late]
  const windows = await Promise.all(members.map(readWindow))
  expect(new Set(windows.map(({ slotId }) => slotId)).size).toBe(1)
  for (const { body } of bought) {
    // Longer than a period by what was left of the slot, and the call that is pending is the slot's, before its own end.
    expect(body.subscription.expiresAt).toBe(firstEnd + PERIOD_SECONDS)
    expect(body.subscription.nextRenewalSchedule).not.toBe(ZERO_ADDRESS)
  }
  const calls: BoundaryCall[] = []
  for (let period = 0; period <= PERIODS; period += 1) {
    stack.devnet.controls.setReadLagMs([0, 3_000, 10_000, 0, 3_000][period] ?? 0)
    calls.push(...(await crossBoundary(stack, members, firstEnd + period * PERIOD_SECONDS)))
    await stack.heal()
  }
  await stack.devnet.controls.advanceSeconds(15)
  const problems = await findProblems({
    stack,
    calls,
    purchases: [first, ...bought].flatMap((answer, at) => {
      const agent = members[at]
      return agent === undefined ? [] : [{ agent, answer }]
    }),
    callsAllowed: CALLS_ALLOWED,
    fromBlock,
  })
  expect(problems, problems.join('\n')).toEqual([])
  expect(calls.some(({ status }) => status === 200)).toBe(true)
  expect(calls.some(({ status }) => status === 402)).toBe(true)
})

test('A7, A20, A22: the gas price falls to a third under an armed slot: it is armed anew, and nobody loses access', async () => {
  await moveToFreshSlot()
  const fromBlock = await client().getBlockNumber()
  const members = [await newAgent(), await newAgent()]
  const bought = await Promise.all(members.map((agent, at) => buyWindow(stack, agent, at)))
  const ends = new Set(bought.map(({ body }) => body.subscription.expiresAt))
  expect(ends.size).toBe(1)
  const end = Math.max(...ends)
  const unserved: object[] = []
  const callAll = async (): Promise<void> => {
    for (const agent of members) {
      const { status, error, fromSeconds, untilSeconds } = await boundaryCall(stack, agent, 0)
      if (status !== 200)
        unserved.push({ status, error, from: fromSeconds - end, until: untilSeconds - end })
    }
  }
  await stack.devnet.controls.makeGasCheaper(3)
  // The call that was armed before has gas for the old price: it books its second and cannot arm the next.
  await moveTo(end + 1)
  // A replica may have read the gas of arming as time moved, before that call. After the ten seconds for which it keeps the
  // figure, its attempt has gas for the new price; one that armed nothing would be followed by another after two minutes.
  await stack.devnet.controls.advanceSeconds(11)
  await callAll()
  await until(async () => {
    await callAll()
    const { nextRenewalSchedule } = await readStatus(members[0] as PayingAgent)
    return nextRenewalSchedule !== ZERO_ADDRESS
  })
  const { slotId, scheduledAt } = await readWindow(members[0] as PayingAgent)
  expect(await networkRenewals(slotId, fromBlock)).toEqual([{ hasArmed: false }])
  // Armed at the new price, the network's next call arms the one after it.
  await moveTo(Number(scheduledAt) + 1)
  await callAll()
  expect(await networkRenewals(slotId, fromBlock)).toEqual([
    { hasArmed: false },
    { hasArmed: true },
  ])
  await moveTo(Number(scheduledAt) + PERIOD_SECONDS - 1)
  await callAll()
  expect(unserved).toEqual([])

  const newcomer = await newAgent()
  const opened = await buyWindow(stack, newcomer, 1)
  expect(opened.body.subscription.nextRenewalSchedule).not.toBe(ZERO_ADDRESS)
})
