import { describe, expect, test } from 'vitest'
import { agentMemo } from '../schemes/hedera/payment-memo.ts'
import { AGENT, gateFixture } from '../testing/gate.fixture.ts'
import {
  FEE_PAYER,
  HederaStandIn,
  NETWORK,
  OTHER_PAYER,
  PAYER,
} from '../testing/hedera-stand-in.fixture.ts'
import {
  decodeHeader,
  encodeHeader,
  firstRequirement,
  makePayment,
} from '../testing/payment-header.fixture.ts'

describe('paid', () => {
  test('X6: a valid payment is settled once, after prepare, and answered', async () => {
    const { gate, job, ledger, runs, terms } = gateFixture()
    const order: string[] = []
    const outcome = await gate.pay(
      { paymentSignature: await ledger.pay(terms) },
      terms,
      job({
        async prepare() {
          order.push(`prepare after ${ledger.settlements} settlements`)
          return { kind: 'ready', prepared: 'resource' }
        },
        async fulfil(granted, { payment }) {
          order.push(`fulfil after ${ledger.settlements} settlements`)
          return { granted, payer: payment.payer }
        },
      }),
    )
    expect(outcome).toMatchObject({
      kind: 'paid',
      answer: { granted: 'resource', payer: PAYER },
      settlement: { success: true, network: NETWORK },
    })
    expect(order).toEqual(['prepare after 0 settlements', 'fulfil after 1 settlements'])
    expect(runs.mayHonourAsked).toBe(0)
    expect(ledger.clock.pendingCount()).toBe(0)
  })

  test('X7: 100 identical requests at once make one settlement and one handler run, and get the same answer', async () => {
    const { gate, job, ledger, runs, terms } = gateFixture()
    const header = await ledger.pay(terms)
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, () => gate.pay({ paymentSignature: header }, terms, job())),
    )
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1)
    expect(outcomes[0]?.kind).toBe('paid')
    expect(ledger.settlements).toBe(1)
    expect(runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 0 })
  })

  test('X7: an identical request gets the same answer, unsettled, until the payment expires', async () => {
    const { gate, job, ledger, runs, terms } = gateFixture()
    const header = await ledger.pay(terms)
    const first = await gate.pay({ paymentSignature: header }, terms, job())
    for (const seconds of [1, 60, 100]) {
      await ledger.clock.advanceMsSettled(seconds * 1_000)
      expect(await gate.pay({ paymentSignature: header }, terms, job())).toEqual(first)
    }
    expect(ledger.settlements).toBe(1)
    expect(runs.fulfilled).toBe(1)
  })

  test('X4: a v2 payload under X-PAYMENT is accepted too', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const outcome = await gate.pay({ xPayment: await ledger.pay(terms) }, terms, job())
    expect(outcome.kind).toBe('paid')
  })

  test('X3: the facilitator gets our own requirement, without price, in both places', async () => {
    const ledger = new HederaStandIn()
    const { gate, job, terms } = gateFixture({ ledger })
    const envelope = decodeHeader(await ledger.pay(terms))
    const accepted = { ...envelope.accepted, price: { asset: '0.0.0', amount: '1' }, color: 'red' }
    const header = encodeHeader({ ...envelope, accepted })
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    const requirement = firstRequirement(terms)
    const { payload } = envelope
    const { resource } = terms
    expect(ledger.seen).toEqual([
      { payload: { x402Version: 2, payload, accepted: requirement, resource }, requirement },
    ])
  })
})

describe('challenged', () => {
  test('no payment header: payment_required', async () => {
    const { gate, job, terms } = gateFixture()
    expect(await gate.pay({}, terms, job())).toEqual({
      kind: 'challenged',
      error: 'payment_required',
    })
  })

  test('X7: the same payment with another fingerprint is payment_already_used, unsettled', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms)
    const used = { kind: 'challenged', error: 'payment_already_used' }
    const [first, second] = await Promise.all([
      gate.pay({ paymentSignature: header }, terms, job()),
      gate.pay({ paymentSignature: header }, terms, job({ fingerprint: 'GET /access 0xother' })),
    ])
    expect(first.kind).toBe('paid')
    expect(second).toEqual(used)
    expect(await gate.pay({ paymentSignature: header }, terms, job({ fingerprint: 'x' }))).toEqual(
      used,
    )
    expect(ledger.settlements).toBe(1)
  })

  test('X7: a stranger who signs under a known transaction id does not get its answer', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms, { randomNanos: seven })
    const copy = await ledger.pay(terms, { payer: OTHER_PAYER, randomNanos: seven })
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    expect(await gate.pay({ paymentSignature: copy }, terms, job())).toEqual({
      kind: 'challenged',
      error: 'payment_already_used',
    })
    expect(ledger.settlements).toBe(1)
  })

  test('X8, X9: a refusal before submission is 402 with the settlement, and frees the payment', async () => {
    const { gate, job, ledger, reservations, terms } = gateFixture()
    const header = await ledger.pay(terms)
    ledger.fault = { refusal: 'insufficient_funds' }
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toEqual({
      kind: 'challenged',
      error: 'insufficient_funds',
      settlement: {
        success: false,
        transaction: '',
        network: NETWORK,
        errorReason: 'insufficient_funds',
      },
    })
    expect(await reservations.open()).toEqual([])
    expect(gate.isPending(AGENT)).toBe(false)
    ledger.fault = undefined
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('X8: a record with a result other than SUCCESS is a refusal: transaction_failed', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms)
    const payment = await makePayment(ledger, { header, terms })
    const transaction = payment.nonce
    ledger.land(payment, 'INSUFFICIENT_ACCOUNT_BALANCE')
    ledger.fault = { refusal: 'transaction_failed', transaction }
    const outcome = await gate.pay({ paymentSignature: header }, terms, job())
    expect(outcome).toMatchObject({
      kind: 'challenged',
      error: 'transaction_failed',
      settlement: { success: false, transaction },
    })
  })

  test('X8: a payment whose payer’s balance is too small because of this very payment is honoured, not refused', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms, { memo: agentMemo(AGENT) })
    ledger.land(await makePayment(ledger, { header, terms }))
    ledger.fault = { refusal: 'insufficient_funds' }
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('a facilitator’s free text reaches nobody, neither as our error nor in PAYMENT-RESPONSE', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms)
    ledger.land(await makePayment(ledger, { header, terms }), 'INSUFFICIENT_ACCOUNT_BALANCE')
    ledger.fault = { refusal: 'Cannot read properties of undefined (reading "x")' }
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toEqual({
      kind: 'challenged',
      error: 'settlement_refused',
      settlement: {
        success: false,
        transaction: '',
        network: NETWORK,
        errorReason: 'settlement_refused',
      },
    })
  })
})

describe('declined', () => {
  test('a job that declines is not settled, and its payment is free again', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms)
    const declining = job({ prepare: async () => ({ kind: 'declined', declined: 'window-open' }) })
    expect(await gate.pay({ paymentSignature: header }, terms, declining)).toEqual({
      kind: 'declined',
      declined: 'window-open',
    })
    expect(ledger.settlements).toBe(0)
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('G4: a prepare that throws charges nothing, and every waiting request gets the error', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms)
    const failing = job({
      async prepare() {
        throw new Error('the resource is down')
      },
    })
    const calls = [1, 2, 3].map(() => gate.pay({ paymentSignature: header }, terms, failing))
    for (const call of calls) await expect(call).rejects.toThrow('the resource is down')
    expect(ledger.settlements).toBe(0)
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })
})

describe('unavailable', () => {
  test('X9: an unreachable facilitator settled nothing: the payment is free again', async () => {
    const { gate, job, ledger, reservations, terms } = gateFixture()
    ledger.fault = 'not_reached'
    const header = await ledger.pay(terms)
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toEqual({
      kind: 'unavailable',
      dependency: 'facilitator',
    })
    expect(await reservations.open()).toEqual([])
    ledger.fault = undefined
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('an unreadable payer key is ledger, unsettled', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms)
    ledger.areAccountsDown = true
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toEqual({
      kind: 'unavailable',
      dependency: 'ledger',
    })
    expect(ledger.settlements).toBe(0)
  })
})

test('X11: a requirement for a network that no scheme serves is our own mistake, not a challenge', async () => {
  const { gate, job, ledger, terms } = gateFixture()
  const requirement = firstRequirement(terms)
  const elsewhere = { ...terms, requirements: [{ ...requirement, network: 'hedera:mainnet' }] }
  const header = encodeHeader({
    ...decodeHeader(await ledger.pay(terms)),
    accepted: {
      ...requirement,
      network: 'hedera:mainnet',
      extra: { feePayer: FEE_PAYER, paymentFlow: 'upfront' },
    },
  })
  await expect(gate.pay({ paymentSignature: header }, elsewhere, job())).rejects.toThrow(
    'no payment scheme for hedera:mainnet',
  )
})

const seven = (): number => 7
