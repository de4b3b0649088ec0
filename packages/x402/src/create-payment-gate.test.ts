import { describe, expect, test } from 'vitest'
import { createPaymentGate } from './create-payment-gate.ts'
import type { ReservationStore } from './reservation-store.ts'
import { agentMemo } from './schemes/hedera/payment-memo.ts'
import { AGENT, gateHouse } from './testing/gate-house.ts'
import {
  FEE_PAYER,
  HederaStandIn,
  NETWORK,
  OTHER_PAYER,
  PAY_TO,
  PAYER,
} from './testing/hedera-stand-in.ts'
import { settled } from './testing/manual-clock.ts'

const memo = agentMemo(AGENT)

describe('paid', () => {
  test('X6: a valid payment is settled once, after prepare, and answered', async () => {
    const { gate, job, ledger, runs, terms } = gateHouse()
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
    expect(ledger.clock.timers()).toBe(0)
  })

  test('X7: 100 identical requests at once make one settlement and one handler run and get the same answer', async () => {
    const { gate, job, ledger, runs, terms } = gateHouse()
    const header = await ledger.pay(terms)
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, () => gate.pay({ paymentSignature: header }, terms, job())),
    )
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1)
    expect(outcomes[0]?.kind).toBe('paid')
    expect(ledger.settlements).toBe(1)
    expect(runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 0 })
  })

  test('X7: an identical request later, until its validity ended, gets the same answer, unsettled', async () => {
    const { gate, job, ledger, runs, terms } = gateHouse()
    const header = await ledger.pay(terms)
    const first = await gate.pay({ paymentSignature: header }, terms, job())
    for (const seconds of [1, 60, 100]) {
      await ledger.clock.advanceMs(seconds * 1_000)
      expect(await gate.pay({ paymentSignature: header }, terms, job())).toEqual(first)
    }
    expect(ledger.settlements).toBe(1)
    expect(runs.fulfilled).toBe(1)
  })

  test('X4: a v2 payload under X-PAYMENT is accepted as well', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    const outcome = await gate.pay({ xPayment: await ledger.pay(terms) }, terms, job())
    expect(outcome.kind).toBe('paid')
  })

  test('X3: the facilitator gets our own requirement, without price, in both places', async () => {
    const ledger = new HederaStandIn()
    const { gate, job, terms } = gateHouse({ ledger })
    const envelope = decode(await ledger.pay(terms))
    const accepted = { ...envelope.accepted, price: { asset: '0.0.0', amount: '1' }, color: 'red' }
    const header = encode({ ...envelope, accepted })
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    const [requirement] = terms.requirements
    expect(ledger.seen).toEqual([{ payload: requirement, requirement }])
  })
})

describe('challenged', () => {
  test('no payment header: payment_required', async () => {
    const { gate, job, terms } = gateHouse()
    expect(await gate.pay({}, terms, job())).toEqual({
      kind: 'challenged',
      error: 'payment_required',
    })
  })

  test('X7: the same payment with another fingerprint is payment_already_used, unsettled', async () => {
    const { gate, job, ledger, terms } = gateHouse()
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
    const { gate, job, ledger, terms } = gateHouse()
    const header = await ledger.pay(terms, { randomNanos: seven })
    const copy = await ledger.pay(terms, { payer: OTHER_PAYER, randomNanos: seven })
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    expect(await gate.pay({ paymentSignature: copy }, terms, job())).toEqual({
      kind: 'challenged',
      error: 'payment_already_used',
    })
    expect(ledger.settlements).toBe(1)
  })

  test('X8, X9: a refusal that precedes submission is 402 with the settlement, and frees the payment', async () => {
    const { gate, job, ledger, reservations, terms } = gateHouse()
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

  test('X8: a record with another result than SUCCESS is a refusal: transaction_failed', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    const header = await ledger.pay(terms)
    const nonce = await nonceOf(ledger, header)
    ledger.land(
      { nonce, payer: PAYER, payTo: PAY_TO, amount: 300_000_000n, memo: '' },
      'INSUFFICIENT_ACCOUNT_BALANCE',
    )
    ledger.fault = { refusal: 'transaction_failed', transaction: nonce }
    const outcome = await gate.pay({ paymentSignature: header }, terms, job())
    expect(outcome).toMatchObject({
      kind: 'challenged',
      error: 'transaction_failed',
      settlement: { success: false, transaction: nonce },
    })
  })

  test('X8: a balance that is too small because this payment took it is honoured, not refused', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    const header = await ledger.pay(terms, { memo })
    await landed(ledger, header, memo)
    ledger.fault = { refusal: 'insufficient_funds' }
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('a facilitator’s free text never becomes our error', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    const header = await ledger.pay(terms)
    ledger.fault = { refusal: 'Cannot read properties of undefined (reading "x")' }
    const paying = gate.pay({ paymentSignature: header }, terms, job())
    await ledger.clock.advanceMs(300_000)
    await paying
    const outcome = await gate.pay({ paymentSignature: header }, terms, job())
    expect(JSON.stringify(outcome)).not.toContain('Cannot')
  })
})

describe('declined', () => {
  test('a job that declines is not settled, and the payment is free again', async () => {
    const { gate, job, ledger, terms } = gateHouse()
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
    const { gate, job, ledger, terms } = gateHouse()
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

describe('pending', () => {
  test('X9: a settlement whose answer got lost is found on the ledger and honoured', async () => {
    const { gate, job, ledger, runs, terms } = gateHouse()
    ledger.fault = 'answer_lost'
    const header = await ledger.pay(terms)
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    expect(runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 0 })
  })

  test('X9: a success that names another transaction is nonsense: what the ledger does not know buys nothing', async () => {
    const { gate, job, ledger, runs, terms } = gateHouse()
    ledger.fault = 'invented_success'
    const paying = gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    await ledger.clock.advanceMs(13_000)
    expect((await paying).kind).toBe('pending')
    await ledger.clock.advanceMs(300_000)
    expect(gate.isPending(AGENT)).toBe(false)
    expect(runs.fulfilled).toBe(0)
  })

  test('X9: a success that names another transaction, of a payment that landed, is honoured', async () => {
    const { gate, job, ledger, runs, terms } = gateHouse()
    ledger.fault = 'success_of_another'
    const header = await ledger.pay(terms)
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    expect(runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 0 })
  })

  test('X9: while the mirror lags the answer is 502 pending, and the job is completed in the background', async () => {
    const { gate, job, ledger, runs, terms } = gateHouse()
    ledger.fault = 'answer_lost'
    ledger.mirrorLagSeconds = 20
    const header = await ledger.pay(terms)
    const paying = gate.pay({ paymentSignature: header }, terms, job())
    await ledger.clock.advanceMs(13_000)
    expect(await paying).toEqual({ kind: 'pending', retryAfterSeconds: 3 })
    expect(gate.isPending(AGENT)).toBe(true)
    expect(runs.fulfilled).toBe(0)
    await ledger.clock.advanceMs(20_000)
    expect(gate.isPending(AGENT)).toBe(false)
    expect(runs.fulfilled).toBe(1)
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    expect(ledger.settlements).toBe(1)
  })

  test('X9: the same header sent again completes the job at once', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    ledger.fault = 'answer_lost'
    ledger.isMirrorDown = true
    const header = await ledger.pay(terms)
    const first = gate.pay({ paymentSignature: header }, terms, job())
    await ledger.clock.advanceMs(60_000)
    expect((await first).kind).toBe('pending')
    ledger.isMirrorDown = false
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('X8: a payment that never came is refused once the ledger is 30 s past its validity', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    ledger.fault = 'silent'
    const header = await ledger.pay(terms)
    const first = gate.pay({ paymentSignature: header }, terms, job())
    await ledger.clock.advanceMs(15_000)
    expect((await first).kind).toBe('pending')
    await ledger.clock.advanceMs(180_000)
    expect(gate.isPending(AGENT)).toBe(true)
    await ledger.clock.advanceMs(30_000)
    expect(gate.isPending(AGENT)).toBe(false)
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toMatchObject({
      kind: 'challenged',
      error: 'transaction_expired',
      settlement: { success: false },
    })
  })

  test('X9: an expired payment that nobody here has sent keeps its payer waiting, and nobody whom a stranger names', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    const header = await ledger.pay(terms, { memo })
    await ledger.clock.advanceMs(180_000)
    const stranger = gate.pay({ paymentSignature: header }, terms, job())
    await ledger.clock.advanceMs(1_000)
    expect(gate.isPending(AGENT)).toBe(false)
    const own = ledger.accounts.get(PAYER)?.evmAddress ?? ''
    const ownHeader = await ledger.pay(terms, { payer: PAYER, memo: agentMemo(own) })
    await ledger.clock.advanceMs(180_000)
    expect((await stranger).kind).toBe('pending')
    const expired = gate.pay({ paymentSignature: ownHeader }, terms, job({ subject: own }))
    await ledger.clock.advanceMs(1_000)
    expect(gate.isPending(own)).toBe(true)
    await ledger.clock.advanceMs(60_000)
    expect((await expired).kind).toBe('pending')
    expect(gate.isPending(own)).toBe(false)
    expect(ledger.settlements).toBe(0)
  })

  test('X9: another payment of the same payer for the same thing waits, unsettled', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    ledger.fault = 'answer_lost'
    ledger.isMirrorDown = true
    const first = gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    await ledger.clock.advanceMs(13_000)
    await first
    ledger.fault = undefined
    const again = await gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    expect(again.kind).toBe('pending')
    expect(ledger.settlements).toBe(1)
    const other = await ledger.pay(terms, { payer: OTHER_PAYER })
    expect((await gate.pay({ paymentSignature: other }, terms, job())).kind).toBe('paid')
  })

  test('a settled payment is never lost: fulfil is repeated until it succeeds', async () => {
    const { events, gate, job, ledger, runs, terms } = gateHouse()
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
    await ledger.clock.advanceMs(1_000)
    expect(gate.isPending(AGENT)).toBe(true)
    await ledger.clock.advanceMs(10_000)
    expect((await paying).kind).toBe('paid')
    expect(runs.fulfilled).toBe(5)
    expect(ledger.settlements).toBe(1)
    expect(events.filter(({ kind }) => kind === 'retrying')).toHaveLength(4)
  })

  test('a request never waits longer than its limit, while the work goes on', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    const slow = Promise.withResolvers<void>()
    const header = await ledger.pay(terms)
    const paying = gate.pay(
      { paymentSignature: header },
      terms,
      job({
        async fulfil(granted, { payment }) {
          await slow.promise
          return { granted, payer: payment.payer }
        },
      }),
    )
    await ledger.clock.advanceMs(45_000)
    expect((await paying).kind).toBe('pending')
    slow.resolve()
    await settled()
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('close stops the background work and leaves no timer', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    ledger.fault = 'answer_lost'
    ledger.isMirrorDown = true
    const paying = gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    await ledger.clock.advanceMs(5_000)
    await gate.close()
    expect((await paying).kind).toBe('pending')
    expect(ledger.clock.timers()).toBe(0)
    const late = await gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    expect(late).toEqual({ kind: 'unavailable', dependency: 'facilitator' })
  })
})

describe('unavailable', () => {
  test('X9: a facilitator that was not reached settled nothing: the payment is free again', async () => {
    const { gate, job, ledger, reservations, terms } = gateHouse()
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

  test('a payer’s key that cannot be read is ledger, unsettled', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    const header = await ledger.pay(terms)
    ledger.areAccountsDown = true
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toEqual({
      kind: 'unavailable',
      dependency: 'ledger',
    })
    expect(ledger.settlements).toBe(0)
  })

  test('more payments under way than the limit are refused, unsettled', async () => {
    const { gate, job, ledger, terms } = gateHouse({ limits: { flightsMax: 1 } })
    const hold = Promise.withResolvers<{ kind: 'ready'; prepared: string }>()
    const first = gate.pay(
      { paymentSignature: await ledger.pay(terms) },
      terms,
      job({ prepare: () => hold.promise }),
    )
    await settled()
    const other = await ledger.pay(terms, { payer: OTHER_PAYER })
    const refused = await gate.pay({ paymentSignature: other }, terms, job({ subject: 'other' }))
    expect(refused).toEqual({ kind: 'unavailable', dependency: 'facilitator' })
    hold.resolve({ kind: 'ready', prepared: 'resource' })
    expect((await first).kind).toBe('paid')
  })
})

describe('found on the ledger', () => {
  test('X10: found, not settled here: honoured for the agent of its signed memo', async () => {
    const { gate, job, ledger, runs, terms } = gateHouse()
    const header = await ledger.pay(terms, { memo })
    await landed(ledger, header, memo)
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toMatchObject({
      kind: 'paid',
      settlement: { success: true, transaction: await nonceOf(ledger, header) },
    })
    expect(runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 1 })
  })

  test('X10: found, not settled here: not honoured for somebody else’s agent', async () => {
    const { gate, job, ledger, runs, terms } = gateHouse()
    const header = await ledger.pay(terms)
    await landed(ledger, header, '')
    expect(await gate.pay({ paymentSignature: header }, terms, job())).toEqual({
      kind: 'challenged',
      error: 'payment_already_used',
    })
    expect(runs.fulfilled).toBe(0)
  })

  test('X9: the same header completes the job on another replica, also after its validity ended', async () => {
    const first = gateHouse()
    const { job, ledger, terms } = first
    const header = await ledger.pay(terms, { memo })
    const stuck = job({
      async fulfil() {
        throw new Error('killed before forwarding')
      },
    })
    const paying = first.gate.pay({ paymentSignature: header }, terms, stuck)
    await ledger.clock.advanceMs(1_000)
    await first.gate.close()
    await paying
    await ledger.clock.advanceMs(600_000)
    const second = gateHouse({ ledger })
    const outcome = await second.gate.pay({ paymentSignature: header }, terms, second.job())
    expect(outcome.kind).toBe('paid')
    expect(ledger.settlements).toBe(1)
    expect(second.runs).toEqual({ prepared: 1, fulfilled: 1, mayHonourAsked: 1 })
  })

  test('a payment reserved by a process that is gone is looked up, not settled again', async () => {
    const { clock, gate, job, ledger, reservations, terms } = gateHouse()
    const header = await ledger.pay(terms, { memo })
    const verified = await ledger.scheme.verify(decode(header).payload, requirementOf(terms))
    if (verified.kind !== 'valid') throw new Error('not valid')
    await reservations.reserve({
      paymentId: verified.payment.id,
      payment: verified.payment,
      fingerprint: job().fingerprint,
      subject: AGENT,
      state: 'reserved',
      expiresAtSeconds: clock.unixMs() / 1_000 + 300,
    })
    ledger.land(verified.payment)
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
    expect(ledger.settlements).toBe(0)
  })

  test('X9: a reservation left open by an earlier process is resumed at start, without its header', async () => {
    const { gate, job, ledger, reservations, terms } = gateHouse()
    const header = await ledger.pay(terms, { memo })
    const verified = await ledger.scheme.verify(decode(header).payload, requirementOf(terms))
    if (verified.kind !== 'valid') throw new Error('not valid')
    await reservations.reserve({
      paymentId: verified.payment.id,
      payment: verified.payment,
      fingerprint: job().fingerprint,
      subject: AGENT,
      state: 'settled',
      expiresAtSeconds: verified.payment.validUntilSeconds,
    })
    ledger.land(verified.payment)
    const [left] = await reservations.open()
    if (left === undefined) throw new Error('nothing left open')
    expect((await gate.resume(left, job())).kind).toBe('paid')
    expect(ledger.settlements).toBe(0)
    expect(await reservations.open()).toEqual([])
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('somebody else’s transaction under the same id is no payment of ours', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    const header = await ledger.pay(terms, { memo })
    const nonce = await nonceOf(ledger, header)
    ledger.land({ nonce, payer: OTHER_PAYER, payTo: PAY_TO, amount: 1n, memo: '' })
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
  }
  const { events, gate, job, terms } = gateHouse({ ledger, reservations })
  const header = await ledger.pay(terms)
  expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  expect(events.filter(({ kind }) => kind === 'store_failed')).toHaveLength(2)
})

test('after settlement nothing blocks: an observer that throws changes nothing', async () => {
  const ledger = new HederaStandIn()
  const { job, reservations, terms } = gateHouse({ ledger })
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

test('S6: what runs when the gate closes is finished: a settlement under way is still fulfilled', async () => {
  const { gate, job, ledger, runs, terms } = gateHouse()
  const hold = Promise.withResolvers<{ kind: 'ready'; prepared: string }>()
  const paying = gate.pay(
    { paymentSignature: await ledger.pay(terms) },
    terms,
    job({ prepare: () => hold.promise }),
  )
  await settled()
  const closing = gate.close()
  hold.resolve({ kind: 'ready', prepared: 'resource' })
  await closing
  expect((await paying).kind).toBe('paid')
  expect(runs.fulfilled).toBe(1)
  expect(ledger.clock.timers()).toBe(0)
})

test('S6: a request that still waits when the gate has closed is pending, and a second close waits for the first', async () => {
  const { gate, job, ledger, terms } = gateHouse({ limits: { closeWaitMs: 4_000 } })
  const contract = Promise.withResolvers<never>()
  const never = job({ fulfil: () => contract.promise })
  const paying = gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, never)
  await ledger.clock.advanceMs(1_000)
  const closing = [gate.close(), gate.close()]
  await ledger.clock.advanceMs(4_000)
  await Promise.all(closing)
  expect((await paying).kind).toBe('pending')
  expect(ledger.clock.timers()).toBe(0)
})

test('X11: the requirement of a network that no scheme serves is a mistake of ours, not a challenge', async () => {
  const { gate, job, ledger, terms } = gateHouse()
  const [requirement] = terms.requirements
  if (requirement === undefined) throw new Error('no requirement')
  const elsewhere = { ...terms, requirements: [{ ...requirement, network: 'hedera:mainnet' }] }
  const header = encode({
    ...decode(await ledger.pay(terms)),
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

async function failsAlways(): Promise<never> {
  throw new Error('disk full')
}

type Envelope = { payload: Record<string, unknown>; accepted: Record<string, unknown> }

function decode(header: string): Envelope {
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as Envelope
}

function encode(envelope: object): string {
  return Buffer.from(JSON.stringify(envelope)).toString('base64')
}

function requirementOf(terms: ReturnType<typeof gateHouse>['terms']) {
  const [requirement] = terms.requirements
  if (requirement === undefined) throw new Error('no requirement')
  return requirement
}

async function nonceOf(ledger: HederaStandIn, header: string): Promise<string> {
  const { terms } = gateHouse({ ledger })
  const verified = await ledger.scheme.verify(decode(header).payload, requirementOf(terms))
  if (verified.kind === 'refused') throw new Error(verified.reason)
  return verified.payment.nonce
}

async function landed(ledger: HederaStandIn, header: string, text: string): Promise<void> {
  const nonce = await nonceOf(ledger, header)
  ledger.land({ nonce, payer: PAYER, payTo: PAY_TO, amount: 300_000_000n, memo: text })
}
