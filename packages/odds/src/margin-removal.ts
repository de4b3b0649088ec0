/**
 * The types of margin removal: which methods there are, what a method's function gives, and the outcomes of
 * `removeMargin`. The arithmetic lives in one file per method.
 */

/** A way to turn a book of prices into probabilities; see each method's function for formula and source. */
export type MarginMethod = 'power' | 'shin' | 'odds_ratio' | 'multiplicative' | 'additive'

/** Probabilities that sum to one, with the number that the method solved for. */
export type MethodResult = {
  /** One probability per price, in the order of the prices. */
  readonly probabilities: readonly number[]
  /**
   * power: exponent k; shin: share z of insiders; odds_ratio: c; multiplicative: booksum; additive: the amount taken off
   * each.
   */
  readonly parameter: number
}

/**
 * Why a book was refused. `too_few_outcomes`: fewer than two, a selection's price alone says nothing about its margin;
 * `too_many_outcomes`: more than `OUTCOMES_MAX`; `price_out_of_range`: a price is missing, suspended, not above 1 or
 * above `DECIMAL_ODDS_MAX`; `booksum_out_of_range`: the prices belong to no one market at one time.
 */
export type MarginRefusal =
  | 'too_few_outcomes'
  | 'too_many_outcomes'
  | 'price_out_of_range'
  | 'booksum_out_of_range'

/** What removing a margin gives. */
export type MarginRemoval =
  /** Every probability lies strictly between 0 and 1. */
  | (MethodResult & {
      readonly kind: 'fair'
      readonly method: MarginMethod
      /** Sum of the inverse prices: 1 plus the margin. */
      readonly booksum: number
    })
  /** The method's formula gives at least one probability outside (0, 1); no fair price exists by it. */
  | (MethodResult & {
      readonly kind: 'improper'
      readonly method: MarginMethod
      readonly booksum: number
    })
  /** `position` is that of the first price out of range, counted from 0; undefined where the book as a whole is at fault. */
  | {
      readonly kind: 'refused'
      readonly reason: MarginRefusal
      readonly position: number | undefined
    }

/** The most outcomes of one book: golf and outright fields stay below 300. Bounds the time that one call takes. */
export const OUTCOMES_MAX = 1000

/** The booksum above which prices are taken for broken data; real soft books with 20 runners stay below 1.4. */
export const BOOKSUM_MAX = 1.5

/** The booksum below which prices are taken for broken data; best-of-books and exchange sums stay above 0.9. */
export const BOOKSUM_MIN = 0.5
