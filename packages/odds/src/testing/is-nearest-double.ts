import type { Odds, OddsFormat } from '../odds.ts'

/** Decimal odds as a ratio of whole numbers in lowest terms. */
type ExactOdds = { readonly numerator: bigint; readonly denominator: bigint }

/** The whole parts of a parsed price's canonical text, as an unreduced ratio of its decimal odds. */
const RATIOS: Readonly<Record<OddsFormat, (text: string) => ExactOdds>> = {
  decimal: (text) => {
    const [whole = '', places = ''] = text.split('.')
    return { numerator: BigInt(whole + places), denominator: 10n ** BigInt(places.length) }
  },
  fractional: (text) => {
    const [profit = '', stake = ''] = text.split('/')
    return { numerator: BigInt(profit) + BigInt(stake), denominator: BigInt(stake) }
  },
  american: (text) => {
    const money = BigInt(text.slice(1))
    return { numerator: money + 100n, denominator: text.startsWith('-') ? money : 100n }
  },
}

/**
 * A parsed price's exact decimal odds in lowest terms, for comparing prices across notations and for ledgers that must
 * not round. `-110` is 21/11, which no decimal text can express.
 */
function exactOdds(odds: Odds): ExactOdds {
  const { numerator, denominator } = RATIOS[odds.format](odds.text)
  let [divisor, rest] = [numerator, denominator]
  while (rest !== 0n) [divisor, rest] = [rest, divisor % rest]
  return { numerator: numerator / divisor, denominator: denominator / divisor }
}

/** Binary places after the point in the finest double above 1. */
const PLACES = 52

/** Whether no double lies nearer to a price's exact value than the decimal odds it was given. */
export function isNearestDouble(odds: Odds): boolean {
  const { numerator, denominator } = exactOdds(odds)
  // A double from 1 up times 2^52 is whole, and half the step to its neighbour is a power of two.
  const scaled = BigInt(odds.decimal * 2 ** PLACES)
  const step = BigInt(2 ** Math.floor(Math.log2(odds.decimal)))
  const distance = scaled * denominator - (numerator << BigInt(PLACES))
  return 2n * (distance < 0n ? -distance : distance) <= step * denominator
}
