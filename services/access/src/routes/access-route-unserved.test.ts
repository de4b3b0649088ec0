// Answers to calls that are not served: payment required, or something that the service needs is missing.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { accessDiscovery } from '../domain/sales-terms.ts'
import { openWindow } from '../testing/fake-contract.ts'
import {
  AGENT,
  type Fakes,
  OTHER_AGENT,
  paymentHeader,
  START_SECONDS,
} from '../testing/fake-service.ts'
import { type AccessRoute, decoded, payment, startAccessRoute } from './access-route.fixture.ts'

let route: AccessRoute
let fakes: Fakes

beforeEach(async () => {
  route = await startAccessRoute()
  fakes = route.fakes
})
afterEach(() => route.close())

describe('402', () => {
  test('no open subscription and no payment: the challenge, in the body and base64 in PAYMENT-REQUIRED', async () => {
    const answer = await route.call()
    expect(answer.statusCode).toBe(402)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(decoded(answer.headers['payment-required'])).toBe(answer.body)
    expect(answer.json()).toEqual({
      x402Version: 2,
      error: 'payment_required',
      resource: {
        url: 'https://access.example/api/svc/access',
        description: expect.any(String),
        mimeType: 'application/json',
      },
      accepts: [
        {
          scheme: 'exact',
          network: 'hedera:testnet',
          amount: '1200000000',
          asset: '0.0.0',
          payTo: '0.0.7001',
          maxTimeoutSeconds: 180,
          extra: { feePayer: '0.0.9001', paymentFlow: 'upfront' },
          price: { asset: '0.0.0', amount: '1200000000' },
        },
      ],
      extensions: { bazaar: accessDiscovery },
    })
  })

  test('A8: balance exhausted and nothing more funded: the next call is a 402', async () => {
    const window = openWindow(START_SECONDS, { periodsFunded: 0, balanceTinybar: 0n })
    fakes.contract.windows.set(AGENT, window)
    expect((await route.call()).statusCode).toBe(402)
    fakes.contract.windows.set(AGENT, { ...window, expiresAtSeconds: START_SECONDS + 1 })
    expect((await route.call()).statusCode).toBe(200)
  })

  test.each([
    ['undecodable', '%%%', 'payment_header_undecodable'],
    ['too large', 'A'.repeat(9000), 'payment_header_too_large'],
  ])('a payment header that is %s: a fresh challenge', async (_what, value, error) => {
    const answer = await route.call({ 'payment-signature': value })
    expect(answer.statusCode).toBe(402)
    expect(answer.json()).toMatchObject({ error, accepts: [{}] })
  })

  test('X10: a memo that names another agent is refused, unsettled', async () => {
    const header = paymentHeader(await route.challenge(), {
      ...payment,
      memo: `x402:${OTHER_AGENT}`,
    })
    const answer = await route.call(header)
    expect(answer.statusCode).toBe(402)
    expect(answer.json().error).toBe('payment_memo_mismatch')
    expect(fakes.facilitator.settled).toEqual([])
  })

  test('X4: a v2 payload under X-PAYMENT is accepted as well', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    const answer = await route.call({ 'x-payment': header['payment-signature'] ?? '' })
    expect(answer.json()).toMatchObject({ paidThisRequest: true })
  })

  test('X10: a memo that names the agent is taken, and so is free text', async () => {
    const body = await route.challenge()
    const named = await route.call(paymentHeader(body, { ...payment, memo: `x402:${AGENT}` }))
    const free = await route.call(
      paymentHeader(body, { ...payment, nanos: 2, memo: 'thanks' }),
      OTHER_AGENT,
    )
    expect([named.statusCode, free.statusCode]).toEqual([200, 200])
  })

  test('X7: the same payment for another agent is payment_already_used, unsettled', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    await route.call(header)
    const answer = await route.call(header, OTHER_AGENT)
    expect(answer.statusCode).toBe(402)
    expect(answer.json().error).toBe('payment_already_used')
    expect(fakes.facilitator.settled).toHaveLength(1)
  })

  test('X9: a definite refusal carries PAYMENT-RESPONSE success false and a fresh challenge', async () => {
    fakes.facilitator.mode = 'refuse'
    fakes.scheme.find = async () => ({ kind: 'never' })
    const answer = await route.call(paymentHeader(await route.challenge(), payment))
    expect(answer.statusCode).toBe(402)
    expect(JSON.parse(decoded(answer.headers['payment-response'])).success).toBe(false)
    expect(answer.json().accepts).toHaveLength(1)
  })
})

const expectError = async (error: string, headers: Record<string, string> = {}): Promise<void> => {
  const answer = await route.call(headers)
  expect(answer.statusCode).toBe(502)
  expect(answer.json()).toEqual({ error })
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
}

describe('502', () => {
  test('an upstream read was unavailable: the chain', async () => {
    fakes.contract.isDown = true
    await expectError('chain_unavailable')
    expect(fakes.facilitator.settled).toEqual([])
  })

  test('an upstream read was unavailable: the resource, before anything is metered', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
    fakes.isResourceDown = true
    await expectError('resource_unavailable')
    expect(fakes.recorded).toEqual([])
  })

  test('A3: the resource fails before settlement: unpaid', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.isResourceDown = true
    await expectError('resource_unavailable', header)
    expect(fakes.facilitator.settled).toEqual([])
    fakes.isResourceDown = false
    expect((await route.call(header)).statusCode).toBe(200)
  })

  test('the usage of the call could not be recorded', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
    fakes.usage = { kind: 'unavailable' }
    await expectError('usage_unavailable')
    expect(fakes.recorded).toEqual([])
  })

  test('the payment facilitator was unavailable: nothing was sent', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.facilitator.mode = 'unreachable'
    await expectError('facilitator_unavailable', header)
    fakes.facilitator.mode = 'settle'
    expect((await route.call(header)).statusCode).toBe(200)
  })

  test('X9: a payment whose fate is open keeps its agent from being challenged, until it is found', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.facilitator.mode = 'silent'
    const first = route.call(header)
    await fakes.clock.advanceMsSettled(13_000)
    expect((await first).json()).toEqual({ error: 'payment_pending' })
    await expectError('payment_pending')
    await expectError(
      'payment_pending',
      paymentHeader(await route.challenge(OTHER_AGENT), { ...payment, nanos: 2 }),
    )
    fakes.scheme.landed.add(`0.0.9001@${START_SECONDS}.000000001`)
    await fakes.clock.advanceMsSettled(11_000)
    expect((await route.call()).json().paidThisRequest).toBe(false)
    expect(fakes.sender.opened).toHaveLength(1)
  })

  test('X9: a stranger’s dying payment never holds an agent back', async () => {
    const gift = { ...payment, memo: `x402:${OTHER_AGENT}` }
    const header = paymentHeader(await route.challenge(OTHER_AGENT), gift)
    fakes.facilitator.mode = 'silent'
    const dying = route.call(header, OTHER_AGENT)
    await fakes.clock.advanceMsSettled(13_000)
    expect((await dying).json()).toEqual({ error: 'payment_pending' })
    expect((await route.call({}, OTHER_AGENT)).statusCode).toBe(402)
    // Once it lands the ledger has a record of it, and it buys.
    fakes.scheme.landed.add(`0.0.9001@${START_SECONDS}.000000001`)
    await fakes.clock.advanceMsSettled(11_000)
    expect((await route.call({}, OTHER_AGENT)).json().paidThisRequest).toBe(false)
  })

  test('a header that holds no payment waits for nobody', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    const settling = Promise.withResolvers<void>()
    fakes.facilitator.beforeAnswer = () => settling.promise
    const paid = route.call(header)
    await fakes.clock.advanceMsSettled(1)
    await expectError('payment_pending', { 'payment-signature': '%%%' })
    settling.resolve()
    expect((await paid).statusCode).toBe(200)
  })

  test('the contract cannot be reached after settlement: pending, completed in the background', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.facilitator.beforeAnswer = async () => {
      fakes.sender.isDown = true
    }
    const first = route.call(header)
    await fakes.clock.advanceMsSettled(50_000)
    expect((await first).json()).toEqual({ error: 'payment_pending' })
    fakes.sender.isDown = false
    await fakes.clock.advanceMsSettled(11_000)
    expect(fakes.sender.opened).toHaveLength(1)
    expect((await route.call()).json().paidThisRequest).toBe(false)
  })

  test('X11: with no fee payer known the challenge is 502', async () => {
    fakes.feePayers = []
    await expectError('no_fee_payer')
    fakes.feePayers = ['0.0.9002']
    expect((await route.challenge()).accepts[0].extra.feePayer).toBe('0.0.9002')
  })

  test('A3: payTo’s float is too low to forward: unpaid', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.sender.isFloatLow = true
    await expectError('seller_float_low', header)
    expect(fakes.facilitator.settled).toEqual([])
  })

  test('A3: the contract would refuse the purchase: unpaid', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.sender.refusal = 'AccessWindow_NotForwarder'
    await expectError('forward_refused', header)
    expect(fakes.facilitator.settled).toEqual([])
  })
})

describe('503', () => {
  test('the access contract is not deployed on the target network', async () => {
    fakes.contract.isAbsent = true
    const answer = await route.call()
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toEqual({ error: 'contract_not_deployed' })
  })

  test('A26: the contract would refuse money at retired terms: offer_retired, unpaid', async () => {
    fakes.sender.refusal = 'AccessWindow_OfferRetired'
    const answer = await route.call(paymentHeader(await route.challenge(), payment))
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toEqual({ error: 'offer_retired' })
    expect(fakes.facilitator.settled).toEqual([])
  })

  test('A26: a payment at the price of an offer retired long ago: offer_retired, unpaid', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    const [offer] = fakes.contract.offerList
    if (offer !== undefined) fakes.contract.offerList[0] = { ...offer, retiredAtSeconds: 7 }
    const answer = await route.call(header)
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toEqual({ error: 'offer_retired' })
    expect(fakes.facilitator.settled).toEqual([])
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
    expect((await route.call()).statusCode).toBe(200)
  })

  test('A3: sales are paused: sales_paused, unpaid; an open window is served all the same', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.contract.isPaused = true
    const answer = await route.call(header)
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toEqual({ error: 'sales_paused' })
    expect(fakes.facilitator.settled).toEqual([])
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
    expect((await route.call()).statusCode).toBe(200)
  })
})
