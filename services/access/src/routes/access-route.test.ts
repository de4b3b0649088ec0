import { paymentReference } from '@tallystick/x402/hedera'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { accessDiscovery } from '../access-discovery.ts'
import { openWindow, PRICE_TINYBAR } from '../testing/fake-contract.ts'
import {
  AGENT,
  createFakeWorld,
  type FakeWorld,
  OTHER_AGENT,
  paymentHeader,
  START_SECONDS,
  startFakeService,
  USAGE_HASH,
} from '../testing/fake-world.ts'

let world: FakeWorld
let service: Awaited<ReturnType<typeof startFakeService>>

beforeEach(async () => {
  world = createFakeWorld()
  service = await startFakeService(world)
  await service.core.sweep.sweep()
  world.contract.reads.length = 0
})
afterEach(() => service.close())

const url = (agent: string = AGENT) => `/api/svc/access?agent=${agent}`
const call = (headers: Record<string, string> = {}, agent: string = AGENT) =>
  service.app.inject({ url: url(agent), headers })
const challenge = async (agent: string = AGENT) => (await call({}, agent)).json()
const payment = { nanos: 1, validFromSeconds: START_SECONDS }
const decoded = (header: unknown) => Buffer.from(String(header), 'base64').toString('utf8')

describe('200', () => {
  test('open window, quota left: paidThisRequest false, nothing signed or charged, usage recorded on-chain', async () => {
    world.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    const answer = await call()
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['payment-response']).toBeUndefined()
    expect(answer.json()).toEqual({
      access: 'granted',
      paidThisRequest: false,
      subscription: {
        expiresAt: START_SECONDS + 15,
        secondsRemaining: 15,
        periodSeconds: 20,
        balanceTinybar: '900000000',
        active: true,
        nextRenewalSchedule: '0x00000000000000000000000000000000009f9174',
      },
      why: expect.stringContaining('open'),
      metering: {
        callsRemainingThisPeriod: 18,
        recordedOnChain: USAGE_HASH,
        why: expect.stringContaining('counts this call'),
      },
      resource: { temperature: 21 },
    })
    expect(world.recorded).toEqual([
      {
        agent: AGENT,
        windowExpiresAtSeconds: START_SECONDS + 15,
        callsAllowed: 20,
        callsUsedInRead: 1,
      },
    ])
  })

  test('payment settles: subscription opened on-chain, paidThisRequest true, recordedOnChain is openPaid’s hash', async () => {
    const answer = await call(paymentHeader(await challenge(), payment))
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({
      access: 'granted',
      paidThisRequest: true,
      subscription: { expiresAt: START_SECONDS + 20, active: true },
      metering: { callsRemainingThisPeriod: 19, recordedOnChain: `0x${'1'.padStart(64, '0')}` },
      resource: { temperature: 21 },
    })
    expect(JSON.parse(decoded(answer.headers['payment-response']))).toMatchObject({
      success: true,
      transaction: `0.0.9001@${START_SECONDS}.000000001`,
    })
    expect(world.sender.opened).toMatchObject([
      {
        agent: AGENT,
        offerId: 0,
        calls: 1,
        paidAtSeconds: START_SECONDS,
        valueTinybar: 4n * PRICE_TINYBAR,
      },
    ])
    expect(world.recorded).toEqual([])
  })

  test('A8: after the window would have expired: still 200, because the contract renewed itself', async () => {
    world.contract.windows.set(AGENT, openWindow(START_SECONDS))
    const answer = await call()
    expect(answer.statusCode).toBe(200)
    expect(answer.json().subscription.expiresAt).toBe(START_SECONDS + 20)
  })

  test('an open window serves the call even with a payment header, which is not settled', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    expect((await call(header)).json().paidThisRequest).toBe(false)
    expect(world.facilitator.settled).toEqual([])
  })

  test('a window opened meanwhile by another request serves the call without settling', async () => {
    const body = await challenge()
    const answers = await Promise.all([
      call(paymentHeader(body, payment)),
      call(paymentHeader(body, { ...payment, nanos: 2 })),
    ])
    expect(answers.map((answer) => answer.statusCode)).toEqual([200, 200])
    expect(answers.filter((answer) => answer.json().paidThisRequest === true)).toHaveLength(1)
    expect(world.facilitator.settled).toHaveLength(1)
    expect(world.sender.opened).toHaveLength(1)
  })

  test('X9: a payment that another replica took meanwhile is no 402: the window that it opened serves the call', async () => {
    const header = paymentHeader(await challenge(), payment)
    const transactionId = `0.0.9001@${START_SECONDS}.000000001`
    world.facilitator.mode = 'silent'
    world.scheme.find = async () => {
      world.contract.payments.set(paymentReference(transactionId).hash, AGENT)
      world.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
      return { kind: 'landed', transaction: transactionId, consensusSeconds: START_SECONDS - 60 }
    }
    expect((await call(header)).json()).toMatchObject({ access: 'granted', paidThisRequest: false })
    expect(world.sender.opened).toEqual([])
  })

  test('X7: identical requests at once make one settlement, one opening, and get the same answer', async () => {
    const header = paymentHeader(await challenge(), payment)
    const answers = await Promise.all(Array.from({ length: 10 }, () => call(header)))
    expect(new Set(answers.map((answer) => answer.body)).size).toBe(1)
    expect(answers[0]?.json().paidThisRequest).toBe(true)
    expect(world.facilitator.settled).toHaveLength(1)
    expect(world.sender.opened).toHaveLength(1)
  })

  test('A2: a payment that met an open subscription tops it up, and why says so', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.facilitator.beforeAnswer = async () => {
      world.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    }
    expect((await call(header)).json()).toMatchObject({
      paidThisRequest: true,
      why: expect.stringContaining('topped up'),
      subscription: { balanceTinybar: '2100000000' },
    })
  })

  test('A5: reads that do not show a top-up yet do not hide it from its payer', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.facilitator.beforeAnswer = async () => {
      world.contract.windows.set(AGENT, openWindow(START_SECONDS + 35))
      world.sender.isVisible = false
    }
    const pending = call(header)
    await world.clock.advanceMsSettled(16_000)
    expect((await pending).json()).toMatchObject({
      paidThisRequest: true,
      subscription: { balanceTinybar: '2100000000' },
    })
  })

  test('A5: reads that lag behind the receipt do not keep the agent out', async () => {
    world.sender.isVisible = false
    const pending = call(paymentHeader(await challenge(), payment))
    await world.clock.advanceMsSettled(16_000)
    expect((await pending).json()).toMatchObject({ paidThisRequest: true })
    expect((await call()).json()).toMatchObject({
      paidThisRequest: false,
      subscription: { expiresAt: START_SECONDS + 20 },
    })
  })

  test('A3: a payment at the previous price is taken within 10 minutes of the change, and not after', async () => {
    const header = paymentHeader(await challenge(), payment)
    const [first] = world.contract.offerList
    if (first === undefined) throw new Error('no offer')
    world.contract.offerList.push({
      ...first,
      offerId: 1,
      priceTinybar: 1n,
      startsAtSeconds: START_SECONDS,
    })
    expect((await challenge(OTHER_AGENT)).accepts[0].price.amount).toBe('4')
    expect((await call(header)).statusCode).toBe(200)
    expect(world.sender.opened).toMatchObject([{ offerId: 0, valueTinybar: 4n * PRICE_TINYBAR }])
    world.clock.advanceMs(601_000)
    const late = await call(header, OTHER_AGENT)
    expect(late.statusCode).toBe(402)
    expect(late.json().error).toBe('payment_requirements_mismatch')
  })

  test('A7: a served agent whose schedule is 30 s overdue is reaped, once', async () => {
    const window = openWindow(START_SECONDS + 15, { scheduledAtSeconds: START_SECONDS - 31 })
    world.contract.windows.set(AGENT, window)
    await call()
    await call()
    expect(world.sender.reaped).toEqual([AGENT])
  })
})

describe('402', () => {
  test('no open subscription and no payment: the challenge, in the body and base64 in PAYMENT-REQUIRED', async () => {
    const answer = await call()
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
    world.contract.windows.set(AGENT, window)
    expect((await call()).statusCode).toBe(402)
    world.contract.windows.set(AGENT, { ...window, expiresAtSeconds: START_SECONDS + 1 })
    expect((await call()).statusCode).toBe(200)
  })

  test.each([
    ['undecodable', '%%%', 'payment_header_undecodable'],
    ['too large', 'A'.repeat(9000), 'payment_header_too_large'],
  ])('a payment header that is %s: a fresh challenge', async (_what, value, error) => {
    const answer = await call({ 'payment-signature': value })
    expect(answer.statusCode).toBe(402)
    expect(answer.json()).toMatchObject({ error, accepts: [{}] })
  })

  test('X10: a memo that names another agent is refused, unsettled', async () => {
    const header = paymentHeader(await challenge(), { ...payment, memo: `x402:${OTHER_AGENT}` })
    const answer = await call(header)
    expect(answer.statusCode).toBe(402)
    expect(answer.json().error).toBe('payment_memo_mismatch')
    expect(world.facilitator.settled).toEqual([])
  })

  test('X4: a v2 payload under X-PAYMENT is accepted as well', async () => {
    const header = paymentHeader(await challenge(), payment)
    const answer = await call({ 'x-payment': header['payment-signature'] ?? '' })
    expect(answer.json()).toMatchObject({ paidThisRequest: true })
  })

  test('X10: a memo that names the agent is taken, and so is free text', async () => {
    const body = await challenge()
    const named = await call(paymentHeader(body, { ...payment, memo: `x402:${AGENT}` }))
    const free = await call(
      paymentHeader(body, { ...payment, nanos: 2, memo: 'thanks' }),
      OTHER_AGENT,
    )
    expect([named.statusCode, free.statusCode]).toEqual([200, 200])
  })

  test('X7: the same payment for another agent is payment_already_used, unsettled', async () => {
    const header = paymentHeader(await challenge(), payment)
    await call(header)
    const answer = await call(header, OTHER_AGENT)
    expect(answer.statusCode).toBe(402)
    expect(answer.json().error).toBe('payment_already_used')
    expect(world.facilitator.settled).toHaveLength(1)
  })

  test('X9: a definite refusal carries PAYMENT-RESPONSE success false and a fresh challenge', async () => {
    world.facilitator.mode = 'refuse'
    world.scheme.find = async () => ({ kind: 'never' })
    const answer = await call(paymentHeader(await challenge(), payment))
    expect(answer.statusCode).toBe(402)
    expect(JSON.parse(decoded(answer.headers['payment-response'])).success).toBe(false)
    expect(answer.json().accepts).toHaveLength(1)
  })
})

describe('400', () => {
  test.each(['', '?agent=', '?agent=0x12', `?agent=${AGENT}0`, `?agent=${AGENT}&agent=${AGENT}`])(
    '`agent` missing or not an EVM address; nothing read from the chain: %s',
    async (query) => {
      const answer = await service.app.inject(`/api/svc/access${query}`)
      expect(answer.statusCode).toBe(400)
      expect(answer.json()).toEqual({ error: 'invalid_agent' })
      expect(world.contract.reads).toEqual([])
    },
  )

  test('comes before every other check', async () => {
    world.contract.isAbsent = true
    expect((await service.app.inject('/api/svc/access')).statusCode).toBe(400)
  })
})

describe('429', () => {
  test('metered quota for this period exhausted; resets when the window renews', async () => {
    world.contract.windows.set(AGENT, openWindow(START_SECONDS + 7, { callsUsed: 20 }))
    const answer = await call()
    expect(answer.statusCode).toBe(429)
    expect(answer.json()).toEqual({ error: 'quota_exhausted' })
    expect(answer.headers['retry-after']).toBe('7')
    world.clock.advanceMs(7_000)
    expect((await call()).statusCode).toBe(200)
  })

  test('the recorder’s refusal is a 429 too', async () => {
    world.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
    world.usage = { kind: 'quota-spent' }
    expect((await call()).statusCode).toBe(429)
  })

  test('a payment does not buy past an exhausted quota', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.contract.windows.set(AGENT, openWindow(START_SECONDS + 7, { callsUsed: 20 }))
    expect((await call(header)).statusCode).toBe(429)
    expect(world.facilitator.settled).toEqual([])
  })
})

const expectError = async (error: string, headers: Record<string, string> = {}): Promise<void> => {
  const answer = await call(headers)
  expect(answer.statusCode).toBe(502)
  expect(answer.json()).toEqual({ error })
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
}

describe('502', () => {
  test('an upstream read was unavailable: the chain', async () => {
    world.contract.isDown = true
    await expectError('chain_unavailable')
    expect(world.facilitator.settled).toEqual([])
  })

  test('an upstream read was unavailable: the resource, before anything is metered', async () => {
    world.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
    world.isResourceDown = true
    await expectError('resource_unavailable')
    expect(world.recorded).toEqual([])
  })

  test('A3: the resource fails before settlement: unpaid', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.isResourceDown = true
    await expectError('resource_unavailable', header)
    expect(world.facilitator.settled).toEqual([])
    world.isResourceDown = false
    expect((await call(header)).statusCode).toBe(200)
  })

  test('the usage of the call could not be recorded', async () => {
    world.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
    world.usage = { kind: 'unavailable' }
    await expectError('usage_unavailable')
    expect(world.recorded).toEqual([])
  })

  test('the payment facilitator was unavailable: nothing was sent', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.facilitator.mode = 'unreachable'
    await expectError('facilitator_unavailable', header)
    world.facilitator.mode = 'settle'
    expect((await call(header)).statusCode).toBe(200)
  })

  test('X9: a payment whose fate is open keeps its agent from being challenged, until it is found', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.facilitator.mode = 'silent'
    const first = call(header)
    await world.clock.advanceMsSettled(13_000)
    expect((await first).json()).toEqual({ error: 'payment_pending' })
    await expectError('payment_pending')
    await expectError(
      'payment_pending',
      paymentHeader(await challenge(OTHER_AGENT), { ...payment, nanos: 2 }),
    )
    world.scheme.landed.add(`0.0.9001@${START_SECONDS}.000000001`)
    await world.clock.advanceMsSettled(11_000)
    expect((await call()).json().paidThisRequest).toBe(false)
    expect(world.sender.opened).toHaveLength(1)
  })

  test('a header that holds no payment waits for nobody', async () => {
    const header = paymentHeader(await challenge(), payment)
    const settling = Promise.withResolvers<void>()
    world.facilitator.beforeAnswer = () => settling.promise
    const paid = call(header)
    await world.clock.advanceMsSettled(1)
    await expectError('payment_pending', { 'payment-signature': '%%%' })
    settling.resolve()
    expect((await paid).statusCode).toBe(200)
  })

  test('the contract cannot be reached after settlement: pending, completed in the background', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.facilitator.beforeAnswer = async () => {
      world.sender.isDown = true
    }
    const first = call(header)
    await world.clock.advanceMsSettled(50_000)
    expect((await first).json()).toEqual({ error: 'payment_pending' })
    world.sender.isDown = false
    await world.clock.advanceMsSettled(11_000)
    expect(world.sender.opened).toHaveLength(1)
    expect((await call()).json().paidThisRequest).toBe(false)
  })

  test('X11: with no fee payer known the challenge is 502', async () => {
    world.feePayers = []
    await expectError('no_fee_payer')
    world.feePayers = ['0.0.9002']
    expect((await challenge()).accepts[0].extra.feePayer).toBe('0.0.9002')
  })

  test('A3: payTo’s float is too low to forward: unpaid', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.sender.isFloatLow = true
    await expectError('seller_float_low', header)
    expect(world.facilitator.settled).toEqual([])
  })

  test('A3: the contract would refuse the purchase: unpaid', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.sender.refusal = 'AccessWindow_NotForwarder'
    await expectError('forward_refused', header)
    expect(world.facilitator.settled).toEqual([])
  })
})

describe('503', () => {
  test('the access contract is not deployed on the target network', async () => {
    world.contract.isAbsent = true
    const answer = await call()
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toEqual({ error: 'contract_not_deployed' })
  })

  test('A3: sales are paused: sales_paused, unpaid; an open window is served all the same', async () => {
    const header = paymentHeader(await challenge(), payment)
    world.contract.isPaused = true
    const answer = await call(header)
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toEqual({ error: 'sales_paused' })
    expect(world.facilitator.settled).toEqual([])
    world.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
    expect((await call()).statusCode).toBe(200)
  })
})

describe('405', () => {
  test.each(['HEAD', 'POST', 'PUT', 'DELETE'] as const)(
    '%s names the methods that are allowed',
    async (method) => {
      const answer = await service.app.inject({ method, url: url() })
      expect(answer.statusCode).toBe(405)
      expect(answer.headers.allow).toContain('GET')
      expect(world.contract.reads).toEqual([])
    },
  )
})

describe('X1: no path but its own reaches the paid handler', () => {
  test.each([
    '/api/svc/access/',
    '/api//svc/access',
    '/api/svc%2Faccess',
    '/api/svc/%61ccess',
    '/api/svc/ACCESS',
  ])('%s', async (path) => {
    world.contract.windows.set(
      AGENT,
      openWindow(START_SECONDS + 7, { isOpen: false, periodsFunded: 0, expiresAtSeconds: 1 }),
    )
    const answer = await service.app.inject(`${path}?agent=${AGENT}`)
    expect([402, 404]).toContain(answer.statusCode)
  })
})
