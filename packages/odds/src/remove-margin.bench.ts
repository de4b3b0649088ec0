import { expect, test } from 'vitest'
import { gradePrice } from './grade-price.ts'
import { parseOdds } from './odds.ts'
import { type MarginMethod, removeMargin } from './remove-margin.ts'
import { sharpScore } from './sharp-score.ts'

/**
 * How long the arithmetic takes. Every sample makes 1,000 calls, since a clock cannot measure one: a mean in milliseconds
 * is the microseconds of one call. Targets: margin removal within 0.35 µs for 3 outcomes and within 2 µs for 20. Nothing
 * asserts a time; run it with `pnpm bench` on an idle machine.
 */

/** How long each figure is measured, in milliseconds: enough to be steady to a few per cent. */
const MEASURE = { time: 300, warmupTime: 100 }

const CALLS = 1000

const books: readonly (readonly number[])[] = [
  [1.5, 2.74],
  [2.05, 3.55, 3.9],
  [5.5, 6.5, 7, 8, 9, 11, 13, 15, 17, 19, 21, 23, 26, 29, 34, 41, 51, 67, 81, 101],
]
const methods: readonly MarginMethod[] = [
  'power',
  'shin',
  'odds_ratio',
  'multiplicative',
  'additive',
]

/** Keeps results alive, so that no call can be optimised away. */
let lastResult: unknown

const times = (run: () => unknown) => () => {
  for (let call = 0; call < CALLS; call++) lastResult = run()
}

for (const method of methods)
  for (const prices of books)
    test(`${method}, ${prices.length} outcomes`, async ({ bench }) => {
      const name = `1,000 × removeMargin, ${method}, ${prices.length} outcomes`
      await bench(
        name,
        times(() => removeMargin(prices, method)),
      ).run(MEASURE)
      expect(lastResult).toMatchObject({
        method,
        booksum: prices.reduce((sum, price) => sum + 1 / price, 0),
      })
    })

test('a grade from prices to band', async ({ bench }) => {
  const prices = [2.05, 3.55, 3.9]
  const grade = () => {
    const removal = removeMargin(prices)
    const fairProbability = removal.kind === 'fair' ? removal.probabilities[0] : undefined
    return fairProbability === undefined
      ? undefined
      : gradePrice({ taken: 2.2, close: 2.05, fairProbability })
  }
  await bench('1,000 × removeMargin and gradePrice, 3 outcomes', times(grade)).run(MEASURE)
  expect(lastResult).toMatchObject({ band: 'A' })
})

test('a grade with the probability at hand', async ({ bench }) => {
  const pick = { taken: 2.2, close: 2.05, fairProbability: 0.479_172_551_4 }
  await bench(
    '1,000 × gradePrice',
    times(() => gradePrice(pick)),
  ).run(MEASURE)
  expect(lastResult).toMatchObject({ band: 'A' })
})

test.for(['2.10', '6/5', '-110'])('parsing %s', async (text, { bench }) => {
  await bench(
    `1,000 × parseOdds, ${text}`,
    times(() => parseOdds(text)),
  ).run(MEASURE)
  expect(lastResult).toMatchObject({ kind: 'odds' })
})

test('a Sharp Score of 1,000 picks', async ({ bench }) => {
  const picks = Array.from({ length: 1000 }, (_, index) => ({
    clv: ((index % 21) - 10) / 100,
    odds: 2 + (index % 7) / 10,
    returnUnits: index % 2 === 0 ? -1 : 1,
  }))
  await bench('1 × sharpScore, 1,000 picks', () => {
    lastResult = sharpScore(picks)
  }).run(MEASURE)
  expect(lastResult).toMatchObject({ kind: 'scored' })
})
