/**
 * X19 on EVM: two facilitators, of which one is killed, hangs or lies in the middle of a settlement. However often, no buyer
 * is charged twice for one thing, nobody pays for nothing, and nothing is given away. On Hedera, where a payment has one
 * facilitator: fee-payer-failover.test.ts.
 */
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { type Facilitator, FacilitatorUnavailable } from '../facilitators/facilitator.ts'
import { createFacilitatorPool } from '../facilitators/facilitator-pool.ts'
import type { PaymentPayload, PaymentRequirement, Settlement } from '../payment.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import { X_LAYER_USDT0 } from '../schemes/evm/evm-asset.ts'
import { createExactEvmScheme } from '../schemes/evm/exact-evm-scheme.ts'
import { authorizationKeyOf } from '../schemes/evm/find-evm-payment.ts'
import { verifyEvmPayment } from '../schemes/evm/verify-evm-payment.ts'
import {
  centRequirement,
  EVM_NOW_SECONDS,
  EvmStandIn,
  payCent,
  settlementEvents,
} from '../testing/evm-stand-in.fixture.ts'
import { encodeHeader } from '../testing/payment-header.fixture.ts'
import type { PaymentTerms } from './challenge.ts'
import { createPaymentGate, type PaymentGate } from './payment-gate.ts'

const RUNS = process.env['TALLYSTICK_LONG'] === '1' ? 1_000 : 100

/** What the faulty facilitator does with each payment. */
const FAULTS = [
  'refuses the connection',
  'is killed before it submits',
  'is killed after it submitted',
  'is killed, and its transaction is mined later',
  'hangs',
  'hangs, having submitted',
  'says success without submitting',
  'names another transaction',
  'says that it refused, having submitted',
  'says that it refused, and submits later',
  'says pending, having submitted',
  'answers nonsense',
] as const
type Fault = (typeof FAULTS)[number]

/** A made-up transaction hash. */
const NO_TRANSACTION = `0x${'ee'.repeat(32)}`
const LATER_MS = 4_000

class EvmNetwork {
  readonly clock: ManualClock = manualClock(EVM_NOW_SECONDS * 1_000)
  readonly chain = new EvmStandIn()
  /** Payments that moved money, by id. */
  readonly debits: string[] = []

  constructor() {
    Object.defineProperty(this.chain, 'nowSeconds', {
      get: () => Math.floor(this.clock.unixMs() / 1_000),
    })
  }

  get scheme() {
    const { chain, clock } = this
    return createExactEvmScheme({ assets: [X_LAYER_USDT0], ledger: chain.ledger, clock })
  }

  /** Submits, as the token lets it: a nonce is good once. Undefined if it reverts. */
  async submit(payload: PaymentPayload, requirement: PaymentRequirement) {
    const { chain } = this
    const verified = await verifyEvmPayment(payload.payload, requirement, {
      assets: [X_LAYER_USDT0],
      ledger: chain.ledger,
      nowSeconds: chain.nowSeconds,
    })
    if (verified.kind !== 'valid') return undefined
    const { payment } = verified
    if (chain.used.has(JSON.stringify(authorizationKeyOf(payment)))) return undefined
    this.debits.push(payment.id)
    return chain.mine(settlementEvents(payment))
  }

  /** A facilitator that does what it says. */
  honest(): Facilitator {
    return {
      settle: async (payload, requirement) => {
        const { network } = requirement
        const transaction = await this.submit(payload, requirement)
        return transaction === undefined
          ? { success: false, transaction: '', network, errorReason: 'nonce_already_used' }
          : { success: true, transaction, network }
      },
      feePayers: async () => new Map(),
    }
  }

  faulty(fault: Fault): Facilitator {
    return { settle: (...call) => this.#fail(fault, call), feePayers: async () => new Map() }
  }

  async #fail(
    fault: Fault,
    [payload, requirement]: [PaymentPayload, PaymentRequirement],
  ): Promise<Settlement> {
    const { network } = requirement
    const submit = () => this.submit(payload, requirement)
    const later = () => void this.clock.after(LATER_MS, () => void submit())
    const refusal = (errorReason: string, transaction = ''): Settlement => {
      return { success: false, transaction, network, errorReason }
    }
    switch (fault) {
      case 'refuses the connection':
        throw new FacilitatorUnavailable('refused', { nothingSent: true })
      case 'is killed before it submits':
        throw new FacilitatorUnavailable('reset')
      case 'is killed after it submitted':
        await submit()
        throw new FacilitatorUnavailable('reset')
      case 'is killed, and its transaction is mined later':
        later()
        throw new FacilitatorUnavailable('reset')
      case 'hangs':
        return await new Promise(() => {})
      case 'hangs, having submitted':
        await submit()
        return await new Promise(() => {})
      case 'says success without submitting':
        return { success: true, transaction: NO_TRANSACTION, network }
      case 'names another transaction':
        await submit()
        return { success: true, transaction: NO_TRANSACTION, network }
      case 'says that it refused, having submitted':
        await submit()
        return refusal('invalid_payload')
      case 'says that it refused, and submits later':
        later()
        return refusal('insufficient_funds')
      case 'says pending, having submitted':
        return refusal('settlement_pending', (await submit()) ?? '')
      case 'answers nonsense':
        throw new FacilitatorUnavailable('nonsense')
      default:
        return fault satisfies never
    }
  }
}

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
  const terms = evmTerms()
  const nowSeconds = () => Math.floor(network.clock.unixMs() / 1_000)
  for (let signed = 1; signed <= 3; signed += 1) {
    const [requirement] = terms.requirements
    const payload = await payCent(requirement, nowSeconds())
    const header = encodeHeader({ x402Version: 2, payload, accepted: requirement })
    for (let sent = 0; sent < 60; sent += 1) {
      const outcome = await untilOver(
        network.clock,
        gate.pay({ paymentSignature: header }, terms, job),
      )
      if (outcome.kind === 'paid') return { signed, answers: 1, gaveUp: false }
      if (outcome.kind === 'challenged') break
      await network.clock.advanceMsSettled(3_000)
    }
  }
  return { signed: 3, answers: 0, gaveUp: true }
}

const evmTerms = (): PaymentTerms => ({
  requirements: [centRequirement()],
  resource: { url: 'https://shop.example/api/grade', description: '', mimeType: 'text/plain' },
})

/** One purchase at a gate over an honest and a faulty facilitator. */
async function purchase(fault: Fault, isFaultyFirst: boolean) {
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
      const fault = FAULTS[run % FAULTS.length] ?? 'hangs'
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

  test.for(FAULTS)(
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
    const [requirement] = evmTerms().requirements
    if (requirement === undefined) throw new Error('no requirement')
    const first = () => pool.routesFor(requirement)[0]
    const before = first()
    await expect(pool.settle({} as never, requirement)).rejects.toThrow('nonsense')
    expect(first()).not.toBe(before)
    await clock.advanceMsSettled(30_000)
    expect(first()).toBe(before)
    pool.directory.close()
  })

  test('while the ledger cannot be read a doubtful payment goes to nobody else', async () => {
    const network = new EvmNetwork()
    const { chain, clock } = network
    let asked = 0
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
        asked += 1
        throw new FacilitatorUnavailable('never asked')
      },
    }
    const members = [{ facilitator: first }, { facilitator: second }]
    const facilitator = createFacilitatorPool({ members, clock })
    const reservations = createMemoryReservationStore({ clock })
    const gate = createPaymentGate({ schemes: [network.scheme], facilitator, reservations, clock })
    const [requirement] = evmTerms().requirements
    const payload = await payCent(requirement)
    const paymentSignature = encodeHeader({ x402Version: 2, payload, accepted: requirement })
    const paying = gate.pay({ paymentSignature }, evmTerms(), {
      fingerprint: 'a',
      subject: 'a',
      prepare: async () => ({ kind: 'ready', prepared: undefined }),
      mayHonour: async () => true,
      fulfil: async () => 'served',
    })
    await clock.advanceMsSettled(60_000)
    expect([(await paying).kind, asked]).toEqual(['pending', 0])
    await gate.close()
    facilitator.directory.close()
  })
})
