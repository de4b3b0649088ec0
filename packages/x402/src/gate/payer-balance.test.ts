// Before the gate works for a payment it asks an EVM chain whether the payer has the money at all.
import { describe, expect, test } from 'vitest'
import { centRequirement, evmPayer } from '../testing/evm-stand-in.fixture.ts'
import { evmGateFixture, header, keepingAnswer, terms } from './evm-gate.fixture.ts'

describe('a payer who does not hold the amount of his payment', () => {
  const short = { kind: 'challenged', error: 'insufficient_funds' }

  test('is refused before any work: nothing prepared, nothing sent, nothing left reserved', async () => {
    const { chain, counts, events, gate, job, reservations } = evmGateFixture({
      settle: 'never_asked',
    })
    chain.balance = 9_999n
    expect(await gate.pay(await header(), terms, job())).toEqual({
      ...short,
      settlement: {
        success: false,
        transaction: '',
        network: 'eip155:196',
        payer: evmPayer.address.toLowerCase(),
        errorReason: 'insufficient_funds',
      },
    })
    expect(counts).toEqual({ prepared: 0, settled: 0, fulfilled: 0 })
    expect(events).toMatchObject([{ kind: 'refused', reason: 'insufficient_funds' }])
    expect(await reservations.open()).toEqual([])
  })

  test('can send the same payment again once he has it', async () => {
    const { chain, gate, job } = evmGateFixture({ settle: 'front_run' })
    const payment = await header()
    chain.balance = 0n
    expect(await gate.pay(payment, terms, job())).toMatchObject(short)
    chain.balance = 10_000n
    expect(await gate.pay(payment, terms, job())).toMatchObject({ kind: 'paid', answer: 'A' })
  })

  test('still gets what he paid for, by the same payment or a new one', async () => {
    const { chain, counts, gate, job } = evmGateFixture({ settle: 'front_run' })
    const payment = await header()
    const paid = { kind: 'paid', answer: 'A' }
    expect(await gate.pay(payment, terms, keepingAnswer(job()))).toMatchObject(paid)
    chain.balance = 0n
    expect(await gate.pay(payment, terms, keepingAnswer(job()))).toMatchObject(paid)
    const next = await gate.pay(await header(), terms, keepingAnswer(job()))
    expect(next).toMatchObject(paid)
    expect(counts).toEqual({ prepared: 1, settled: 1, fulfilled: 1 })
    if (next.kind === 'paid') await next.delivered?.()
    expect(await gate.pay(await header(), terms, keepingAnswer(job()))).toMatchObject(short)
  })

  test('waits while his earlier payment is unresolved, and is not told to pay again', async () => {
    const { chain, gate, job, openGate, reservations, scheme } = evmGateFixture({
      settle: 'never_asked',
    })
    const verified = await scheme.verify((await header()).payload, centRequirement())
    if (verified.kind !== 'valid') throw new Error('not valid')
    const { payment } = verified
    await reservations.reserve({
      paymentId: payment.id,
      payment,
      fingerprint: job().fingerprint,
      subject: 'payer',
      state: 'settled',
      expiresAtSeconds: payment.validUntilSeconds + 60,
      keepsAnswer: true,
    })
    chain.balance = 0n
    for (const each of [gate, openGate()])
      expect((await each.pay(await header(), terms, keepingAnswer(job()))).kind).toBe('pending')
  })

  test('an unreadable balance is left to the facilitator to judge', async () => {
    const { chain, gate, job } = evmGateFixture({ settle: 'front_run' })
    chain.balance = undefined
    expect(await gate.pay(await header(), terms, job())).toMatchObject({ kind: 'paid' })
  })
})
