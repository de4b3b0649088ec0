/**
 * What the gate asks an EVM chain before it works for a payment. X10: it matters whether the nonce was unused when this
 * store reserved the payment. payer-balance.test.ts: whether the payer has the money at all.
 */
import { describe, expect, test } from 'vitest'
import { GUESSES_MAX } from '../reservations/same-purchase.ts'
import { X_LAYER_USDT0 } from '../schemes/evm/evm-asset.ts'
import { createExactEvmScheme } from '../schemes/evm/exact-evm-scheme.ts'
import { centRequirement, EvmStandIn, settlementEvents } from '../testing/evm-stand-in.fixture.ts'
import { shareReservations } from '../testing/shared-reservations.fixture.ts'
import { evmGateFixture, header, keepingAnswer, terms } from './evm-gate.fixture.ts'
import { createPaymentGate } from './payment-gate.ts'

describe('X10: a payment found on an EVM chain', () => {
  test('paid but denied: submitted by somebody else while we settled, it is honoured, once', async () => {
    const { counts, gate, job } = evmGateFixture({ settle: 'front_run' })
    const { paymentSignature } = await header()
    const paid = { kind: 'paid', answer: 'A' }
    expect(await gate.pay({ paymentSignature }, terms, job())).toMatchObject(paid)
    expect(await gate.pay({ paymentSignature }, terms, job())).toMatchObject(paid)
    expect(await gate.pay({ paymentSignature }, terms, job('something else'))).toEqual({
      kind: 'challenged',
      error: 'payment_already_used',
    })
    expect(counts).toEqual({ prepared: 1, settled: 1, fulfilled: 1 })
  })

  test('the facilitator’s answer was lost: the payment is found and honoured', async () => {
    const { gate, job } = evmGateFixture({ settle: 'lost' })
    const { paymentSignature } = await header()
    const outcome = await gate.pay({ paymentSignature }, terms, job())
    expect(outcome).toMatchObject({ kind: 'paid', answer: 'A', settlement: { success: true } })
  })

  test('a success that names no transaction is nonsense: a payment the chain does not know buys nothing', async () => {
    const { clock, counts, gate, job } = evmGateFixture({ settle: 'no_hash' })
    const paying = gate.pay(await header(), terms, job())
    await clock.advanceMsSettled(15_000)
    expect((await paying).kind).toBe('pending')
    expect(counts).toEqual({ prepared: 1, settled: 1, fulfilled: 0 })
    await gate.close()
  })

  test('used at first sight, e.g. read from the chain by a stranger: payment_already_used, unsettled', async () => {
    const { chain, counts, gate, job, reservations, scheme } = evmGateFixture({
      settle: 'never_asked',
    })
    const { payload, paymentSignature } = await header()
    const verified = await scheme.verify(payload, centRequirement())
    if (verified.kind !== 'valid') throw new Error('not valid')
    chain.mine(settlementEvents(verified.payment))
    const outcome = await gate.pay({ paymentSignature }, terms, job())
    expect(outcome).toEqual({ kind: 'challenged', error: 'payment_already_used' })
    expect(counts).toEqual({ prepared: 0, settled: 0, fulfilled: 0 })
    expect(await reservations.get(verified.payment.id)).toBeUndefined()
  })

  test('nothing is reserved before the nonce was read: a process killed in between leaves nothing that the next one, or a replica, would honour', async () => {
    const { chain, clock, counts, job, openGate, reservations } = evmGateFixture({
      settle: 'never_asked',
    })
    const { payload, paymentSignature } = await header()
    const reading = Promise.withResolvers<void>()
    const ledger: EvmStandIn['ledger'] = {
      ...chain.ledger,
      isAuthorizationUsed: () => {
        reading.resolve()
        return new Promise(() => {})
      },
    }
    const scheme = createExactEvmScheme({ assets: [X_LAYER_USDT0], ledger, clock })
    const verified = await scheme.verify(payload, centRequirement())
    if (verified.kind !== 'valid') throw new Error('not valid')
    // A stranger copies a payment that the chain has, and the process dies while it looks.
    chain.mine(settlementEvents(verified.payment))
    const facilitator = {
      settle: () => Promise.reject(new Error('never asked')),
      feePayers: async () => new Map(),
    }
    const dying = createPaymentGate({ schemes: [scheme], facilitator, reservations, clock })
    void dying.pay({ paymentSignature }, terms, job())
    await reading.promise
    expect(await reservations.open()).toEqual([])
    const next = openGate()
    await next.resumeOpen(() => job())
    const outcome = await next.pay({ paymentSignature }, terms, job())
    expect(outcome).toEqual({ kind: 'challenged', error: 'payment_already_used' })
    expect(counts).toEqual({ prepared: 0, settled: 0, fulfilled: 0 })
  })

  test('reserved by an earlier process while unused, the same payment is honoured after a restart', async () => {
    const { chain, counts, job, openGate, reservations, scheme } = evmGateFixture({
      settle: 'never_asked',
    })
    const { payload, paymentSignature } = await header()
    const verified = await scheme.verify(payload, centRequirement())
    if (verified.kind !== 'valid') throw new Error('not valid')
    const { payment } = verified
    await reservations.reserve({
      paymentId: payment.id,
      payment,
      fingerprint: job().fingerprint,
      subject: 'payer',
      state: 'reserved',
      expiresAtSeconds: payment.validUntilSeconds + 60,
    })
    chain.mine(settlementEvents(payment))
    const gate = openGate()
    const other = await gate.pay({ paymentSignature }, terms, job('something else'))
    expect(other).toMatchObject({ kind: 'challenged', error: 'payment_already_used' })
    const outcome = await gate.pay({ paymentSignature }, terms, job())
    expect(outcome).toMatchObject({ kind: 'paid', answer: 'A' })
    expect(counts).toEqual({ prepared: 1, settled: 0, fulfilled: 1 })
  })

  test('a payment copied from the chain gets no answer kept for its payer, and uses none up', async () => {
    const { chain, counts, gate, job, scheme } = evmGateFixture({ settle: 'front_run' })
    const copied = await header()
    const verified = await scheme.verify(copied.payload, centRequirement())
    if (verified.kind !== 'valid') throw new Error('not valid')
    chain.mine(settlementEvents(verified.payment))
    const first = await gate.pay(await header(), terms, keepingAnswer(job()))
    expect(first.kind).toBe('paid')
    expect(await gate.pay(copied, terms, keepingAnswer(job()))).toEqual({
      kind: 'challenged',
      error: 'payment_already_used',
    })
    expect(await gate.pay(await header(), terms, keepingAnswer(job()))).toMatchObject({
      kind: 'paid',
      answer: 'A',
    })
    expect(counts).toEqual({ prepared: 1, settled: 1, fulfilled: 1 })
  })

  test('an expired payment that this store does not hold is refused at once, never waited for', async () => {
    const { clock, counts, gate, job, reservations } = evmGateFixture({ settle: 'never_asked' })
    const { paymentSignature } = await header()
    await clock.advanceMsSettled(600_000)
    const outcome = await gate.pay({ paymentSignature }, terms, job())
    expect(outcome).toEqual({ kind: 'challenged', error: 'transaction_expired' })
    expect(await reservations.open()).toEqual([])
    expect(counts.settled).toBe(0)
  })

  test('a payment found there is fulfilled with the time at which the ledger took it', async () => {
    const { chain, gate, job, landings } = evmGateFixture({ settle: 'lost' })
    expect((await gate.pay(await header(), terms, job())).kind).toBe('paid')
    expect(landings).toEqual([(await chain.ledger.block()).timestampSeconds])
  })

  test('a payment read from the chain cannot be tried on one request after another until its answer comes', async () => {
    const { gate, job } = evmGateFixture({ settle: 'front_run' })
    const bought = await header()
    expect((await gate.pay(bought, terms, keepingAnswer(job('what was bought')))).kind).toBe('paid')
    const used = { kind: 'challenged', error: 'payment_already_used' }
    for (let guess = 0; guess < GUESSES_MAX; guess += 1) {
      expect((await gate.pay(bought, terms, keepingAnswer(job('what was bought')))).kind).toBe(
        'paid',
      )
      expect(await gate.pay(bought, terms, keepingAnswer(job(`guess ${guess}`)))).toEqual(used)
    }
    expect(await gate.pay(bought, terms, keepingAnswer(job('what was bought')))).toEqual(used)
    // Its payer, who can sign, loses nothing: the answer was never delivered, so his next payment gets it.
    const next = await gate.pay(await header(), terms, keepingAnswer(job('what was bought')))
    expect(next).toMatchObject({ kind: 'paid', answer: 'A' })
  })

  test('X7: a wrong body under a payment copied from the chain locks out nobody but its sender', async () => {
    const { gate, job } = evmGateFixture({ settle: 'front_run' })
    const bought = await header()
    const from = (sender: string, what = 'what was bought') =>
      gate.pay(bought, terms, { ...keepingAnswer(job(what)), sender })
    const paid = { kind: 'paid', answer: 'A' }
    const used = { kind: 'challenged', error: 'payment_already_used' }
    expect(await from('192.0.2.1')).toMatchObject(paid)
    for (let guess = 0; guess < GUESSES_MAX; guess += 1)
      expect(await from('2001:db8::1', `guess ${guess}`)).toEqual(used)
    expect(await from('2001:db8::1')).toEqual(used)
    // A customer has 64 bits of addresses.
    expect(await from('2001:db8:0:0:ffff::2')).toEqual(used)
    expect(await from('2001:db8:0:1::1')).toMatchObject(paid)
    expect(await from('192.0.2.1')).toMatchObject(paid)
  })

  test('while the chain cannot be read, nothing is reserved or settled', async () => {
    const { chain, counts, gate, job, reservations } = evmGateFixture({ settle: 'never_asked' })
    chain.isDown = true
    const { paymentSignature } = await header()
    const outcome = await gate.pay({ paymentSignature }, terms, job())
    expect(outcome).toEqual({ kind: 'unavailable', dependency: 'ledger' })
    expect(await reservations.open()).toEqual([])
    expect(counts.settled).toBe(0)
  })
})

describe('X7, X10, G12: a payment that another process reserves while this one reads its nonce from the chain', () => {
  test.for(['answered', 'worked for'] as const)(
    'and that is %s there by then gets the same answer',
    async (there) => {
      const { chain, clock, counts, job, openGate } = evmGateFixture({ settle: 'front_run' })
      const shared = shareReservations(clock)
      const reading = Promise.withResolvers<void>()
      const settled = Promise.withResolvers<void>()
      const done = Promise.withResolvers<void>()
      const slow: EvmStandIn['ledger'] = {
        ...chain.ledger,
        async isAuthorizationUsed(payment) {
          reading.resolve()
          await settled.promise
          return await chain.ledger.isAuthorizationUsed(payment)
        },
      }
      const first = openGate({ reservations: shared.openStore('first') })
      const second = openGate({
        reservations: shared.openStore('second'),
        schemes: [createExactEvmScheme({ assets: [X_LAYER_USDT0], ledger: slow, clock })],
      })
      const bought = await header()
      const late = second.pay(bought, terms, keepingAnswer(job()))
      await reading.promise
      const own = first.pay(bought, terms, {
        ...keepingAnswer(job()),
        async fulfil() {
          await done.promise
          return 'of the first'
        },
      })
      if (there === 'answered') done.resolve()
      await clock.advanceMsSettled(1_000)
      settled.resolve()
      await clock.advanceMsSettled(1_000)
      done.resolve()
      await clock.advanceMsSettled(1_000)
      const paid = { kind: 'paid', answer: 'of the first', settlement: { success: true } }
      expect(await Promise.all([own, late])).toMatchObject([paid, paid])
      expect(counts).toEqual({ prepared: 1, settled: 1, fulfilled: 0 })
    },
  )
})
