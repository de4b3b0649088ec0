// Generated from packages/service-kit/src/variable-slips.ts: edit that, then run npm run generate.
/** Variables that nobody reads, but whose name is one slip away from one that is read (S11). Pure: names in, names out. */

/** A variable in the environment, and the one that was probably meant. */
export type VariableSlip = { readonly variable: string; readonly meant: string }

/** With fewer letters, words of other programs are one letter away: PORT from SORT, HOST from POST. */
const LETTERS_MIN = 5

/** The letters from which two texts differ, without what they begin and end with alike. */
function differingParts(name: string, other: string): readonly [string, string] {
  const shorter = Math.min(name.length, other.length)
  let start = 0
  while (start < shorter && name[start] === other[start]) start += 1
  let end = 0
  while (end < shorter - start && name.at(-1 - end) === other.at(-1 - end)) end += 1
  return [name.slice(start, name.length - end), other.slice(start, other.length - end)]
}

/** Whether one letter more, less or other, or two neighbours swapped, make one name of the other. */
export function isSlip(variable: string, known: string, lettersMin = LETTERS_MIN): boolean {
  const [found, expected] = differingParts(variable, known)
  const isSwap = found.length === 2 && expected === found.slice(1) + found.slice(0, 1)
  const isS = found + expected === 'S'
  const isLetter = found.length <= 1 && expected.length <= 1
  return isSwap || isS || (isLetter && known.length >= lettersMin)
}

/**
 * The slips among the names of an environment; `known` are the names that are read. Case counts for none of them; a prefix, as in
 * `CARE_SEAL_KEYS`, only before one of `guards`, since names of other programs end with any word.
 */
export function findSlips(
  names: readonly string[],
  known: ReadonlySet<string>,
  guards: readonly string[] = [],
): readonly VariableSlip[] {
  return names
    .filter((variable) => !known.has(variable))
    .flatMap((variable) => {
      const upper = variable.toUpperCase()
      const meant =
        [...known].find((name) => isSlip(upper, name)) ??
        guards.find((name) => upper.endsWith(`_${name}`))
      return meant === undefined ? [] : [{ variable, meant }]
    })
}
