import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AccessAgentOptions, createAccessAgent } from './access-agent.ts'
import { AccessServiceUnavailable } from './access-outcome.ts'
import {
  CONTRACT,
  challenge,
  failed,
  granted,
  grantedBody,
  hurriedClock,
  PRICE_TINYBAR,
  readTransaction,
  type StandIn,
  signedTransfer,
  startStandIn,
} from './access-stand-in.fixture.ts'
import { agentSigner } from './agent-signer.ts'

const signer = agentSigner({ privateKey: `${'0'.repeat(63)}7`, accountId: '0.0.1004' })
const own = signer.evmAddress.toLowerCase()

/** A 200 whose `PAYMENT-RESPONSE` is no base64. */
const unreadable = {
  status: 200,
  body: grantedBody(true),
  headers: { 'payment-response': '%%%' },
}

let service: StandIn
let clock: ReturnType<typeof hurriedClock>

const agent = (options: Partial<AccessAgentOptions> = {}) =>
  createAccessAgent({
    baseUrl: service.baseUrl,
    serviceName: 'svc',
    signer,
    clock,
    maxPaymentTinybar: PRICE_TINYBAR,
    ...options,
  })

beforeEach(async () => {
  service = await startStandIn()
  clock = hurriedClock()
})

afterEach(async () => {
  await service.stop()
})

describe('paying', () => {
  test('pays once where no window is open, through the official client, with the memo x402:<agent> (X10)', async () => {
    service.script(challenge(), granted(true))
    const outcome = await agent().access()
    expect(outcome).toMatchObject({
      kind: 'granted',
      paidThisRequest: true,
      payment: { amountTinybar: PRICE_TINYBAR, transaction: readTransaction(service.payments[1]) },
      metering: { callsRemaining: 19 },
      subscription: { balanceTinybar: 900_000_000n, expiresAtSeconds: 1_763_600_020 },
      resource: { hbarUsd: 0.08 },
    })
    expect(service.payments).toHaveLength(2)
    expect(service.payments[0]).toBeUndefined()
    const transfer = signedTransfer(service.payments[1])
    expect(transfer.memo).toBe(`x402:${own}`)
    expect(transfer.lines.map((line) => line.amount)).toEqual([-PRICE_TINYBAR, PRICE_TINYBAR])
  })

  test('an open window is served with nothing signed', async () => {
    service.script(granted(false))
    expect(await agent().access()).toMatchObject({
      kind: 'granted',
      paidThisRequest: false,
      payment: undefined,
      signedPayment: undefined,
    })
    expect(service.payments).toEqual([undefined])
  })

  test('a window that opens after the payment was signed hides no payment', async () => {
    service.script(challenge(), granted(false))
    expect(await agent().access()).toMatchObject({
      kind: 'granted',
      paidThisRequest: false,
      payment: undefined,
      signedPayment: { amount: PRICE_TINYBAR, header: service.payments[1] },
    })
  })

  test('a payment for another agent is a gift: its memo and the query name that agent', async () => {
    const other = `0x${'Ab'.repeat(20)}` as const
    service.script(challenge(), granted(true))
    await agent({ agent: other }).access()
    expect(signedTransfer(service.payments[1]).memo).toBe(`x402:${other.toLowerCase()}`)
    expect(service.urls.every((url) => url.endsWith(`agent=${other}`))).toBe(true)
  })

  test.for([
    ['no maximum is stated', undefined, 0n],
    ['the price is one tinybar above the maximum', PRICE_TINYBAR - 1n, PRICE_TINYBAR - 1n],
  ] as const)('signs nothing where %s', async ([, maximum, maxPaymentTinybar]) => {
    const options = { baseUrl: service.baseUrl, serviceName: 'svc', signer, clock }
    const careful = createAccessAgent(
      maximum === undefined ? options : { ...options, maxPaymentTinybar: maximum },
    )
    expect(await careful.access()).toEqual({
      kind: 'payment-needed',
      priceTinybar: PRICE_TINYBAR,
      maxPaymentTinybar,
      payTo: '0.0.1002',
      description: '4 windows',
    })
    expect(service.payments).toEqual([undefined])
  })

  test.for([
    ['another network', { network: 'hedera:mainnet' }],
    ['a token instead of HBAR', { asset: '0.0.456858' }],
    ['another scheme', { scheme: 'upto' }],
  ] as const)('signs nothing for %s', async ([, change]) => {
    service.script(challenge(change))
    expect(await agent().access()).toMatchObject({ kind: 'cannot-pay' })
    expect(service.payments).toEqual([undefined])
  })

  test('an agent without a signer reads, and signs nothing whatever its maximum', async () => {
    const reader = createAccessAgent({
      baseUrl: service.baseUrl,
      serviceName: 'svc',
      agent: signer.evmAddress,
      clock,
      maxPaymentTinybar: PRICE_TINYBAR,
    })
    expect(await reader.access()).toMatchObject({ kind: 'payment-needed', maxPaymentTinybar: 0n })
    expect(await reader.status()).toMatchObject({ kind: 'status' })
  })
})

describe('X9: a payment of unknown fate', () => {
  test('after a 502 the same header is sent again, after Retry-After, and nothing is signed anew', async () => {
    const pending = failed(502, 'payment_pending', 3)
    service.script(challenge(), pending, pending, granted(true))
    const resends: number[] = []
    const outcome = await agent({ onResend: (attempt) => resends.push(attempt) }).access()
    expect(outcome).toMatchObject({ kind: 'granted', paidThisRequest: true })
    expect(service.payments).toHaveLength(4)
    expect(new Set(service.payments.slice(1)).size).toBe(1)
    expect(clock.waitsMs).toEqual([3_000, 3_000])
    expect(resends).toEqual([1, 2])
  })

  test('no answer at all to a payment is treated likewise', async () => {
    service.script(challenge(), 'hang-up', failed(502, 'payment_pending'), granted(true))
    expect(await agent().access()).toMatchObject({ kind: 'granted' })
    expect(service.payments).toHaveLength(4)
    expect(new Set(service.payments.slice(1)).size).toBe(1)
  })

  test.for([
    ['502', failed(502, 'payment_pending', 10), 'payment_pending'],
    ['no answer', 'hang-up', 'no_answer'],
  ] as const)(
    'at the limit the outcome says that it is pending (%s)',
    async ([, answer, error]) => {
      service.script(challenge(), answer)
      const outcome = await agent({ resendMs: 35_000 }).access()
      expect(outcome).toMatchObject({
        kind: 'payment-pending',
        error,
        payment: { amount: PRICE_TINYBAR, payTo: '0.0.1002' },
      })
      expect(new Set(service.payments.slice(1)).size).toBe(1)
      expect(clock.waitsMs.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(35_000)
    },
  )

  test('a long Retry-After is cut, so that the limit holds', async () => {
    service.script(challenge(), failed(502, 'payment_pending', 86_400), granted(true))
    await agent().access()
    expect(clock.waitsMs).toEqual([15_000])
  })

  test('a gateway that gave up waiting (504) is treated likewise', async () => {
    service.script(challenge(), failed(504, 'gateway_timeout'), granted(true))
    expect(await agent().access()).toMatchObject({ kind: 'granted', paidThisRequest: true })
    expect(new Set(service.payments.slice(1)).size).toBe(1)
  })

  test.for([
    ['a bug of the service', failed(500, 'internal_error'), 'internal_error'],
    ['a page of a proxy', { status: 520, body: 'unknown error' }, 'no_error_named'],
    ['a 200 that is no AccessGranted', { status: 200, body: {} }, 'no_error_named'],
    ['a receipt that cannot be read', unreadable, 'no_error_named'],
  ] as const)('%s in answer to a payment hides no payment', async ([, answer, error]) => {
    service.script(challenge(), answer)
    expect(await agent().access()).toMatchObject({
      kind: 'payment-pending',
      error,
      payment: { amount: PRICE_TINYBAR, payTo: '0.0.1002' },
    })
    expect(service.payments).toHaveLength(2)
  })

  test('an earlier payment that is pending keeps a new one from being signed', async () => {
    service.script(failed(502, 'payment_pending', 7))
    expect(await agent().access()).toEqual({
      kind: 'payment-pending',
      retryAfterSeconds: 7,
      error: 'payment_pending',
      payment: undefined,
    })
    expect(service.payments).toEqual([undefined])
  })

  test('a definite refusal is final: no second payment is signed', async () => {
    service.script(challenge(), challenge({}, 'insufficient_funds'))
    expect(await agent().access()).toMatchObject({
      kind: 'payment-refused',
      reason: 'insufficient_funds',
    })
    expect(service.payments).toHaveLength(2)
  })
})

describe('other answers', () => {
  test('429 is a spent quota with the seconds to wait', async () => {
    service.script(failed(429, 'quota_exhausted', 12))
    expect(await agent().access()).toEqual({ kind: 'quota-spent', retryAfterSeconds: 12 })
  })

  test.for([502, 503])('%i without a payment says that the service cannot serve', async (code) => {
    service.script(failed(code, 'ledger_unavailable'))
    expect(await agent().access()).toEqual({
      kind: 'unavailable',
      httpStatus: code,
      error: 'ledger_unavailable',
    })
    expect(service.payments).toHaveLength(1)
  })

  test.for([
    ['a 200 that is no AccessGranted', { status: 200, body: { access: 'maybe' } }],
    ['a status that access.md does not know', { status: 418, body: {} }],
  ] as const)('%s throws AccessServiceUnavailable', async ([, answer]) => {
    service.script(answer)
    await expect(agent().access()).rejects.toBeInstanceOf(AccessServiceUnavailable)
  })

  test('a service that is not there throws AccessServiceUnavailable', async () => {
    const nowhere = agent({ baseUrl: 'http://127.0.0.1:1' })
    await expect(nowhere.access()).rejects.toBeInstanceOf(AccessServiceUnavailable)
    await expect(nowhere.status()).rejects.toBeInstanceOf(AccessServiceUnavailable)
  })

  test('status is read in typed units', async () => {
    expect(await agent().status()).toMatchObject({
      kind: 'status',
      status: {
        contract: CONTRACT,
        hasAccess: true,
        balanceTinybar: 900_000_000n,
        isActive: true,
        usage: { callsRemaining: 17, resetsAtSeconds: 1_763_600_020 },
      },
    })
  })
})

describe('the signer', () => {
  test('refuses what is no key without repeating it', () => {
    expect(() => agentSigner({ privateKey: 'sesame', accountId: '0.0.5' })).toThrow(RangeError)
    expect(() => agentSigner({ privateKey: 'sesame', accountId: '0.0.5' })).not.toThrow(/sesame/)
  })

  test('asks for the account id only when a payment is signed, and once', async () => {
    let questions = 0
    const late = agentSigner({
      privateKey: `0x${'0'.repeat(63)}7`,
      accountId: async (evmAddress) => {
        questions += 1
        expect(evmAddress).toBe(signer.evmAddress)
        return '0.0.1004'
      },
    })
    service.script(granted(false), challenge(), granted(true), challenge(), granted(true))
    await agent({ signer: late }).access()
    expect(questions).toBe(0)
    await agent({ signer: late }).access()
    await agent({ signer: late }).access()
    expect(questions).toBe(1)
  })
})
