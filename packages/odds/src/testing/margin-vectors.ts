import known from '../../vectors/devig.json' with { type: 'json' }
import more from '../../vectors/devig-more.json' with { type: 'json' }
import type { MarginMethod } from '../margin-removal.ts'

/** One book with a method's probabilities from independent arithmetic with 60 digits. */
export type MarginVector = {
  readonly name: string
  readonly prices: readonly number[]
  readonly booksum: number
  readonly probabilities: readonly number[]
  /** The number solved for, where the vector has it. */
  readonly parameter: number | undefined
}

/** Decimal text, or a ratio of whole numbers. */
const priceOf = (text: string): number => {
  const [numerator = '', denominator = '1'] = text.split('/')
  return Number(numerator) / Number(denominator)
}

/** Every book of the two vector files, as one method solves it. */
export function marginVectors(method: MarginMethod): readonly MarginVector[] {
  return [...known, ...more].map(({ name, odds, booksum, methods }) => {
    const solved: { p: string[]; k?: string; z?: string; c?: string; parameter?: string } =
      methods[method]
    const parameter = solved.parameter ?? solved.k ?? solved.z ?? solved.c
    return {
      name,
      prices: odds.map(priceOf),
      booksum: Number(booksum),
      probabilities: solved.p.map(Number),
      parameter: parameter === undefined ? undefined : Number(parameter),
    }
  })
}
