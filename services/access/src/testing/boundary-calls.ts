/**
 * Calls around the moment at which windows close, spread over the replicas, and what the ledger says about them later.
 * `findProblems` is the model: it judges by the contract alone who was let in, who was asked to pay, and what was counted.
 */
import { accessWindowAbi } from '@tallystick/contracts'
import { createPublicClient, http } from 'viem'
import { leaseCallsMax } from '../metering/usage-window.ts'
import type { PayingAgent } from './paying-agent.ts'
import { type Answer, callAccess } from './purchase-round.ts'
import type { ReplicaStack } from './replica-stack.ts'

export type BoundaryCall = {
  readonly agent: PayingAgent
  readonly replica: number
  readonly status: number
  readonly error: string
  /** End of the window that served it, Unix seconds; undefined if none did. */
  readonly windowExpiresAt: number | undefined
  /** Ledger seconds before and after. */
  readonly fromSeconds: number
  readonly untilSeconds: number
}

/** On a busy machine ledger time runs ahead of a settlement, whose first answer is then that it is pending. */
const SENDS_MAX = 5

/** One call, noted with the ledger's time before and after it. */
export async function boundaryCall(
  stack: ReplicaStack,
  agent: PayingAgent,
  at: number,
): Promise<BoundaryCall> {
  const replica = stack.replicas[at] ?? stack.replicas[0]
  const fromSeconds = stack.devnet.nowSeconds()
  const { status, body } = await callAccess(replica, agent.address)
  return {
    agent,
    replica: at,
    status,
    error: body.error ?? '',
    windowExpiresAt: status === 200 ? body.subscription.expiresAt : undefined,
    fromSeconds,
    untilSeconds: stack.devnet.nowSeconds(),
  }
}

/** Seconds around a boundary at which a volley is fired, and each agent's calls in it at each replica. */
export const VOLLEYS = [-3, -1, 0, 1, 3]
export const CALLS_EACH = 2

export async function crossBoundary(
  stack: ReplicaStack,
  agents: readonly PayingAgent[],
  expiresAt: number,
): Promise<BoundaryCall[]> {
  const calls: BoundaryCall[] = []
  for (const offset of VOLLEYS) {
    const waitSeconds = expiresAt + offset - stack.devnet.nowSeconds()
    if (waitSeconds > 0) await stack.devnet.controls.advanceSeconds(waitSeconds)
    const volley = agents.flatMap((agent) =>
      stack.replicas.flatMap((_replica, at) =>
        Array.from({ length: CALLS_EACH }, () => boundaryCall(stack, agent, at)),
      ),
    )
    calls.push(...(await stack.drive(Promise.all(volley))))
  }
  return calls
}

/** Pays for a new window at that replica, and sends the payment until it is accepted. */
export async function buyWindow(
  stack: ReplicaStack,
  agent: PayingAgent,
  at: number,
): Promise<Answer> {
  const replica = stack.replicas[at % stack.replicas.length] ?? stack.replicas[0]
  const challenge = await callAccess(replica, agent.address)
  const payment = await agent.sign(challenge.body)
  for (let sends = 1; sends <= SENDS_MAX; sends += 1) {
    const paid = await callAccess(replica, agent.address, payment)
    if (paid.status === 200) return paid
  }
  throw new Error('the window was not sold')
}

type Counted = ReadonlyMap<number, number>

/** Calls that the contract counted for an agent, by the end of their window. */
async function readCounts(
  stack: ReplicaStack,
  agent: PayingAgent,
  fromBlock: bigint,
): Promise<Counted> {
  const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
  const events = await client.getContractEvents({
    abi: accessWindowAbi,
    address: stack.contract,
    eventName: 'UsageRecorded',
    args: { agent: agent.address },
    fromBlock,
  })
  const counted = new Map<number, number>()
  for (const { args } of events) {
    const window = Number(args.windowExpiresAt)
    counted.set(window, Math.max(counted.get(window) ?? 0, args.callsUsed ?? 0))
  }
  return counted
}

async function hadAccess(
  stack: ReplicaStack,
  call: BoundaryCall,
): Promise<'open' | 'closed' | 'both'> {
  const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
  const [before, after] = await Promise.all(
    [call.fromSeconds, call.untilSeconds].map((second) =>
      client.readContract({
        abi: accessWindowAbi,
        address: stack.contract,
        functionName: 'hasAccess',
        args: [call.agent.address, BigInt(second)],
      }),
    ),
  )
  if (before !== after) return 'both'
  return before === true ? 'open' : 'closed'
}

export type BoundaryRecord = {
  readonly stack: ReplicaStack
  readonly calls: readonly BoundaryCall[]
  /** Answers of purchases, by agent, whose `openPaid` counted a call. */
  readonly purchases: readonly { readonly agent: PayingAgent; readonly answer: Answer }[]
  readonly callsAllowed: number
  readonly fromBlock: bigint
}

/** What is wrong with these calls by the ledger, if anything. Call it when everything has been recorded. */
export async function findProblems(record: BoundaryRecord): Promise<readonly string[]> {
  const { stack, calls } = record
  const problems: string[] = []
  for (const call of calls) {
    if (call.status !== 402 && call.status !== 200) continue
    const access = await hadAccess(stack, call)
    const where = `${call.agent.address} at replica ${call.replica}, ${call.fromSeconds} to ${call.untilSeconds}`
    if (call.status === 402 && access === 'open') problems.push(`a false 402: ${where}`)
    if (call.status === 200 && access === 'closed') problems.push(`served unpaid: ${where}`)
  }
  const agents = new Set(calls.map(({ agent }) => agent))
  for (const agent of agents) problems.push(...(await countingProblems(record, agent)))
  return problems
}

/** No window has more calls counted, or answered, than its quota; every answered call is counted. */
async function countingProblems(
  { stack, calls, purchases, callsAllowed, fromBlock }: BoundaryRecord,
  agent: PayingAgent,
): Promise<readonly string[]> {
  const counted = await readCounts(stack, agent, fromBlock)
  const served = new Map<number, number>()
  const add = (window: number | undefined): void => {
    if (window !== undefined) served.set(window, (served.get(window) ?? 0) + 1)
  }
  for (const call of calls) if (call.agent === agent) add(call.windowExpiresAt)
  // A window that the sweep opened counted no call.
  for (const { agent: buyer, answer } of purchases)
    if (buyer === agent && answer.body.metering !== undefined)
      add(answer.body.subscription.expiresAt)
  // A call whose connection was cut, as on a starved machine, may be counted like one that was answered 502.
  const failed = calls.filter(
    ({ agent: caller, status }) => caller === agent && (status === 502 || status === 0),
  ).length
  // A18: calls that each process has counted in advance and not given back yet. While batches wait it tops them up.
  const unusedMax = stack.replicas.length * leaseCallsMax(callsAllowed)
  const problems: string[] = []
  for (const [window, times] of served) {
    const onLedger = counted.get(window) ?? 0
    const where = `${agent.address}, window ${window}: ${times} answered, ${onLedger} counted, ${failed} failed`
    if (times > callsAllowed || onLedger > callsAllowed) problems.push(`quota overspent: ${where}`)
    if (onLedger < times) problems.push(`served and not counted: ${where}`)
    if (onLedger > times + failed + unusedMax) problems.push(`counted twice: ${where}`)
  }
  return problems
}
