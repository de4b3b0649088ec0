// A25: whose windows are read when the budget of the relay is short, over the route.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createRelayBudget } from '../domain/relay-budget.ts'
import { openWindow } from '../testing/fake-contract.ts'
import {
  AGENT,
  createFakes,
  type Fakes,
  OTHER_AGENT,
  paymentHeader,
  START_SECONDS,
} from '../testing/fake-service.ts'
import { type AccessRoute, accessUrl, payment, startAccessRoute } from './access-route.fixture.ts'

const JUNK = { 'payment-signature': 'e30=' }
/** What the fakes’ clock takes until a call has waited in vain for room, milliseconds. */
const WAITED_MS = 5_000

let fakes: Fakes
let route: AccessRoute

beforeEach(async () => {
  fakes = createFakes()
  fakes.budget = createRelayBudget({ clock: fakes.clock, callsPerMinute: 100 })
  route = await startAccessRoute({}, fakes)
})
afterEach(() => route.close())

const spend = (calls: number): void => {
  for (let call = 0; call < calls; call += 1) fakes.budget.spent(['eth_call'])
}

/** The answer, however long the call waits for room. */
async function answerInTime(
  headers: Readonly<Record<string, string>> = {},
  { agent = AGENT, remoteAddress = '203.0.113.9' } = {},
) {
  const answer = route.inject({ url: accessUrl(agent), remoteAddress, headers })
  await fakes.clock.advanceMsSettled(WAITED_MS)
  return await answer
}

describe('A25: without room for unpaid calls', () => {
  test('an unpaid call is 502 after 5 s, and nothing was read for it', async () => {
    spend(75)
    const answer = await answerInTime()
    expect([answer.statusCode, answer.json()]).toEqual([502, { error: 'chain_unavailable' }])
    expect(fakes.contract.reads).toEqual([])
  })

  test('a header that holds no payment makes nobody a payer', async () => {
    spend(75)
    expect((await answerInTime(JUNK)).statusCode).toBe(502)
    expect(fakes.contract.reads).toEqual([])
  })

  test('a payment whose signature holds buys', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    spend(75)
    expect((await route.call(header)).json()).toMatchObject({ paidThisRequest: true })
  })

  test('a payment that cannot buy for its agent makes nobody a payer, and one payer’s payments no more than its share', async () => {
    const challenge = await route.challenge()
    const memo = `x402:${OTHER_AGENT}`
    fakes.contract.reads.length = 0
    spend(75)
    expect((await answerInTime(paymentHeader(challenge, { ...payment, memo }))).statusCode).toBe(
      502,
    )
    expect(fakes.contract.reads).not.toContain('readWindow')
    fakes.facilitator.mode = 'refuse'
    const statuses = []
    for (let nanos = 1; nanos <= 7; nanos += 1)
      statuses.push(
        (await answerInTime(paymentHeader(challenge, { ...payment, nanos }))).statusCode,
      )
    expect(statuses).toEqual([402, 402, 402, 402, 402, 502, 502])
  })

  test('an agent whose window was read as open is served', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 1_000))
    expect((await route.call()).statusCode).toBe(200)
    spend(100)
    await fakes.clock.advanceMsSettled(20_000)
    expect((await route.call()).statusCode).toBe(200)
  })
})

test('A25: a payment that another call is using is refused with one read', async () => {
  const header = paymentHeader(await route.challenge(), payment)
  const inUse = Promise.withResolvers<void>()
  fakes.facilitator.beforeAnswer = () => inUse.promise
  const first = route.call(header)
  await expect.poll(() => fakes.facilitator.settled).toHaveLength(1)
  fakes.contract.reads.length = 0
  const answer = await route.call(header, OTHER_AGENT)
  const reads = fakes.contract.reads.filter((read) => read === 'readWindow')
  inUse.resolve()
  expect((await first).statusCode).toBe(200)
  expect(answer.json()).toMatchObject({ error: 'payment_already_used' })
  expect(reads).toHaveLength(1)
})

test('A25: over its share an address gets 429 with Retry-After, and another one its challenge', async () => {
  spend(50)
  const callFromStranger = (agent: string) =>
    route.inject({ url: accessUrl(agent), remoteAddress: '203.0.113.9', headers: JUNK })
  for (let call = 0; call < 20; call += 1)
    expect((await callFromStranger(AGENT)).statusCode).toBe(402)
  const { length } = fakes.contract.reads
  const answer = await callFromStranger(OTHER_AGENT)
  expect([answer.statusCode, answer.json()]).toEqual([429, { error: 'too_many_requests' }])
  expect(answer.headers['retry-after']).toBe('60')
  expect(fakes.contract.reads).toHaveLength(length)
  const other = await route.inject({ url: accessUrl(), remoteAddress: '203.0.113.10' })
  expect(other.statusCode).toBe(402)
})

test('A25: after the relay’s 429 no unpaid call is read until its minute is over', async () => {
  fakes.budget.refused()
  expect((await answerInTime()).statusCode).toBe(502)
  expect(fakes.contract.reads).toEqual([])
  await fakes.clock.advanceMsSettled(60_000)
  expect((await answerInTime()).statusCode).toBe(402)
})
