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
/** The long run: each fault with each of the four ways of going on, at each of the three replicas, once. */
const BATCHES = 12

const rounds = faultRounds()

describe('nothing is charged twice, nothing paid is lost', () => {
  rounds.testEach(paymentFaults)

  test.runIf(isLong).each(Array.from({ length: BATCHES }, (_, batch) => batch))(
    `${BATCHES * purchaseFaults.length} faults: batch %i of ${BATCHES}`,
    async (batch) => {
      await rounds.renew()
      const problems: string[] = []
      // The replica changes with each round, and from batch to batch, since three does not divide the number of faults.
      for (const [index, fault] of purchaseFaults.entries())
        problems.push(...(await rounds.play(fault, index + batch)))
      expect(problems, problems.join('\n')).toEqual([])
    },
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
