/**
 * Bad luck in the middle of a purchase, on a real local ledger, over HTTP, with three replicas that share nothing but the
 * contract and payTo's key. testing/purchase-round.ts says what a round is and holds the model of the ledger.
 */
import { describe, expect, test } from 'vitest'
import { faultRounds } from './testing/fault-rounds.ts'
import { createPayingAgent, type PayingAgent } from './testing/paying-agent.ts'
import { paymentFaults, purchaseFaults } from './testing/purchase-faults.ts'
import { callAccess } from './testing/purchase-round.ts'

const isLong = process.env.TALLYSTICK_LONG === '1'
const FAULTS_PER_BATCH = 50
/** The long run plays each fault eighteen times more: over 1,000 in all. */
const BATCHES = 20

const rounds = faultRounds()

describe('nothing is charged twice, nothing paid is lost', () => {
  rounds.testEach(paymentFaults)

  // Every fault with every way of going on, again and again: at each replica, with a memo and without.
  test.runIf(isLong).each(Array.from({ length: BATCHES }, (_, batch) => batch))(
    `1,000 faults: batch %i of ${BATCHES}`,
    async (batch) => {
      await rounds.renew()
      const problems: string[] = []
      for (let step = 0; step < FAULTS_PER_BATCH; step += 1) {
        const index = batch * FAULTS_PER_BATCH + step
        const shift = Math.floor(index / purchaseFaults.length) + 1
        const fault = purchaseFaults[index % purchaseFaults.length]
        if (fault === undefined) throw new Error('there are no faults')
        problems.push(...(await rounds.play(fault, index + shift)))
      }
      expect(problems, problems.join('\n')).toEqual([])
    },
    900_000,
  )
})

/** An agent whose payment has landed and whom nobody has opened a window for: nobody who lives can read the mirror node. */
async function orphan(name: string, hasMemo: boolean) {
  const [first, ...others] = rounds.stack().replicas
  const agent = await createPayingAgent(rounds.stack(), { name, hasMemo })
  const payment = await agent.sign((await callAccess(first, agent.address)).body)
  for (const { edges } of others) edges.mirror.intercept(async () => 'cut')
  first.edges.facilitator.intercept(async (_request, forward) => {
    await forward()
    first.kill()
    return 'cut'
  })
  await rounds.stack().drive(callAccess(first, agent.address, payment))
  expect((await agent.ledger()).landed).toEqual([payment])
  return { agent, payment }
}
async function expectOneTaken(agent: PayingAgent): Promise<void> {
  const { landed, taken } = await agent.ledger()
  expect({ landed: landed.length, taken: taken.size }).toEqual({ landed: 1, taken: 1 })
}

describe('a payment whose process died between settle and open', () => {
  test('X9: its header resent after its validity ended, at another replica, completes the job', async () => {
    const { agent, payment } = await orphan('after-validity', false)
    await rounds.stack().devnet.controls.advanceSeconds(400)
    const [, second] = rounds.stack().replicas
    second.edges.mirror.intercept()
    const answer = await rounds.stack().drive(callAccess(second, agent.address, payment))
    expect(answer.status, answer.body.error).toBe(200)
    await expectOneTaken(agent)
    await rounds.stack().heal()
  })

  test('X10: its header resent for another agent opens nothing, and then opens for its own', async () => {
    const { agent, payment } = await orphan('for-another', false)
    const thief = await createPayingAgent(rounds.stack(), { name: 'orphan-thief', hasMemo: false })
    const [, second, third] = rounds.stack().replicas
    second.edges.mirror.intercept()
    third.edges.mirror.intercept()
    const stolen = await rounds.stack().drive(callAccess(second, thief.address, payment))
    expect([stolen.status, stolen.body.error]).toEqual([402, 'payment_already_used'])
    expect((await rounds.stack().drive(callAccess(third, agent.address, payment))).status).toBe(200)
    expect((await callAccess(second, thief.address)).status).toBe(402)
    await expectOneTaken(agent)
    await rounds.stack().heal()
  })

  test('A4: it starts again without its header after the next process has come: served, and not asked to pay', async () => {
    const { agent } = await orphan('starts-again', true)
    await rounds.stack().heal()
    const statuses = new Set<number>()
    for (let calls = 0; calls < 60 && !statuses.has(200); calls += 1) {
      statuses.add((await callAccess(rounds.stack().replicas[0], agent.address)).status)
      await rounds.stack().devnet.controls.advanceSeconds(1)
    }
    expect([...statuses]).not.toContain(402)
    expect(statuses).toContain(200)
    await expectOneTaken(agent)
  })
})

test('A14: a nonce gap: of four purchases at once at one process the first forward is lost; each is opened once', async () => {
  const [first] = rounds.stack().replicas
  const agents = await Promise.all(
    Array.from({ length: 4 }, (_, at) =>
      createPayingAgent(rounds.stack(), { name: `gap-${at}`, hasMemo: true }),
    ),
  )
  const payments = await Promise.all(
    agents.map(async (agent) => agent.sign((await callAccess(first, agent.address)).body)),
  )
  rounds.stack().devnet.controls.dropNextTransactions(1)
  await rounds
    .stack()
    .drive(Promise.all(agents.map((agent, at) => callAccess(first, agent.address, payments[at]))))
  await rounds.stack().heal()
  for (const [at, agent] of agents.entries()) {
    const answer = await rounds.stack().drive(callAccess(first, agent.address, payments[at]))
    expect(answer.status, answer.body.error).toBe(200)
    await expectOneTaken(agent)
  }
})
