/** How long requests wait for a payment in flight, how many there may be, and what happens to them at the end. */
import { describe, expect, test } from 'vitest'
import { gateFixture } from '../testing/gate.fixture.ts'
import { OTHER_PAYER } from '../testing/hedera-stand-in.fixture.ts'

describe('waiting', () => {
  test('a request never waits longer than its limit, while the work goes on', async () => {
    const { gate, job, ledger, terms } = gateFixture()
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
    await ledger.clock.advanceMsSettled(45_000)
    expect((await paying).kind).toBe('pending')
    slow.resolve()
    await ledger.clock.advanceMsSettled(0)
    expect((await gate.pay({ paymentSignature: header }, terms, job())).kind).toBe('paid')
  })

  test('not even if the outcome comes into doubt shortly before that limit', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    const slow = Promise.withResolvers<never>()
    const fulfil = (): Promise<never> => slow.promise
    const state = { isOver: false }
    const paying = gate
      .pay({ paymentSignature: await ledger.pay(terms) }, terms, job({ fulfil }))
      .finally(() => {
        state.isOver = true
      })
    await ledger.clock.advanceMsSettled(44_000)
    slow.reject(new Error('the ledger is busy'))
    await ledger.clock.advanceMsSettled(999)
    expect(state.isOver).toBe(false)
    await ledger.clock.advanceMsSettled(1)
    expect(state.isOver).toBe(true)
    expect((await paying).kind).toBe('pending')
    await gate.close()
    expect(ledger.clock.pendingCount()).toBe(0)
  })

  test('payments in flight beyond the limit are refused, unsettled', async () => {
    const { gate, job, ledger, terms } = gateFixture({ limits: { inFlightMax: 1 } })
    const hold = Promise.withResolvers<{ kind: 'ready'; prepared: string }>()
    const first = gate.pay(
      { paymentSignature: await ledger.pay(terms) },
      terms,
      job({ prepare: () => hold.promise }),
    )
    await ledger.clock.advanceMsSettled(0)
    const other = await ledger.pay(terms, { payer: OTHER_PAYER })
    const refused = await gate.pay({ paymentSignature: other }, terms, job({ subject: 'other' }))
    expect(refused).toEqual({ kind: 'unavailable', dependency: 'facilitator' })
    hold.resolve({ kind: 'ready', prepared: 'resource' })
    expect((await first).kind).toBe('paid')
  })
})

describe('closing', () => {
  test('S6: close stops background work and leaves no timer', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    ledger.fault = 'answer_lost'
    ledger.isMirrorDown = true
    const paying = gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    await ledger.clock.advanceMsSettled(5_000)
    await gate.close()
    expect((await paying).kind).toBe('pending')
    expect(ledger.clock.pendingCount()).toBe(0)
    const late = await gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    expect(late).toEqual({ kind: 'unavailable', dependency: 'facilitator' })
  })

  test('S6: a step running when the gate closes is finished: a settlement under way is still fulfilled', async () => {
    const { gate, job, ledger, runs, terms } = gateFixture()
    const hold = Promise.withResolvers<{ kind: 'ready'; prepared: string }>()
    const paying = gate.pay(
      { paymentSignature: await ledger.pay(terms) },
      terms,
      job({ prepare: () => hold.promise }),
    )
    await ledger.clock.advanceMsSettled(0)
    const closing = gate.close()
    hold.resolve({ kind: 'ready', prepared: 'resource' })
    await closing
    expect((await paying).kind).toBe('paid')
    expect(runs.fulfilled).toBe(1)
    expect(ledger.clock.pendingCount()).toBe(0)
  })

  test('S6: a request still waiting when the gate has closed is pending, and a second close waits for the first', async () => {
    const { gate, job, ledger, terms } = gateFixture({ limits: { closeWaitMs: 4_000 } })
    const contract = Promise.withResolvers<never>()
    const never = job({ fulfil: () => contract.promise })
    const paying = gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, never)
    await ledger.clock.advanceMsSettled(1_000)
    const closing = [gate.close(), gate.close()]
    await ledger.clock.advanceMsSettled(4_000)
    await Promise.all(closing)
    expect((await paying).kind).toBe('pending')
    expect(ledger.clock.pendingCount()).toBe(0)
  })
})
