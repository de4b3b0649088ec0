/**
 * X19 on Hedera: two facilitators with a fee payer each. The challenge names that of a healthy one, and a payment goes to
 * the one of its own fee payer or to nobody.
 */
import { describe, expect, test } from 'vitest'
import { type Facilitator, FacilitatorUnavailable } from '../facilitators/facilitator.ts'
import { createFacilitatorPool } from '../facilitators/facilitator-pool.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import { HederaStandIn, NETWORK, standInTerms } from '../testing/hedera-stand-in.fixture.ts'
import type { PaymentTerms } from './challenge.ts'
import { createPaymentGate } from './payment-gate.ts'

/** Two facilitators with their own fee payers over one ledger; the first may be down. */
async function pair() {
  const ledger = new HederaStandIn()
  const { clock } = ledger
  const settledBy: string[] = []
  const state = { isFirstDown: false }
  const makeFacilitator = (feePayer: string): Facilitator => {
    const isDown = () => feePayer === '0.0.5001' && state.isFirstDown
    const unless = async <Value>(value: () => Promise<Value>): Promise<Value> => {
      if (isDown()) throw new FacilitatorUnavailable('killed')
      return await value()
    }
    return {
      feePayers: () => unless(async () => new Map([[NETWORK, [feePayer]]])),
      async settle(...order) {
        settledBy.push(feePayer)
        return await unless(() => ledger.facilitator.settle(...order))
      },
    }
  }
  const members = ['0.0.5001', '0.0.5002'].map((feePayer) => ({
    facilitator: makeFacilitator(feePayer),
    isTrusted: true,
  }))
  const pool = createFacilitatorPool({ members, clock })
  await pool.directory.firstAttempt
  const reservations = createMemoryReservationStore({ clock })
  const gate = createPaymentGate({
    schemes: [ledger.scheme],
    facilitator: pool,
    reservations,
    clock,
  })
  /** Terms as a challenge built now has them. */
  const terms = (): PaymentTerms => {
    const { requirements, ...rest } = standInTerms()
    const feePayer = pool.directory.feePayer(NETWORK)
    return {
      ...rest,
      requirements: requirements.map((requirement) => ({
        ...requirement,
        extra: { ...requirement.extra, feePayer },
      })),
    }
  }
  const buy = async (at: PaymentTerms) =>
    await gate.pay({ paymentSignature: await ledger.pay(at) }, at, {
      fingerprint: 'GET /access',
      subject: 'agent',
      prepare: async () => ({ kind: 'ready', prepared: undefined }),
      mayHonour: async () => true,
      fulfil: async () => 'served',
    })
  const close = async () => {
    await gate.close()
    pool.directory.close()
  }
  return { asked: settledBy, buy, close, clock, ledger, pool, state, terms }
}

describe('X19: Hedera', () => {
  test('the fee payer of a challenge is chosen by health', async () => {
    const { buy, clock, close, pool, state, terms } = await pair()
    expect(pool.directory.feePayer(NETWORK)).toBe('0.0.5001')
    state.isFirstDown = true
    const before = terms()
    const paying = buy(before)
    await clock.advanceMsSettled(20_000)
    expect((await paying).kind).toBe('pending')
    expect(pool.directory.feePayer(NETWORK)).toBe('0.0.5002')
    await close()
  })

  test('a payment goes only to the facilitator of its own fee payer, also a doubtful one', async () => {
    const { asked: settledBy, buy, clock, close, ledger, state, terms } = await pair()
    state.isFirstDown = true
    const paying = buy(terms())
    await clock.advanceMsSettled(60_000)
    expect((await paying).kind).toBe('pending')
    expect([...new Set(settledBy)]).toEqual(['0.0.5001'])
    expect(ledger.records).toEqual([])
    await close()
  })

  test('a payment under an earlier challenge still reaches its own facilitator', async () => {
    const { asked: settledBy, buy, clock, close, state, terms } = await pair()
    const earlier = terms()
    state.isFirstDown = true
    await clock.advanceMsSettled(301_000)
    expect(terms().requirements[0]?.extra['feePayer']).toBe('0.0.5002')
    state.isFirstDown = false
    expect((await buy(earlier)).kind).toBe('paid')
    expect(settledBy).toEqual(['0.0.5001'])
    await close()
  })

  test('a fee payer that nobody pays from settles nothing', async () => {
    const { close, pool, terms } = await pair()
    const [requirement] = terms().requirements
    if (requirement === undefined) throw new Error('no requirement')
    const foreign = { ...requirement, extra: { ...requirement.extra, feePayer: '0.0.6666' } }
    expect(pool.routesFor(foreign)).toEqual([])
    await close()
  })
})
