import { describe, expect, test } from 'vitest'
import { createPaymentGate } from './create-payment-gate.ts'
import type { GateEvent } from './gate-event.ts'
import { createMemoryReservationStore } from './memory-reservation-store.ts'
import type { PaidJob } from './payment-gate.ts'
import { agentOfMemo } from './schemes/hedera/payment-memo.ts'
import { HederaStandIn, standInTerms } from './testing/hedera-stand-in.ts'

type Grant = { readonly granted: string; readonly reference: string }
type Job = PaidJob<string, Grant, string>

const AGENT = `0x${'ab'.repeat(20)}`

function createHouse(ledger: HederaStandIn = new HederaStandIn()) {
  const events: GateEvent[] = []
  const reservations = createMemoryReservationStore({ clock: ledger.clock })
  const gate = createPaymentGate({
    schemes: [ledger.scheme],
    facilitator: ledger.facilitator,
    reservations,
    clock: ledger.clock,
    observe: (event) => events.push(event),
  })
  const runs = { prepared: 0, fulfilled: 0, mayHonourAsked: 0 }
  const job = (changes: Partial<Job> = {}): Job => ({
    fingerprint: `GET /access ${AGENT}`,
    subject: AGENT,
    async prepare() {
      runs.prepared += 1
      return { kind: 'ready', prepared: 'resource' }
    },
    async mayHonour(payment) {
      runs.mayHonourAsked += 1
      return (agentOfMemo(payment.memo) ?? payment.payerEvmAddress) === AGENT
    },
    async fulfil(prepared, { payment }) {
      runs.fulfilled += 1
      return { granted: prepared, reference: payment.nonce }
    },
    ...changes,
  })
  const terms = standInTerms()
  return { events, gate, job, ledger, reservations, runs, terms }
}

describe('paid', () => {
  test('X6: a valid payment is settled once and answered', async () => {
    const { gate, job, ledger, runs, terms } = createHouse()
    const header = await ledger.pay(terms)
    const outcome = await gate.pay({ paymentSignature: header }, terms, job())
    expect(outcome).toMatchObject({
      kind: 'paid',
      answer: { granted: 'resource' },
      settlement: { success: true },
    })
    expect(ledger.settlements).toBe(1)
    expect(runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 0 })
    expect(ledger.clock.timers()).toBe(0)
  })

  test('X7: 100 identical requests at once make one settlement and one handler run and get the same answer', async () => {
    const { gate, job, ledger, runs, terms } = createHouse()
    const header = await ledger.pay(terms)
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, () => gate.pay({ paymentSignature: header }, terms, job())),
    )
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1)
    expect(outcomes[0]?.kind).toBe('paid')
    expect(ledger.settlements).toBe(1)
    expect(runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 0 })
  })

  test('X7: an identical request later gets the same answer, unsettled', async () => {
    const { gate, job, ledger, runs, terms } = createHouse()
    const header = await ledger.pay(terms)
    const first = await gate.pay({ paymentSignature: header }, terms, job())
    await ledger.clock.advanceMs(60_000)
    const second = await gate.pay({ xPayment: header }, terms, job())
    expect(second).toEqual(first)
    expect(ledger.settlements).toBe(1)
    expect(runs.fulfilled).toBe(1)
  })
})

describe('challenged', () => {
  test('X7: the same payment with another fingerprint is payment_already_used, unsettled', async () => {
    const { gate, job, ledger, terms } = createHouse()
    const header = await ledger.pay(terms)
    const [first, second] = await Promise.all([
      gate.pay({ paymentSignature: header }, terms, job()),
      gate.pay({ paymentSignature: header }, terms, job({ fingerprint: 'GET /access 0xother' })),
    ])
    expect(first.kind).toBe('paid')
    expect(second).toEqual({ kind: 'challenged', error: 'payment_already_used' })
    const later = await gate.pay({ paymentSignature: header }, terms, job({ fingerprint: 'x' }))
    expect(later).toEqual({ kind: 'challenged', error: 'payment_already_used' })
    expect(ledger.settlements).toBe(1)
  })
})
