/** What a seller asks for in a token, on any ledger. */
import { badArgument } from '../bad-argument.ts'

/** Dollars, of a token that stands for one, such as `$0.01`; or an amount of base units. */
export type TokenPrice = { readonly price: `$${number}` } | { readonly amount: bigint }

/** Base units of a decimal amount of tokens; undefined if it has more decimals than the token, or is none. */
export function parseTokens(
  text: string,
  { decimals }: { readonly decimals: number },
): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === undefined || fraction.length > decimals) return undefined
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

/** Base units of a price, above 0 and within `bits`. Throws RangeError, which names the argument. */
export function readUnits(
  terms: TokenPrice,
  { bits, decimals }: { readonly bits: number; readonly decimals: number },
): bigint {
  const isAmount = (units: bigint | undefined): units is bigint =>
    units !== undefined && units > 0n && units < 1n << BigInt(bits)
  if ('amount' in terms) {
    if (isAmount(terms.amount)) return terms.amount
    throw badArgument('amount', terms.amount, `base units above 0, in ${bits} bits`)
  }
  const isDollars = terms.price.startsWith('$')
  const units = isDollars ? parseTokens(terms.price.slice(1), { decimals }) : undefined
  if (isAmount(units)) return units
  const expected = `dollars above 0 such as '$0.01', with at most ${decimals} decimals`
  throw badArgument('price', terms.price, expected)
}
