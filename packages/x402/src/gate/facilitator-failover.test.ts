/**
 * X19 on EVM: two facilitators, of which one is killed, hangs or lies in the middle of a settlement. However often, no buyer
 * is charged twice for one thing, nobody pays for nothing, and nothing is given away. On Hedera, where a payment has one
 * facilitator: fee-payer-failover.test.ts.
 */
import type { ManualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { type Facilitator, FacilitatorUnavailable } from '../facilitators/facilitator.ts'
import { createFacilitatorPool } from '../facilitators/facilitator-pool.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import { payCent } from '../testing/evm-stand-in.fixture.ts'
import {
  EvmNetwork,
  FACILITATOR_FAULTS,
  type FacilitatorFault,
  LATER_MS,
} from '../testing/faulty-facilitator.fixture.ts'
import { encodeHeader } from '../testing/payment-header.fixture.ts'
import { header, terms } from './evm-gate.fixture.ts'
import { createPaymentGate, type PaymentGate } from './payment-gate.ts'

const RUNS = process.env['TALLYSTICK_LONG'] === '1' ? 1_000 : 100

/** A repeatable source of choices. */
function chooser(seed: number) {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

type Bought = { readonly signed: number; readonly answers: number; readonly gaveUp: boolean }

/** Lets time pass, second by second, until the work is done. */
async function untilOver<Value>(clock: ManualClock, work: Promise<Value>): Promise<Value> {
  const state = { isOver: false }
  const done = work.finally(() => {
    state.isOver = true
  })
  for (let second = 0; second < 60 && !state.isOver; second += 1)
    await clock.advanceMsSettled(1_000)
  return await done
}

/**
 * A buyer as official clients and ours are: at a 402 it signs a new payment, up to three; at a 502 it sends the same header
 * again after `Retry-After`.
 */
async function buyAs(
  network: EvmNetwork,
  gate: PaymentGate,
  job: Parameters<PaymentGate['pay']>[2],
): Promise<Bought> {
  const nowSeconds = () => Math.floor(network.clock.unixMs() / 1_000)
  for (let signed = 1; signed <= 3; signed += 1) {
    const [requirement] = terms.requirements
    const payload = await payCent(requirement, nowSeconds())
    const paymentSignature = encodeHeader({ x402Version: 2, payload, accepted: requirement })
    for (let sent = 0; sent < 60; sent += 1) {
      const outcome = await untilOver(network.clock, gate.pay({ paymentSignature }, terms, job))
      if (outcome.kind === 'paid') return { signed, answers: 1, gaveUp: false }
      if (outcome.kind === 'challenged') break
      await network.clock.advanceMsSettled(3_000)
    }
  }
  return { signed: 3, answers: 0, gaveUp: true }
}

/** One purchase at a gate over an honest and a faulty facilitator. */
async function purchase(fault: FacilitatorFault, isFaultyFirst: boolean) {
  const network = new EvmNetwork()
  const { clock } = network
  const both = [network.faulty(fault), network.honest()]
  const facilitators = isFaultyFirst ? both : both.toReversed()
  const members = facilitators.map((facilitator) => ({ facilitator }))
  const facilitator = createFacilitatorPool({ members, clock })
  const reservations = createMemoryReservationStore({ clock })
  const schemes = [network.scheme]
  const gate = createPaymentGate({ schemes, facilitator, reservations, clock })
  let fulfilled = 0
  const bought = await buyAs(network, gate, {
    fingerprint: 'POST /api/grade a',
    subject: 'POST /api/grade a',
    keepsAnswer: true,
    prepare: async () => ({ kind: 'ready', prepared: undefined }),
    mayHonour: async () => true,
    async fulfil() {
      fulfilled += 1
      return { grade: 'A' }
    },
  })
  // Whatever was sent and not yet mined is mined now.
  await clock.advanceMsSettled(2 * LATER_MS)
  await gate.close()
  facilitator.directory.close()
  return { ...bought, fulfilled, debits: network.debits }
}

describe('X19: EVM', () => {
  test(`${RUNS} settlements with one of two facilitators killed, hanging or lying: 0 double charges, 0 lost`, async () => {
    const choose = chooser(20_261_122)
    const tally = { purchases: 0, doubleCharges: 0, paidForNothing: 0, givenAway: 0, unserved: 0 }
    for (let run = 0; run < RUNS; run += 1) {
      const fault = FACILITATOR_FAULTS[run % FACILITATOR_FAULTS.length] ?? 'hangs'
      const { answers, debits, fulfilled, gaveUp } = await purchase(fault, choose(4) > 0)
      tally.purchases += 1
      if (debits.length > 1) tally.doubleCharges += 1
      if (debits.length === 1 && (answers !== 1 || fulfilled !== 1)) tally.paidForNothing += 1
      if (fulfilled > debits.length) tally.givenAway += 1
      if (gaveUp) tally.unserved += 1
    }
    expect(tally).toEqual({
      purchases: RUNS,
      doubleCharges: 0,
      paidForNothing: 0,
      givenAway: 0,
      unserved: 0,
    })
  })

  test.for(FACILITATOR_FAULTS)(
    'the first facilitator %s: one debit, one answer, one signature',
    async (fault) => {
      const { answers, debits, fulfilled, signed } = await purchase(fault, true)
      expect({ answers, debits: debits.length, fulfilled, signed }).toEqual({
        answers: 1,
        debits: 1,
        fulfilled: 1,
        signed: 1,
      })
    },
  )

  test('a facilitator that failed is asked last for 30 s', async () => {
    const network = new EvmNetwork()
    const { clock } = network
    const members = [network.faulty('answers nonsense'), network.honest()].map((facilitator) => ({
      facilitator,
    }))
    const pool = createFacilitatorPool({ members, clock })
    await pool.directory.firstAttempt
    const [requirement] = terms.requirements
    if (requirement === undefined) throw new Error('no requirement')
    const first = () => pool.routesFor(requirement)[0]
    const before = first()
    await expect(before?.facilitator.settle({} as never, requirement)).rejects.toThrow('nonsense')
    expect(first()).not.toBe(before)
    await clock.advanceMsSettled(30_000)
    expect(first()).toBe(before)
    pool.directory.close()
  })

  test('while the ledger cannot be read a doubtful payment goes to nobody else', async () => {
    const network = new EvmNetwork()
    const { chain, clock } = network
    let calls = 0
    const first: Facilitator = {
      feePayers: async () => new Map(),
      async settle() {
        chain.isDown = true
        throw new FacilitatorUnavailable('reset')
      },
    }
    const second: Facilitator = {
      ...network.honest(),
      async settle() {
        calls += 1
        throw new FacilitatorUnavailable('never asked')
      },
    }
    const members = [{ facilitator: first }, { facilitator: second }]
    const facilitator = createFacilitatorPool({ members, clock })
    const reservations = createMemoryReservationStore({ clock })
    const gate = createPaymentGate({ schemes: [network.scheme], facilitator, reservations, clock })
    const paying = gate.pay(await header(), terms, {
      fingerprint: 'a',
      subject: 'a',
      prepare: async () => ({ kind: 'ready', prepared: undefined }),
      mayHonour: async () => true,
      fulfil: async () => 'served',
    })
    await clock.advanceMsSettled(60_000)
    expect([(await paying).kind, calls]).toEqual(['pending', 0])
    await gate.close()
    facilitator.directory.close()
  })
})
