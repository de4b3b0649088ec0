import known from '../../vectors/devig.json' with { type: 'json' }
import more from '../../vectors/devig-more.json' with { type: 'json' }
import type { MarginMethod } from '../remove-margin.ts'

/** One book with a method's probabilities from independent 60-digit arithmetic. */
type MarginVector = {
  readonly name: string
  readonly prices: readonly number[]
  readonly booksum: number
  readonly probabilities: readonly number[]
  /** The number solved for. */
  readonly parameter: number
}

/** Decimal text, or a ratio of whole numbers. */
const toPrice = (text: string): number => {
  const [numerator = '', denominator = '1'] = text.split('/')
  return Number(numerator) / Number(denominator)
}

type Book = { readonly name: string; readonly odds: readonly string[]; readonly booksum: string }

type Solved = { p: string[]; k?: string; z?: string; c?: string; parameter?: string }

/** The number that a method solved for: given under one of four names, or implied by the booksum. */
function findParameter(method: MarginMethod, solved: Solved, book: Book): number {
  const written = solved.parameter ?? solved.k ?? solved.z ?? solved.c
  if (written !== undefined) return Number(written)
  if (method === 'multiplicative') return Number(book.booksum)
  if (method === 'additive') return (Number(book.booksum) - 1) / book.odds.length
  throw new Error(`${book.name} has no parameter for ${method}`)
}

/** Every book of the two vector files, as one method solves it. */
export function marginVectors(method: MarginMethod): readonly MarginVector[] {
  return [...known, ...more].map((book) => {
    const solved: Solved = book.methods[method]
    return {
      name: book.name,
      prices: book.odds.map(toPrice),
      booksum: Number(book.booksum),
      probabilities: solved.p.map(Number),
      parameter: findParameter(method, solved, book),
    }
  })
}
