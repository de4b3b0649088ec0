/**
 * One round: an agent pays while one thing is broken and goes on in its way; the stack is mended; then the ledger alone
 * says whether the money was kept safe. `findProblems` is the model that the service is checked against.
 */

import type { AnswerBody } from './local-stack.ts'
import { createPayingAgent, type PayingAgent, type SignedPayment } from './paying-agent.ts'
import type { PurchaseFault } from './purchase-fault.ts'
import type { Replica, ReplicaStack } from './replica-stack.ts'

/** How an agent goes on when its payment was not answered with 200. */
export const ways = [
  { name: 'sends its header again', keepsHeader: true, isElsewhere: false },
  { name: 'sends its header to another replica', keepsHeader: true, isElsewhere: true },
  { name: 'starts again without its header', keepsHeader: false, isElsewhere: false },
  { name: 'starts again at another replica', keepsHeader: false, isElsewhere: true },
] as const

type Way = (typeof ways)[number]

/** Calls before anything is mended. */
const CALLS_UNMENDED = 2

/** Calls 2 s apart after that; then 30 s apart, far past the 210 s after which a payment in doubt is given up. */
const CALLS_CLOSE = 3
const CALLS_MAX = 40

/** Sweeps until everything that landed must be on the contract's books: a payment without a memo waits 200 s. */
const SWEEPS_MAX = 30

/** Steps of 30 s in which a payment's validity ends: until then somebody may still submit it. */
const STEPS_OF_VALIDITY = 6

/** What happened, for the message of a failure. */
type Story = { readonly lines: string[]; wasAskedAgain: boolean }

type Round = {
  readonly stack: ReplicaStack
  readonly fault: PurchaseFault
  readonly way: Way
  readonly replica: Replica
  readonly elsewhere: Replica
  readonly agent: PayingAgent
  readonly story: Story
}

export type Answer = { readonly status: number; readonly body: AnswerBody }

/** One call of `/access`; status 0 if the connection was cut. */
export async function callAccess(
  replica: Replica,
  address: string,
  payment?: SignedPayment,
): Promise<Answer> {
  const headers = payment === undefined ? {} : { 'payment-signature': payment.header }
  try {
    const answer = await fetch(`${replica.baseUrl}/api/svc/access?agent=${address}`, { headers })
    return { status: answer.status, body: (await answer.json()) as AnswerBody }
  } catch {
    return { status: 0, body: {} as AnswerBody }
  }
}

/** Plays a round; its number selects its agent and its replica. Returns the problems that the ledger shows. */
export async function playRound(
  stack: ReplicaStack,
  number: number,
  { fault, way }: { readonly fault: PurchaseFault; readonly way: Way },
): Promise<readonly string[]> {
  const [first, second, third] = stack.replicas
  const replica = [first, second, third][number % 3] ?? first
  const elsewhere = [first, second, third][(number + 1) % 3] ?? first
  const agent = await createPayingAgent(stack, {
    name: `round-${number}`,
    hasMemo: number % 2 === 0,
  })
  const lines = [`round ${number}: ${fault.name}; the agent ${way.name}`]
  const story: Story = { lines, wasAskedAgain: false }
  const round = { stack, fault, way, replica, elsewhere, agent, story }
  const challenge = await tell(round, 'asks', callAccess(replica, agent.address))
  const payment = await agent.sign(challenge.body)
  await fault.arm({ stack, replica })
  const answer = await tell(round, 'pays', callAccess(replica, agent.address, payment))
  const isServed = answer.status === 200 || (await goOn(round, CALLS_UNMENDED))
  await stack.heal()
  const problems = [
    ...(isServed || (await goOn(round, CALLS_MAX)) ? [] : ['the agent was never served']),
    ...(await findProblems(round)),
  ]
  return problems.length === 0 ? [] : [...problems, ...lines]
}

async function tell(
  { stack, story }: Round,
  doing: string,
  work: Promise<Answer>,
): Promise<Answer> {
  const answer = await stack.drive(work)
  const line = `${doing}: ${answer.status} ${answer.body.error ?? ''}`
  const { lines } = story
  // Repeated lines are listed once, with their number.
  const [last = '', times = '1'] = (lines.at(-1) ?? '').split(' × ')
  if (last === line) lines[lines.length - 1] = `${line} × ${Number(times) + 1}`
  else lines.push(line)
  return answer
}

/** The agent calls until it is served, and pays again whenever it is asked to. Returns whether it was served. */
async function goOn(round: Round, callsMax: number): Promise<boolean> {
  const { agent, elsewhere, replica, way, stack } = round
  const place = way.isElsewhere ? elsewhere : replica
  for (let calls = 0; calls < callsMax; calls += 1) {
    const payment = way.keepsHeader ? agent.signed.at(-1) : undefined
    const answer = await tell(round, 'goes on', callAccess(place, agent.address, payment))
    if (answer.status === 200) return true
    if (answer.status === 402) {
      // It has a payment on the ledger, so it is asked to pay twice.
      if ((await agent.ledger()).landed.length > 0) round.story.wasAskedAgain = true
      const next = await agent.sign(answer.body)
      const paid = await tell(round, 'pays anew', callAccess(place, agent.address, next))
      if (paid.status === 200) return true
    }
    const isClose = calls < CALLS_CLOSE
    await stack.devnet.controls.advanceSeconds(isClose ? 2 : 30)
    // Another leap would end the requests of a sweep, whose limits are on the same clock.
    if (!isClose) await stack.drive(sweepAll(stack))
  }
  return false
}

async function sweepAll({ replicas }: ReplicaStack): Promise<void> {
  await Promise.all(replicas.map(({ service }) => service.sweep.sweep()))
}

/**
 * The model of the ledger: every payment that landed is on the contract's books once, in full, under its own reference
 * and for its agent; nothing else is; and no agent was charged for a second one. An agent that starts again at another
 * replica may be asked for one before that replica has read the first; that one is not settled.
 */
async function findProblems(round: Round): Promise<readonly string[]> {
  const { agent, fault, story, way, stack } = round
  let view = await agent.ledger()
  // A payment that did not land may be submitted again as long as it is valid.
  for (
    let step = 0;
    step < STEPS_OF_VALIDITY && view.landed.length < agent.signed.length;
    step += 1
  ) {
    await stack.devnet.controls.advanceSeconds(30)
    await stack.drive(sweepAll(stack))
    view = await agent.ledger()
  }
  for (let sweeps = 0; sweeps < SWEEPS_MAX && view.taken.size < view.landed.length; sweeps += 1) {
    await stack.devnet.controls.advanceSeconds(10)
    await sweepAll(stack)
    view = await agent.ledger()
  }
  const { landed, spentTinybar, taken } = view
  story.lines.push(
    `signed ${agent.signed.length}, landed ${landed.length}, taken ${taken.size}, spent ${spentTinybar}`,
  )
  const landedTinybar = landed.reduce((sum, { amountTinybar }) => sum + amountTinybar, 0n)
  const isTakenWhole = landed.every(
    ({ reference, amountTinybar }) => taken.get(reference) === amountTinybar,
  )
  const isHidden = fault.isHidden === true
  const mayBeAsked = isHidden || (way.isElsewhere && !way.keepsHeader)
  const rules: readonly (readonly [boolean, string])[] = [
    [spentTinybar === landedTinybar, 'the agent spent what it did not sign'],
    [isTakenWhole, 'a payment that landed is not on the contract’s books'],
    [taken.size === landed.length, 'the contract took a payment that did not land'],
    [landed.length > 0, 'the agent was served unpaid'],
    [isHidden || landed.length === 1, 'the agent was charged twice'],
    [mayBeAsked || !story.wasAskedAgain, 'the agent was asked to pay twice'],
  ]
  return rules.filter(([holds]) => !holds).map(([, problem]) => problem)
}
