/** X23: a facilitator that turns every settlement away. What buyers and challenges see, on Hedera and on EVM. */
import { describe, expect, test } from 'vitest'
import { type Facilitator, FacilitatorUnavailable } from '../facilitators/facilitator.ts'
import { createFacilitatorPool } from '../facilitators/facilitator-pool.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import type { Job } from '../testing/gate.fixture.ts'
import {
  FEE_PAYER,
  HederaStandIn,
  NETWORK,
  OTHER_PAYER,
  PAYER,
  standInTerms,
} from '../testing/hedera-stand-in.fixture.ts'
import { createPaymentGate } from './payment-gate.ts'

const AWAY = new FacilitatorUnavailable('answered nonsense', { turnedAway: 'status 401' })

/** A gate on Hedera whose facilitators may turn everything away, each with its own fee payer. */
async function shop(feePayers: readonly string[] = [FEE_PAYER]) {
  const ledger = new HederaStandIn()
  const { clock } = ledger
  const away = new Set(feePayers.slice(0, 1))
  const settledBy: string[] = []
  const makeFacilitator = (feePayer: string): Facilitator => ({
    feePayers: async () => new Map([[NETWORK, [feePayer]]]),
    async settle(...order) {
      settledBy.push(feePayer)
      if (away.has(feePayer)) throw AWAY
      return await ledger.facilitator.settle(...order)
    },
  })
  const pool = createFacilitatorPool({
    clock,
    members: feePayers.map((payer) => ({ facilitator: makeFacilitator(payer), isTrusted: true })),
  })
  await pool.directory.firstAttempt
  const gate = createPaymentGate({
    schemes: [ledger.scheme],
    facilitator: pool,
    reservations: createMemoryReservationStore({ clock }),
    clock,
  })
  const terms = () => {
    const feePayer = pool.directory.feePayer(NETWORK)
    const { requirements, ...rest } = standInTerms()
    return {
      ...rest,
      requirements: requirements.map((requirement) => ({
        ...requirement,
        extra: { ...requirement.extra, feePayer },
      })),
    }
  }
  const buy = async (payer = PAYER, header?: string) => {
    const at = terms()
    const subject = ledger.accounts.get(payer)?.evmAddress ?? ''
    const job: Job = {
      fingerprint: `GET /access ${subject}`,
      subject,
      prepare: async () => ({ kind: 'ready', prepared: 'resource' }),
      mayHonour: async () => true,
      fulfil: async (granted) => ({ granted, payer }),
    }
    const paymentSignature = header ?? (await ledger.pay(at, { payer }))
    return { subject, outcome: gate.pay({ paymentSignature }, at, job) }
  }
  return { asked: settledBy, away, buy, clock, gate, ledger, pool, terms }
}

describe('X23: buyers', () => {
  test.each([
    [5, { kind: 'unavailable', dependency: 'facilitator' }],
    [8, { kind: 'pending', retryAfterSeconds: 3 }],
  ])(
    'with a ledger that lags by %i s a buyer is free within 15 s, and is answered %j, not that the payment was refused',
    async (lagSeconds, answer) => {
      const { asked: settledBy, buy, clock, gate, ledger } = await shop()
      ledger.mirrorLagSeconds = lagSeconds
      const { outcome, subject } = await buy()
      await clock.advanceMsSettled(8_000)
      expect(gate.isPending(subject)).toBe(true)
      await clock.advanceMsSettled(7_000)
      expect(gate.isPending(subject)).toBe(false)
      expect(await outcome).toEqual(answer)
      expect(settledBy).toHaveLength(1)
    },
  )

  test('a payment that landed although it was turned away is honoured', async () => {
    const { buy, clock, ledger, terms } = await shop()
    const header = await ledger.pay(terms())
    const { outcome } = await buy(PAYER, header)
    await clock.advanceMsSettled(1_000)
    const { payload } = JSON.parse(Buffer.from(header, 'base64').toString()) as { payload: object }
    const [requirement] = terms().requirements
    if (requirement === undefined) throw new Error('nothing is sold')
    const verified = await ledger.scheme.verify(payload, requirement)
    if (verified.kind !== 'valid') throw new Error(verified.kind)
    ledger.land(verified.payment)
    await clock.advanceMsSettled(10_000)
    expect((await outcome).kind).toBe('paid')
  })

  test('while the ledger cannot be read, nobody is freed', async () => {
    const { buy, clock, gate, ledger } = await shop()
    const { outcome, subject } = await buy()
    ledger.isMirrorDown = true
    await clock.advanceMsSettled(60_000)
    expect((await outcome).kind).toBe('pending')
    expect(gate.isPending(subject)).toBe(true)
    ledger.isMirrorDown = false
    await clock.advanceMsSettled(2_000)
    expect(gate.isPending(subject)).toBe(false)
  })

  test('a ledger that lags is waited for: what it has not read yet is no proof', async () => {
    const { buy, clock, gate, ledger } = await shop()
    ledger.mirrorLagSeconds = 40
    const { subject } = await buy()
    await clock.advanceMsSettled(40_000)
    expect(gate.isPending(subject)).toBe(true)
    await clock.advanceMsSettled(6_000)
    expect(gate.isPending(subject)).toBe(false)
  })
})

describe('X23: challenges', () => {
  test('they stop with the first settlement turned away, and readiness says how and until when', async () => {
    const { buy, clock, gate, pool, terms } = await shop()
    expect(gate.challengeProblem(terms())).toBeUndefined()
    await buy()
    await clock.advanceMsSettled(0)
    expect(gate.challengeProblem(terms())).toEqual({
      error: 'facilitator_turns_away',
      retryAfterSeconds: 15,
    })
    expect(pool.directory.state().turningAway).toMatch(/status 401.*until 20\d\d-/)
  })

  test('they begin again by themselves, after twice as long while it goes on, at most half a minute', async () => {
    const { buy, clock, gate, terms } = await shop()
    const pauses: number[] = []
    for (let round = 0; round < 6; round += 1) {
      await buy(round % 2 === 0 ? PAYER : OTHER_PAYER)
      await clock.advanceMsSettled(0)
      pauses.push(gate.challengeProblem(terms())?.retryAfterSeconds ?? 0)
      await clock.advanceMsSettled(120_000)
      expect(gate.challengeProblem(terms())).toBeUndefined()
    }
    expect(pauses).toEqual([15, 30, 30, 30, 30, 30])
  })

  test('a payment that settles ends it at once: buyers who were challenged before may still pay', async () => {
    const { away, buy, clock, gate, ledger, pool, terms } = await shop()
    const challenged = await ledger.pay(terms(), { payer: OTHER_PAYER })
    await buy()
    await clock.advanceMsSettled(0)
    away.clear()
    const { outcome } = await buy(OTHER_PAYER, challenged)
    expect((await outcome).kind).toBe('paid')
    expect(gate.challengeProblem(terms())).toBeUndefined()
    expect(pool.directory.state().turningAway).toBeUndefined()
  })

  test('X19: a challenge names the fee payer of the next facilitator, which settles', async () => {
    const { asked: settledBy, buy, clock, gate, pool, terms } = await shop([FEE_PAYER, '0.0.5002'])
    await buy()
    await clock.advanceMsSettled(0)
    expect(gate.challengeProblem(terms())).toBeUndefined()
    expect(pool.directory.state().turningAway).toBeUndefined()
    const next = await buy(OTHER_PAYER)
    await clock.advanceMsSettled(0)
    expect(settledBy).toEqual([FEE_PAYER, '0.0.5002'])
    void next
  })
})
