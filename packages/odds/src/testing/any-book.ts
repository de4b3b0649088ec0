import * as fc from 'fast-check'

/** Books of 2–30 prices with a booksum between `low` and `high`, favourites and longshots mixed. */
export function anyBook(booksums: { low: number; high: number }): fc.Arbitrary<number[]> {
  return fc
    .tuple(
      fc.array(fc.double({ min: 0.002, max: 1, noNaN: true }), { minLength: 2, maxLength: 30 }),
      fc.double({ min: booksums.low, max: booksums.high, noNaN: true }),
    )
    .map(([weights, booksum]) => {
      const whole = weights.reduce((sum, weight) => sum + weight, 0)
      return weights.map((weight) => whole / (weight * booksum))
    })
    .filter((prices) => prices.every((price) => price > 1.0001))
}
