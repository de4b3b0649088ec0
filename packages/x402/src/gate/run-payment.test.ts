/** What happens to one payment between reservation and answer (X6 to X10), through the gate. */
import { describe, expect, test } from 'vitest'
import type { ReservationStore } from '../reservations/reservation-store.ts'
import { agentMemo } from '../schemes/hedera/payment-memo.ts'
import { AGENT, gateFixture } from '../testing/gate.fixture.ts'
import { HederaStandIn, OTHER_PAYER, PAY_TO, PAYER } from '../testing/hedera-stand-in.fixture.ts'
import { makePayment } from '../testing/payment-header.fixture.ts'
import { createPaymentGate } from './payment-gate.ts'

const memo = agentMemo(AGENT)

/** A job for the payer's own address. */
const ownJob = { subject: new HederaStandIn().accounts.get(PAYER)?.evmAddress ?? '' }

describe('pending', () => {
  test('X9: a settlement whose answer was lost is found on the ledger and honoured', async () => {
    const { gate, job, ledger, runs, terms } = gateFixture()
    ledger.fault = 'answer_lost'
    const header = await ledger.pay(terms)
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    expect(runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 0 })
  })

  test('X9: a success that names another transaction is nonsense: a payment the ledger does not know buys nothing', async () => {
    const { gate, job, ledger, runs, terms } = gateFixture()
    ledger.fault = 'invented_success'
    const paying = gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    await ledger.clock.advanceMsSettled(13_000)
    expect((await paying).kind).toBe('pending')
    await ledger.clock.advanceMsSettled(300_000)
    expect(gate.isPending(AGENT)).toBe(false)
    expect(runs.fulfilled).toBe(0)
  })

  test('X9: a success that names another transaction is honoured if the payment landed', async () => {
    const { gate, job, ledger, runs, terms } = gateFixture()
    ledger.fault = 'success_of_another'
    const header = await ledger.pay(terms)
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    expect(runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 0 })
  })

  test('X9: while the mirror lags the answer is 502 pending, and the job completes in the background', async () => {
    const { gate, job, ledger, runs, terms } = gateFixture()
    ledger.fault = 'answer_lost'
    ledger.mirrorLagSeconds = 20
    const header = await ledger.pay(terms)
    const paying = gate.pay({ paymentSignature: header }, terms, job(ownJob))
    await ledger.clock.advanceMsSettled(13_000)
    expect(await paying).toEqual({ kind: 'pending', retryAfterSeconds: 3 })
    expect(gate.isPending(ownJob.subject)).toBe(true)
    expect(runs.fulfilled).toBe(0)
    await ledger.clock.advanceMsSettled(20_000)
    expect(gate.isPending(ownJob.subject)).toBe(false)
    expect(runs.fulfilled).toBe(1)
    expect((await gate.pay({ paymentSignature: header }, terms, job(ownJob))).kind).toBe('paid')
    expect(ledger.settlements).toBe(1)
  })

  test('X9: the same header sent again completes the job at once', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    ledger.fault = 'answer_lost'
    ledger.isMirrorDown = true
    const header = await ledger.pay(terms)
    const first = gate.pay({ paymentSignature: header }, terms, job())
    await ledger.clock.advanceMsSettled(60_000)
    expect((await first).kind).toBe('pending')
    ledger.isMirrorDown = false
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('X8: a payment that never arrived is refused once the ledger is 30 s past its validity', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    ledger.fault = 'silent'
    const header = await ledger.pay(terms)
    const first = gate.pay({ paymentSignature: header }, terms, job(ownJob))
    await ledger.clock.advanceMsSettled(15_000)
    expect((await first).kind).toBe('pending')
    await ledger.clock.advanceMsSettled(180_000)
    expect(gate.isPending(ownJob.subject)).toBe(true)
    await ledger.clock.advanceMsSettled(30_000)
    expect(gate.isPending(ownJob.subject)).toBe(false)
    expect(await gate.pay({ paymentSignature: header }, terms, job(ownJob))).toMatchObject({
      kind: 'challenged',
      error: 'transaction_expired',
      settlement: { success: false },
    })
  })

  test('X9: an expired payment that this process has not sent keeps its payer waiting, and nobody whom a stranger names', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms, { memo })
    await ledger.clock.advanceMsSettled(180_000)
    const stranger = gate.pay({ paymentSignature: header }, terms, job())
    await ledger.clock.advanceMsSettled(1_000)
    expect(gate.isPending(AGENT)).toBe(false)
    const own = ledger.accounts.get(PAYER)?.evmAddress ?? ''
    const ownHeader = await ledger.pay(terms, { payer: PAYER, memo: agentMemo(own) })
    await ledger.clock.advanceMsSettled(180_000)
    expect((await stranger).kind).toBe('pending')
    const expired = gate.pay({ paymentSignature: ownHeader }, terms, job({ subject: own }))
    await ledger.clock.advanceMsSettled(1_000)
    expect(gate.isPending(own)).toBe(true)
    await ledger.clock.advanceMsSettled(60_000)
    expect((await expired).kind).toBe('pending')
    expect(gate.isPending(own)).toBe(false)
    expect(ledger.settlements).toBe(0)
  })

  test('X9: another payment from the same payer for the same thing waits, unsettled', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    ledger.fault = 'answer_lost'
    ledger.isMirrorDown = true
    const first = gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    await ledger.clock.advanceMsSettled(13_000)
    await first
    ledger.fault = undefined
    const again = await gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    expect(again.kind).toBe('pending')
    expect(ledger.settlements).toBe(1)
    const other = await ledger.pay(terms, { payer: OTHER_PAYER })
    expect((await gate.pay({ paymentSignature: other }, terms, job())).kind).toBe('paid')
  })

  test('a settled payment is never lost: fulfil is repeated until it succeeds', async () => {
    const { events, gate, job, ledger, runs, terms } = gateFixture()
    let failures = 4
    const header = await ledger.pay(terms)
    const flaky = job({
      async fulfil(granted, { payment }) {
        runs.fulfilled += 1
        failures -= 1
        if (failures >= 0) throw new Error('the ledger is busy')
        return { granted, payer: payment.payer }
      },
    })
    const paying = gate.pay({ paymentSignature: header }, terms, flaky)
    await ledger.clock.advanceMsSettled(1_000)
    expect(gate.isPending(AGENT)).toBe(true)
    await ledger.clock.advanceMsSettled(10_000)
    expect((await paying).kind).toBe('paid')
    expect(runs.fulfilled).toBe(5)
    expect(ledger.settlements).toBe(1)
    expect(events.filter(({ kind }) => kind === 'retrying')).toHaveLength(4)
  })
})

describe('X10: a payment found on the ledger, not settled here: honoured for the agent in its signed memo', () => {
  test('X10: found, not settled here: honoured for the agent of its signed memo', async () => {
    const { gate, job, ledger, runs, terms } = gateFixture()
    const header = await ledger.pay(terms, { memo })
    const payment = await makePayment(ledger, { header, terms })
    ledger.land(payment)
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toMatchObject({
      kind: 'paid',
      settlement: { success: true, transaction: payment.nonce },
    })
    expect(runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 1 })
  })

  test('X10: found, not settled here: not honoured for somebody else’s agent', async () => {
    const { gate, job, ledger, runs, terms } = gateFixture()
    const header = await ledger.pay(terms)
    const payment = await makePayment(ledger, { header, terms })
    ledger.land(payment)
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toEqual({
      kind: 'challenged',
      error: 'payment_already_used',
    })
    expect(runs.fulfilled).toBe(0)
  })

  test('X9: the same header completes the job on another replica, even after its validity ended', async () => {
    const first = gateFixture()
    const { job, ledger, terms } = first
    const header = await ledger.pay(terms, { memo })
    const stuck = job({
      async fulfil() {
        throw new Error('killed before forwarding')
      },
    })
    const paying = first.gate.pay({ paymentSignature: header }, terms, stuck)
    await ledger.clock.advanceMsSettled(1_000)
    await first.gate.close()
    await paying
    await ledger.clock.advanceMsSettled(600_000)
    const second = gateFixture({ ledger })
    const outcome = await second.gate.pay({ paymentSignature: header }, terms, second.job())
    expect(outcome.kind).toBe('paid')
    expect(ledger.settlements).toBe(1)
    expect(second.runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 1 })
  })

  test('a payment reserved by a process that is gone is looked up, not settled again', async () => {
    const { clock, gate, job, ledger, reservations, terms } = gateFixture()
    const header = await ledger.pay(terms, { memo })
    const payment = await makePayment(ledger, { header, terms })
    await reservations.reserve({
      paymentId: payment.id,
      payment,
      fingerprint: job().fingerprint,
      subject: AGENT,
      state: 'reserved',
      expiresAtSeconds: clock.unixMs() / 1_000 + 300,
    })
    ledger.land(payment)
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    expect(ledger.settlements).toBe(0)
  })

  test('X9: a reservation left open by an earlier process is resumed at start, without its header', async () => {
    const { gate, job, ledger, reservations, terms } = gateFixture()
    const header = await ledger.pay(terms, { memo })
    const payment = await makePayment(ledger, { header, terms })
    await reservations.reserve({
      paymentId: payment.id,
      payment,
      fingerprint: job().fingerprint,
      subject: AGENT,
      state: 'settled',
      expiresAtSeconds: payment.validUntilSeconds,
    })
    ledger.land(payment)
    const ends: string[] = []
    await gate.resumeOpen(
      () => job(),
      ({ end }) => ends.push(end),
    )
    expect(ends).toEqual(['paid'])
    expect(ledger.settlements).toBe(0)
    expect(await reservations.open()).toEqual([])
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('somebody else’s transaction under the same id is not our payment', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms, { memo })
    const { nonce } = await makePayment(ledger, { header, terms })
    ledger.land({ nonce, payer: OTHER_PAYER, payTo: PAY_TO, asset: '0.0.0', amount: 1n, memo: '' })
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toMatchObject({
      kind: 'challenged',
      settlement: { success: false },
    })
  })
})

test('after settlement nothing blocks: a store that fails is reported, and the answer given', async () => {
  const ledger = new HederaStandIn()
  const reservations: ReservationStore = {
    reserve: async () => ({ kind: 'reserved' }),
    markSettled: failsAlways,
    keepAnswer: failsAlways,
    markDelivered: failsAlways,
    release: failsAlways,
    get: async () => undefined,
    open: async () => [],
    noteGuess: failsAlways,
    ownerEnded: async () => undefined,
  }
  const { events, gate, job, terms } = gateFixture({ ledger, reservations })
  const header = await ledger.pay(terms)
  expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  expect(events.filter(({ kind }) => kind === 'store_failed')).toHaveLength(2)
})

test('after settlement nothing blocks: an answer that no store can hold is reported, and given', async () => {
  const { events, gate, job, ledger, terms } = gateFixture()
  const unstorable = { granted: 'resource', payer: PAYER, amountTinybar: 1n }
  const header = await ledger.pay(terms)
  const careless = job({ fulfil: async () => unstorable })
  expect(await gate.pay({ paymentSignature: header }, terms, careless)).toMatchObject({
    kind: 'paid',
    answer: unstorable,
  })
  expect(events.map(({ kind }) => kind)).toEqual(['settled', 'store_failed', 'fulfilled'])
})

test('after settlement nothing blocks: an observer that throws changes nothing', async () => {
  const ledger = new HederaStandIn()
  const { job, reservations, terms } = gateFixture({ ledger })
  const gate = createPaymentGate({
    schemes: [ledger.scheme],
    facilitator: ledger.facilitator,
    reservations,
    clock: ledger.clock,
    observe() {
      throw new Error('the log is full')
    },
  })
  const header = await ledger.pay(terms)
  expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
})

async function failsAlways(): Promise<never> {
  throw new Error('disk full')
}
