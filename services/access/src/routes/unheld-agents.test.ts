// A24: addresses that nobody acts under.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CONTRACT } from '../testing/fake-contract.ts'
import { PAY_TO_ADDRESS, readTransactionId } from '../testing/fake-payments.ts'
import { type Fakes, paymentHeader } from '../testing/fake-service.ts'
import { type AccessRoute, decoded, payment, startAccessRoute } from './access-route.fixture.ts'

/** Of account 0.0.5005. */
const LONG_ZERO = `0x${(5_005).toString(16).padStart(40, '0')}` as const
const ALIAS = `0x${'a1'.repeat(20)}` as const
/** The most that the head of an answer may have (S10). */
const HEAD_BYTES_MAX = 3_500

let route: AccessRoute
let fakes: Fakes

beforeEach(async () => {
  route = await startAccessRoute({ BASE_URL: `https://${'a'.repeat(88)}.com` })
  fakes = route.fakes
  const account = { accountId: '0.0.5005', evmAddress: ALIAS, key: null, isDeleted: false }
  fakes.accounts.set('0.0.5005', account)
})
afterEach(() => route.close())

const UNHELD = [
  ['zero', `0x${'0'.repeat(40)}`, 'zero address'],
  ['the first of the ledger’s own', `0x${'1'.padStart(40, '0')}`, 'ledger’s own'],
  ['the schedule service', `0x${'16b'.padStart(40, '0')}`, 'ledger’s own'],
  ['the last of the ledger’s own', `0x${'3ff'.padStart(40, '0')}`, 'ledger’s own'],
  ['the contract', CONTRACT, 'access contract'],
  ['payTo', PAY_TO_ADDRESS, 'seller’s account'],
  ['payTo by its number', `0x${(7_001).toString(16).padStart(40, '0')}`, 'seller’s account'],
  ['the long-zero form of an account with an alias', LONG_ZERO, `agent=${ALIAS}`],
] as const

describe('A24: nobody buys for an address that nobody acts under', () => {
  test.each(UNHELD)(
    '%s: the challenge stays and says so, in body and header',
    async (_, agent, said) => {
      const answer = await route.call({}, agent)
      expect(answer.statusCode).toBe(402)
      const body = answer.json<{ notice: string }>()
      expect(body).toMatchObject({ error: 'payment_required', accepts: [{ scheme: 'exact' }] })
      expect(body.notice).toContain(said)
      expect(decoded(answer.headers['payment-required'])).toBe(answer.body)
      expect(JSON.stringify(answer.headers).length).toBeLessThan(HEAD_BYTES_MAX)
    },
  )

  test.each(UNHELD)('%s: a payment is refused unsettled', async (_, agent, said) => {
    const answer = await route.call(paymentHeader(await route.challenge(agent), payment), agent)
    expect(answer.statusCode).toBe(402)
    expect(answer.json()).toMatchObject({
      error: 'agent_unheld',
      notice: expect.stringContaining(said),
    })
    expect(fakes.facilitator.settled).toEqual([])
  })

  test.each(UNHELD)(
    '%s: an expired payment that landed past the gate opens nothing, and its credit stays to be refunded',
    async (_, agent, said) => {
      const memo = `x402:${agent}`
      const header = paymentHeader(await route.challenge(agent), {
        ...payment,
        memo,
        isExpired: true,
      })
      fakes.scheme.landed.add(readTransactionId(payment))
      const answer = await route.call(header, agent)
      expect(answer.json()).toMatchObject({
        error: 'agent_unheld',
        notice: expect.stringContaining(said),
      })
      expect(fakes.sender.opened).toEqual([])
    },
  )
})

describe('A24: what is not known is not said', () => {
  test('an account without an alias acts under its number: it buys', async () => {
    const account = { accountId: '0.0.5005', evmAddress: LONG_ZERO, key: null, isDeleted: false }
    fakes.accounts.set('0.0.5005', account)
    const challenge = await route.challenge(LONG_ZERO)
    expect(challenge).not.toHaveProperty('notice')
    expect((await route.call(paymentHeader(challenge, payment), LONG_ZERO)).statusCode).toBe(200)
  })

  test('with the mirror node down the challenge has no notice, and a payment is 502, unsettled', async () => {
    fakes.accounts.set('0.0.5005', 'down')
    const challenge = await route.challenge(LONG_ZERO)
    expect(challenge).not.toHaveProperty('notice')
    const answer = await route.call(paymentHeader(challenge, payment), LONG_ZERO)
    expect([answer.statusCode, answer.json()]).toEqual([502, { error: 'ledger_unavailable' }])
    expect(fakes.facilitator.settled).toEqual([])
  })

  test('look-ups for challenges are limited: a stranger cannot use up the mirror node', async () => {
    const notices = []
    for (let call = 0; call < 30; call += 1)
      notices.push((await route.call({}, LONG_ZERO)).json<{ notice?: string }>().notice)
    expect(notices.filter((notice) => notice !== undefined)).toHaveLength(20)
  })
})
