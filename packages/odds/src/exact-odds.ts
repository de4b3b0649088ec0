import type { Odds, OddsFormat } from './parsed-odds.ts'

/** Decimal odds as a ratio of whole numbers in lowest terms. */
export type ExactOdds = { readonly numerator: bigint; readonly denominator: bigint }

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
 * The exact decimal odds of a parsed price, in lowest terms: for comparing prices across notations and for ledgers that
 * must not round. `-110` is 21/11, which no decimal text can say.
 */
export function exactOdds(odds: Odds): ExactOdds {
  const { numerator, denominator } = RATIOS[odds.format](odds.text)
  let [divisor, rest] = [numerator, denominator]
  while (rest !== 0n) [divisor, rest] = [rest, divisor % rest]
  return { numerator: numerator / divisor, denominator: denominator / divisor }
}
