import { GRADE_BANDS } from '@tallystick/odds'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { countEvent } from '../../testing/samples.fixture.ts'
import { emptyTruth, lineKey, type SettledRow, sameTruth } from './truth-table.ts'
import { TruthTally } from './truth-tally.ts'

const COLUMN = { population: 'mechanical', basis: 'fair', scope: 'all' } as const
/** Millionths, up to a return of a thousand units and beyond: products of sums of them need 80 bits. */
const micro = fc.oneof(
  fc.integer({ min: -1_000_000, max: 8_000_000 }),
  fc.integer({ min: -(10 ** 12), max: 10 ** 12 }),
)
const row: fc.Arbitrary<SettledRow> = fc.record({
  population: fc.constant(COLUMN.population),
  basis: fc.constant(COLUMN.basis),
  scope: fc.constantFrom('all', 'soccer/1x2'),
  band: fc.constantFrom(...GRADE_BANDS.map(({ band }) => band)),
  result: fc.constantFrom('won' as const, 'lost' as const, 'push' as const),
  returnMicro: micro,
  clvMicro: micro,
})
const changes = fc.array(fc.tuple(fc.array(row, { maxLength: 6 }), fc.constantFrom(1, 1, 1, -1)), {
  maxLength: 12,
})

const big = (values: readonly number[]): bigint =>
  values.reduce((sum, value) => sum + BigInt(value), 0n)

/** The second moments of a column by the definition: sums over events of the products of their sums. */
function listMoments(events: readonly (readonly [readonly SettledRow[], number])[]) {
  const sums = Array.from({ length: 15 }, () => 0n)
  for (const [rows, sign] of events) {
    const [x, y] = [rows.map((each) => each.clvMicro), rows.map((each) => each.returnMicro)]
    const squares = x.reduce((sum, value) => sum + BigInt(value) * BigInt(value), 0n)
    const products = x.reduce((sum, value, at) => sum + BigInt(value) * BigInt(y[at] ?? 0), 0n)
    const values = [BigInt(rows.length), big(x), big(y), squares, products]
    let place = 0
    for (const [i, value] of values.entries())
      for (const other of values.slice(i)) {
        sums[place] = (sums[place] ?? 0n) + BigInt(sign) * value * other
        place += 1
      }
  }
  return sums
}

test('a tally is exact to the last digit, however large the sums, added or taken away', () => {
  fc.assert(
    fc.property(changes, (events) => {
      const tally = new TruthTally()
      for (const [rows, sign] of events) tally.add(rows, sign === 1 ? 1 : -1)
      // One more event keeps the cell, whatever was taken away.
      const more = Array.from({ length: 13 }, () => [[], 1] as const)
      const extra: SettledRow = { ...COLUMN, ...PLAIN }
      for (const _ of more) tally.add([extra], 1)
      const truth = emptyTruth()
      tally.mergeInto(truth)
      const counted = [...events, ...more.map(() => [[extra], 1] as const)]
      expect(truth.cells.get(lineKey(COLUMN))?.moments.second).toEqual(listMoments(counted))
    }),
  )
})

test('a product that no double holds is exact, also where the sum with an earlier one would fit', () => {
  const plain = { ...COLUMN, ...PLAIN }
  // The second product is beyond 2^53, their sum is not.
  const rows = [
    { ...plain, returnMicro: -18_465_215_381, clvMicro: -9_689 },
    { ...plain, returnMicro: -449_528_198_021, clvMicro: 20_435 },
  ]
  const truth = emptyTruth()
  countEvent(truth, rows)
  expect(truth.cells.get(lineKey(COLUMN))?.moments.second).toEqual(listMoments([[rows, 1]]))
})

const PLAIN = {
  scope: 'all',
  band: 'B',
  result: 'won',
  returnMicro: 1,
  clvMicro: 1,
} as const

test('one tally of many events is the same as each event by itself', () => {
  fc.assert(
    fc.property(changes, (events) => {
      const [together, apart] = [emptyTruth(), emptyTruth()]
      const tally = new TruthTally()
      for (const [rows] of events) {
        tally.add(rows, 1)
        countEvent(apart, rows)
      }
      const keys = tally.mergeInto(together)
      expect(sameTruth(together, apart)).toBe(true)
      expect(new Set(keys)).toEqual(new Set(together.cells.keys()))
    }),
  )
})
