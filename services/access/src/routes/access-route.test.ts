import { paymentReference } from '@tallystick/x402/hedera'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openWindow, PRICE_TINYBAR } from '../testing/fake-contract.ts'
import {
  AGENT,
  type Fakes,
  OTHER_AGENT,
  paymentHeader,
  START_SECONDS,
  USAGE_HASH,
} from '../testing/fake-service.ts'
import {
  type AccessRoute,
  accessUrl,
  decoded,
  payment,
  startAccessRoute,
} from './access-route.fixture.ts'

let route: AccessRoute
let fakes: Fakes

beforeEach(async () => {
  route = await startAccessRoute()
  fakes = route.fakes
})
afterEach(() => route.close())

describe('200', () => {
  test('open window, quota left: paidThisRequest false, nothing signed or charged, usage recorded on-chain', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    const answer = await route.call()
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
    expect(fakes.recorded).toEqual([
      {
        agent: AGENT,
        windowExpiresAtSeconds: START_SECONDS + 15,
        windowStartsAtSeconds: START_SECONDS - 5,
        callsAllowed: 20,
        callsUsedInRead: 1,
        readAtMs: START_SECONDS * 1000,
      },
    ])
  })

  test('payment settles: subscription opened on-chain, paidThisRequest true, recordedOnChain is openPaid’s hash', async () => {
    const answer = await route.call(paymentHeader(await route.challenge(), payment))
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
    expect(fakes.sender.opened).toMatchObject([
      {
        agent: AGENT,
        offerId: 0,
        calls: 1,
        paidAtSeconds: START_SECONDS,
        valueTinybar: 4n * PRICE_TINYBAR,
      },
    ])
    expect(fakes.recorded).toEqual([])
  })

  test('A8: after the window would have expired: still 200, because the contract renewed itself', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS))
    const answer = await route.call()
    expect(answer.statusCode).toBe(200)
    expect(answer.json().subscription.expiresAt).toBe(START_SECONDS + 20)
  })

  test('an open window serves the call even with a payment header, which is not settled', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    expect((await route.call(header)).json().paidThisRequest).toBe(false)
    expect(fakes.facilitator.settled).toEqual([])
  })

  test('a window opened meanwhile by another request serves the call without settling', async () => {
    const body = await route.challenge()
    const answers = await Promise.all([
      route.call(paymentHeader(body, payment)),
      route.call(paymentHeader(body, { ...payment, nanos: 2 })),
    ])
    expect(answers.map((answer) => answer.statusCode)).toEqual([200, 200])
    expect(answers.filter((answer) => answer.json().paidThisRequest === true)).toHaveLength(1)
    expect(fakes.facilitator.settled).toHaveLength(1)
    expect(fakes.sender.opened).toHaveLength(1)
  })

  test('X9: a payment that another replica took meanwhile is no 402: the window that it opened serves the call', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    const transactionId = `0.0.9001@${START_SECONDS}.000000001`
    fakes.facilitator.mode = 'silent'
    fakes.scheme.find = async () => {
      fakes.contract.payments.set(paymentReference(transactionId).hash, AGENT)
      fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
      return { kind: 'landed', transaction: transactionId, consensusSeconds: START_SECONDS - 60 }
    }
    expect((await route.call(header)).json()).toMatchObject({
      access: 'granted',
      paidThisRequest: false,
    })
    expect(fakes.sender.opened).toEqual([])
  })

  test('X7: identical requests at once make one settlement, one opening, and get the same answer', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    const answers = await Promise.all(Array.from({ length: 10 }, () => route.call(header)))
    expect(new Set(answers.map((answer) => answer.body)).size).toBe(1)
    expect(answers[0]?.json().paidThisRequest).toBe(true)
    expect(fakes.facilitator.settled).toHaveLength(1)
    expect(fakes.sender.opened).toHaveLength(1)
  })

  test('A2: a payment that met an open subscription tops it up, and why says so', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.facilitator.beforeAnswer = async () => {
      fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    }
    expect((await route.call(header)).json()).toMatchObject({
      paidThisRequest: true,
      why: expect.stringContaining('topped up'),
      subscription: { balanceTinybar: '2100000000' },
    })
  })

  test('A5: reads that do not show a top-up yet do not hide it from its payer', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.facilitator.beforeAnswer = async () => {
      fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 35))
      fakes.sender.isVisible = false
    }
    const pending = route.call(header)
    await fakes.clock.advanceMsSettled(16_000)
    expect((await pending).json()).toMatchObject({
      paidThisRequest: true,
      subscription: { balanceTinybar: '2100000000' },
    })
  })

  test('A5: reads that lag behind the receipt do not keep the agent out', async () => {
    fakes.sender.isVisible = false
    const pending = route.call(paymentHeader(await route.challenge(), payment))
    await fakes.clock.advanceMsSettled(16_000)
    expect((await pending).json()).toMatchObject({ paidThisRequest: true })
    expect((await route.call()).json()).toMatchObject({
      paidThisRequest: false,
      subscription: { expiresAt: START_SECONDS + 20 },
    })
  })

  test('A3: a payment at the previous price is taken within 10 minutes of the change, and not after', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    const [first] = fakes.contract.offerList
    if (first === undefined) throw new Error('no offer')
    fakes.contract.offerList.push({
      ...first,
      offerId: 1,
      priceTinybar: 1n,
      startsAtSeconds: START_SECONDS,
      retiredAtSeconds: 0,
    })
    expect((await route.challenge(OTHER_AGENT)).accepts[0].price.amount).toBe('4')
    expect((await route.call(header)).statusCode).toBe(200)
    expect(fakes.sender.opened).toMatchObject([{ offerId: 0, valueTinybar: 4n * PRICE_TINYBAR }])
    fakes.clock.advanceMs(601_000)
    const late = await route.call(header, OTHER_AGENT)
    expect(late.statusCode).toBe(402)
    expect(late.json().error).toBe('payment_requirements_mismatch')
  })

  test('A7: a slot that is served and whose schedule is 30 s overdue is reaped, once for all its agents', async () => {
    const window = openWindow(START_SECONDS + 15, { scheduledAtSeconds: START_SECONDS - 31 })
    for (const agent of [AGENT, OTHER_AGENT]) fakes.contract.windows.set(agent, window)
    await route.call()
    await route.call()
    await route.call({}, OTHER_AGENT)
    expect(fakes.sender.rearmed).toEqual([`reap ${AGENT}`])
  })
})

describe('400', () => {
  test.each(['', '?agent=', '?agent=0x12', `?agent=${AGENT}0`, `?agent=${AGENT}&agent=${AGENT}`])(
    '`agent` missing or not an EVM address; nothing read from the chain: %s',
    async (query) => {
      const answer = await route.inject(`/api/svc/access${query}`)
      expect(answer.statusCode).toBe(400)
      expect(answer.json()).toEqual({ error: 'invalid_agent' })
      expect(fakes.contract.reads).toEqual([])
    },
  )

  test('comes before every other check', async () => {
    fakes.contract.isAbsent = true
    expect((await route.inject('/api/svc/access')).statusCode).toBe(400)
  })
})

describe('429', () => {
  test('metered quota for this period exhausted; resets when the window renews', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 7, { callsUsed: 20 }))
    const answer = await route.call()
    expect(answer.statusCode).toBe(429)
    expect(answer.json()).toEqual({ error: 'quota_exhausted' })
    expect(answer.headers['retry-after']).toBe('7')
    fakes.clock.advanceMs(7_000)
    expect((await route.call()).statusCode).toBe(200)
  })

  test('the recorder’s refusal is a 429 too', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 7))
    fakes.usage = { kind: 'quota-spent' }
    expect((await route.call()).statusCode).toBe(429)
  })

  test('a payment does not buy past an exhausted quota', async () => {
    const header = paymentHeader(await route.challenge(), payment)
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 7, { callsUsed: 20 }))
    expect((await route.call(header)).statusCode).toBe(429)
    expect(fakes.facilitator.settled).toEqual([])
  })
})

describe('405', () => {
  test.each(['HEAD', 'POST', 'PUT', 'DELETE'] as const)(
    '%s names the methods that are allowed',
    async (method) => {
      const answer = await route.inject({ method, url: accessUrl() })
      expect(answer.statusCode).toBe(405)
      expect(answer.headers.allow).toContain('GET')
      expect(fakes.contract.reads).toEqual([])
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
    fakes.contract.windows.set(
      AGENT,
      openWindow(START_SECONDS + 7, { isOpen: false, periodsFunded: 0, expiresAtSeconds: 1 }),
    )
    const answer = await route.inject(`${path}?agent=${AGENT}`)
    expect([402, 404]).toContain(answer.statusCode)
  })
})
