// A27: how whoever's access ended learns why, at each door of the service.
import { parsePaymentRequired } from '@x402/core/schemas'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AccessWindow, ZERO_ADDRESS } from '../domain/access-window.ts'
import { openWindow, PRICE_TINYBAR } from '../testing/fake-contract.ts'
import { AGENT, createFakes, paymentHeader, START_SECONDS } from '../testing/fake-service.ts'
import { type AccessRoute, decoded, payment, startAccessRoute } from './access-route.fixture.ts'

/** The most that the head of an answer may have (S10). */
const HEAD_BYTES_MAX = 3_500
const SINCE = START_SECONDS - 100

let route: AccessRoute

beforeEach(async () => {
  route = await startAccessRoute({ BASE_URL: `https://${'a'.repeat(88)}.com` })
})
afterEach(() => route.close())

const CLOSED = { isOpen: false, periodsFunded: 0, balanceTinybar: 0n, schedule: ZERO_ADDRESS }
const close = (change: Partial<AccessWindow> = {}) =>
  route.fakes.contract.windows.set(AGENT, openWindow(SINCE, { ...CLOSED, ...change }))
const status = async () => (await route.inject(`/api/svc/status?agent=${AGENT}`)).json()

const purchase = {
  amountTinybar: '1200000000',
  amountHbar: '12',
  periods: 4,
  until: START_SECONDS + 80,
}

describe('A27: status and 402 say why access ended, since when, and what a purchase costs', () => {
  test.each([
    ['spent', {}],
    ['cancelled', { isCancelled: true }],
    ['paused', { balanceTinybar: 2n * PRICE_TINYBAR }],
  ] as const)('%s', async (why, change) => {
    close(change)
    const ended = { why, since: SINCE, purchase }
    const answer = await route.call()
    expect(answer.statusCode).toBe(402)
    expect(answer.json()).toMatchObject({ error: 'payment_required', ended })
    expect(await status()).toMatchObject({ hasAccess: false, ended, unavailable: [] })
    expect((await status()).ended).toEqual(answer.json().ended)
  })

  test('a process that has just started knows it, too: only the contract is asked', async () => {
    close()
    const { ended } = await status()
    await route.close()
    const fakes = createFakes()
    fakes.contract.windows.set(AGENT, openWindow(SINCE, CLOSED))
    route = await startAccessRoute({}, fakes)
    expect((await status()).ended).toEqual(ended)
    expect((await route.call()).json().ended).toEqual(ended)
  })

  test('a challenge with it stays short, is the same in header and body, and official clients parse and pay it', async () => {
    close({ balanceTinybar: 2n * PRICE_TINYBAR })
    const answer = await route.call()
    expect(decoded(answer.headers['payment-required'])).toBe(answer.body)
    expect(JSON.stringify(answer.headers).length).toBeLessThan(HEAD_BYTES_MAX)
    expect(answer.json()).not.toHaveProperty('omitted')
    expect(parsePaymentRequired(answer.json())).toMatchObject({ success: true })
    const paid = await route.call(paymentHeader(answer.json(), payment))
    expect(paid.json()).toMatchObject({ access: 'granted', paidThisRequest: true })
  })

  test('who never had a window gets the same challenge as ever, and no reason', async () => {
    expect((await route.call()).json()).not.toHaveProperty('ended')
    expect((await status()).ended).toBeNull()
  })

  test('paused: in an open window whose quota is used up, status names it beside the 429', async () => {
    route.fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 15, { callsUsed: 20 }))
    expect((await route.call()).statusCode).toBe(429)
    expect(await status()).toMatchObject({
      hasAccess: true,
      ended: { why: 'paused', since: null, purchase: null },
    })
  })

  test('an open window costs no further read', async () => {
    const { contract } = route.fakes
    contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    expect((await status()).ended).toBeNull()
    expect(contract.reads.toSorted()).toEqual(['readWindow', 'renewalsReserveCanArm'])
  })

  test('while sales are paused nothing is offered', async () => {
    close()
    route.fakes.contract.isPaused = true
    expect(await status()).toMatchObject({ ended: { why: 'spent', purchase: null } })
  })

  test('what is on sale could not be read: null, and `unavailable` names it', async () => {
    close()
    const { contract } = route.fakes
    Object.assign(contract, { offers: () => Promise.reject(new Error('down')) })
    expect(await status()).toMatchObject({ hasAccess: false, ended: null, unavailable: ['ended'] })
  })
})
