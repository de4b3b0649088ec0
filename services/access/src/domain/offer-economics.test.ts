import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countEntries, leaseCallsMax } from '../metering/usage-window.ts'
import {
  GAS,
  type Market,
  type OfferTerms,
  offerEconomics,
  renewalTinybar,
  windowCost,
} from './offer-economics.ts'

const HBAR = 100_000_000n
const hbar = (tinybar: bigint): number => Number(tinybar) / 1e8

/** The rate at which 12 cents buy what 1.41 M gas cost at 109 tinybar. */
const MARKET: Market = {
  gasPriceTinybar: 109n,
  scheduleCost: 1_200,
  tinycentsPerHbar: 781_000_000n,
  armingFloorPercent: 100,
  periodsPerPurchase: 4,
}
const HOUR: OfferTerms = {
  priceTinybar: 3n * HBAR,
  periodSeconds: 3_600,
  callsAllowed: 1_000,
  slotSeconds: 900,
}
const LOCAL: OfferTerms = { ...HOUR, periodSeconds: 20, callsAllowed: 200, slotSeconds: 1 }
const ONE_SLOT = { ...HOUR, slotSeconds: 3_600 }

const computeCost = (terms: OfferTerms, agents: number, more: { batchedAgents?: number } = {}) =>
  hbar(windowCost(terms, MARKET, { agents, calls: terms.callsAllowed, ...more }).costTinybar)

const uncalled = (agents: number) =>
  hbar(windowCost(ONE_SLOT, MARKET, { agents, calls: 0 }).costTinybar)

describe('A1: a window with its whole quota costs the seller', () => {
  test('at most 2.2 HBAR for a lone agent', () =>
    expect(computeCost(HOUR, 1)).toBeLessThanOrEqual(2.2))
  test('at most 1.0 HBAR with twenty agents in one slot', () =>
    expect(computeCost(ONE_SLOT, 20)).toBeLessThanOrEqual(1))
  test('at most 1.25 HBAR with twenty agents spread over four slots', () =>
    expect(computeCost(HOUR, 20)).toBeLessThanOrEqual(1.25))
  test('at most 0.3 HBAR with a thousand in full batches, 0.95 unbatched', () => {
    expect(computeCost(HOUR, 1_000, { batchedAgents: 50 })).toBeLessThanOrEqual(0.3)
    expect(computeCost(HOUR, 1_000)).toBeLessThanOrEqual(0.95)
  })
  test('as much as was measured: lone 1.26 HBAR without calls, a thousand in a slot 0.03', () => {
    expect(uncalled(1)).toBeCloseTo(1.26, 2)
    expect(uncalled(20)).toBeCloseTo(0.115, 2)
    expect(uncalled(1_000)).toBeCloseTo(0.03, 2)
  })
})

describe('the gas of the table', () => {
  const snapshot = JSON.parse(
    readFileSync(
      new URL('../../../../contracts/snapshots/AccessWindow.json', import.meta.url),
      'utf8',
    ),
  ) as Readonly<Record<string, string>>

  test.each<[keyof typeof GAS, string]>([
    ['openArming', 'openPaid, slot to arm'],
    ['openJoining', 'openPaid, armed slot, others end in the same second'],
    ['openOnePeriod', 'openPaid, one period'],
    ['renewalArming', 'renew by the network, agents: 1000'],
    ['renewalLast', 'renew by the network, nothing left to arm'],
    ['record', 'recordUsage, 50 calls'],
    ['recordFirst', 'recordUsage, first of the next window'],
    ['recordBatched', 'recordUsageBatch of 50, each'],
    ['recordFirstBatched', 'recordUsageBatch of 50, next window, each'],
  ])('%s is within 3 %% of “%s” in the contract’s snapshots', (name, row) => {
    const measured = Number(snapshot[row])
    expect(Math.abs(Number(GAS[name]) - measured) / measured).toBeLessThanOrEqual(0.03)
  })

  test('a second that nobody had costs what the two first purchases differ by', () => {
    const first = Number(snapshot['openPaid, armed slot, first of its cycle'])
    const others = Number(snapshot['openPaid, armed slot, others end in the same second'])
    expect(Number(2n * GAS.calendarWord) / (first - others)).toBeCloseTo(1, 1)
  })
})

describe('A1: an offer', () => {
  test.each([
    ['testnet', HOUR],
    ['local', LOCAL],
  ])('the default of %s makes a profit when a lone agent uses its whole quota', (_, terms) => {
    const { isLossAtFullUse, breakEvenAgents } = offerEconomics(terms, MARKET)
    expect({ isLossAtFullUse, breakEvenAgents }).toEqual({
      isLossAtFullUse: false,
      breakEvenAgents: 1,
    })
  })

  test('below its costs is a loss alone, and says from how many agents on it is none', () => {
    const cheap = offerEconomics({ ...HOUR, priceTinybar: 2n * HBAR }, MARKET)
    expect(cheap.isLossAtFullUse).toBe(true)
    expect(cheap.breakEvenAgents).toBe(5)
    const hopeless = offerEconomics({ ...HOUR, priceTinybar: HBAR / 2n }, MARKET)
    expect(hopeless.breakEvenAgents).toBeUndefined()
  })

  test('spends of the reserve in an hour at most one renewal for each slot', () => {
    const { slots, reserveHourTinybar, lockTinybar } = offerEconomics(HOUR, MARKET)
    expect(slots).toBe(4)
    expect(reserveHourTinybar).toBe(4n * renewalTinybar(MARKET))
    expect(hbar(reserveHourTinybar)).toBeCloseTo(6.45, 1)
    expect(hbar(lockTinybar)).toBeCloseTo(3.98, 2)
  })

  test('A18: says what all processes record in a window at most, whatever is called in it', () => {
    const { recordsMax, recordingTinybarMax } = offerEconomics(HOUR, MARKET)
    expect(recordsMax).toBe(25)
    expect(hbar(recordingTinybarMax)).toBeCloseTo(0.88, 2)
    expect(offerEconomics(LOCAL, MARKET).recordsMax).toBe(23)
    const ofThree = offerEconomics(HOUR, MARKET, 3)
    expect(ofThree.recordsMax).toBe(75)
    expect(ofThree.recordingTinybarMax).toBe(3n * recordingTinybarMax)
  })

  test('keeps the dollar price of a scheduled call when gas falls to a third', () => {
    const cheaper = { ...MARKET, gasPriceTinybar: 36n }
    const own = GAS.renewalArming - GAS.scheduleCall
    expect(renewalTinybar(MARKET) - renewalTinybar(cheaper)).toBe(own * (109n - 36n))
  })
})

/** A subscriber who buys anew in the period in which its money has ended. */
type Subscriber = { readonly startsAt: number; fundedTo: number }

/** One slot, period by period, transaction by transaction: what a cycle of purchases costs once all have begun. */
function simulateSlot(terms: OfferTerms, market: Market, offsets: readonly number[]): bigint {
  const { periodsPerPurchase: length } = market
  const price = (gas: bigint) => gas * market.gasPriceTinybar
  const schedule = renewalTinybar(market) - price(GAS.renewalArming - GAS.scheduleCall)
  const arms = (gas: bigint) => price(gas - GAS.scheduleCall) + schedule
  const agents: Subscriber[] = offsets.map((startsAt) => ({ startsAt, fundedTo: 0 }))
  const words = new Set<number>()
  const armed = new Set<number>()
  const earnsItsCall = (period: number) =>
    BigInt(agents.filter(({ fundedTo }) => fundedTo > period).length) * terms.priceTinybar * 100n >=
    renewalTinybar(market) * BigInt(market.armingFloorPercent)
  const isWorthArming = (period: number) =>
    agents.some(({ fundedTo }) => fundedTo > period) && earnsItsCall(period)
  let cost = 0n
  for (let period = 0; period < 3 * length; period += 1) {
    if (period === 2 * length) cost = 0n
    if (armed.has(period)) {
      const again = isWorthArming(period + 1)
      if (again) armed.add(period + 1)
      cost += again ? arms(GAS.renewalArming) : price(GAS.renewalLast)
    }
    for (const agent of agents) {
      if (agent.startsAt > period || agent.fundedTo > period) continue
      agent.fundedTo = period + length
      if (length === 1) {
        cost += price(GAS.openOnePeriod)
        continue
      }
      const fresh = [period + 1, agent.fundedTo].filter((second) => !words.has(second))
      for (const second of fresh) words.add(second)
      if (!armed.has(period + 1) && isWorthArming(period + 1)) {
        armed.add(period + 1)
        cost += arms(GAS.openArming)
      } else cost += price(GAS.openJoining) + BigInt(fresh.length) * price(GAS.calendarWord)
    }
  }
  return cost
}

const someMarket = fc.record({
  gasPriceTinybar: fc.bigInt({ min: 20n, max: 400n }),
  scheduleCost: fc.integer({ min: 100, max: 10_000 }),
  tinycentsPerHbar: fc.bigInt({ min: 100_000_000n, max: 4_000_000_000n }),
  armingFloorPercent: fc.integer({ min: 0, max: 300 }),
  periodsPerPurchase: fc.integer({ min: 1, max: 12 }),
})
const somePrice = fc.bigInt({ min: 10_000_000n, max: 2_000_000_000n })

describe('A1: the table, against a slot played period by period', () => {
  test('no order of purchases costs more than the table says', () => {
    fc.assert(
      fc.property(
        someMarket,
        somePrice,
        fc.array(fc.integer({ min: 0, max: 11 }), { minLength: 1, maxLength: 40 }),
        (market, priceTinybar, starts) => {
          const terms = { ...ONE_SLOT, priceTinybar }
          const offsets = starts.map((start) => start % market.periodsPerPurchase)
          const windows = BigInt(starts.length * market.periodsPerPurchase)
          const { costTinybar } = windowCost(terms, market, { agents: starts.length, calls: 0 })
          expect(costTinybar * windows).toBeGreaterThanOrEqual(simulateSlot(terms, market, offsets))
        },
      ),
      { numRuns: 2_000 },
    )
  })

  test('a lone agent costs just that, and a slot that buys in every period within a twentieth of it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        (length, each) => {
          const market = { ...MARKET, periodsPerPurchase: length }
          const terms = { ...ONE_SLOT, priceTinybar: 1_000n * HBAR }
          const lone = windowCost(terms, market, { agents: 1, calls: 0 }).costTinybar
          const played = simulateSlot(terms, market, [0])
          expect(lone * BigInt(length) - played).toBeLessThan(2n * BigInt(length))
          const agents = length * each
          if (agents === 1) return
          const offsets = Array.from({ length: agents }, (_, index) => index % length)
          const mean = windowCost(terms, market, { agents, calls: 0 }).costTinybar
          const total = mean * BigInt(agents * length)
          expect(total * 100n).toBeLessThanOrEqual(simulateSlot(terms, market, offsets) * 106n)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('several slots cost the sum of their slots', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.constantFrom(900, 600, 300),
        (agents, slotSeconds) => {
          const slots = 3_600 / slotSeconds
          const agentsBySlot = Array.from({ length: slots }, () => 0)
          for (let agent = 0; agent < agents; agent += 1)
            agentsBySlot[agent % slots] = (agentsBySlot[agent % slots] ?? 0) + 1
          const sum = agentsBySlot
            .filter((count) => count > 0)
            .reduce((total, count) => {
              const { costTinybar } = windowCost(ONE_SLOT, MARKET, { agents: count, calls: 0 })
              return total + costTinybar * BigInt(count)
            }, 0n)
          const { costTinybar } = windowCost({ ...HOUR, slotSeconds }, MARKET, { agents, calls: 0 })
          expect(Number(costTinybar * BigInt(agents) - sum)).toBeLessThan(1_000)
          expect(Number(sum - costTinybar * BigInt(agents))).toBeLessThan(1_000)
        },
      ),
    )
  })
})

describe('A18: entries of a window', () => {
  test('1,000 calls with leases of at most 50 are 25', () => {
    expect([1_000, 200, 3].map(leaseCallsMax)).toEqual([50, 10, 1])
    expect(countEntries(1_000)).toBe(25)
  })

  test('are as many as when each call is made by itself', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (callsAllowed, use) => {
          const calls = Math.floor(callsAllowed * use)
          let entries = 0
          let covered = 0
          let lease = 0
          for (let call = 0; call < calls; call += 1) {
            if (covered === 0) {
              lease = lease === 0 ? 1 : Math.min(2 * lease, leaseCallsMax(callsAllowed))
              covered = lease
              entries += 1
            }
            covered -= 1
          }
          expect(countEntries(callsAllowed, calls)).toBe(entries)
        },
      ),
    )
  })
})
