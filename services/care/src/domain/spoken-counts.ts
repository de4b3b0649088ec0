/** Numbers as they agree with what they count and with the word before them (C37): `eine Tablette`, `do dwóch tabletek`. */
import { type CompiledRules, lookUp, matchAt, type SpokenRules } from './spoken-rules.ts'

/** A number of a sentence, also `1/2` and `1 1/2`. */
export type SpokenNumber = {
  /** With one kind of slash; a whole number in digits alone. */
  readonly written: string
  /** Where it agrees with nothing. */
  readonly said: string
  readonly value: number
}

/** What a number counts: a kind of noun; a word of which nothing is known; or nothing. */
export type Counted = { readonly kind: string } | 'unknown' | 'nothing'

/** What a noun is counted as; `text` begins with it, in small letters. */
export function countedBy({ kinds, noun, uncounted }: CompiledRules, text: string): Counted {
  const word = /^[\p{L}\p{M}’']+/u.exec(text)?.[0] ?? ''
  if (word === '' || uncounted.has(word)) return 'nothing'
  const kind = kinds.get(matchAt(noun, word, 0)?.[0] ?? '')
  return kind === undefined ? 'unknown' : { kind }
}

/** The case of a number behind a word. */
export const caseBehind = ({ cases = [] }: SpokenRules, before: string) =>
  cases.find(({ behind }) => behind.includes(before))

type Agreement = {
  readonly counted: Counted
  /** The word before it. */
  readonly before: string
  /** Whether another number of the same thing follows: `1 or 2`. */
  readonly isJoined: boolean
}

/** The number as it is said there; undefined where its form is not known. */
export function agreedNumber(
  rules: SpokenRules,
  number: SpokenNumber,
  { before, counted, isJoined }: Agreement,
): string | undefined {
  const own = caseBehind(rules, before)
  if (own?.isName === true) return number.said
  if (typeof counted === 'object' && own?.kinds?.includes(counted.kind) === false) return undefined
  const others = [isJoined ? rules.joined : undefined, rules.counted]
  const tables = own?.isWhole === true ? [own.numbers] : [own?.numbers, ...others]
  const findForms = (written: string) =>
    tables.map((table) => table && lookUp(table, written)).find((forms) => forms !== undefined)
  const pluralForm = (written: string): string | null | undefined => {
    const forms = findForms(written)
    if (forms === undefined) return own?.isWhole === true ? null : ''
    if (typeof forms === 'string') return forms
    if (counted === 'nothing') return own === undefined ? '' : null
    return counted === 'unknown' ? null : (lookUp(forms, counted.kind) ?? null)
  }
  const isWhole = Number.isInteger(number.value)
  // A decimal is read digit by digit.
  if (!isWhole && !number.written.includes('/')) return number.said
  if (own?.isWhole === true && isWhole) return inParts(number.value, pluralForm)
  const form = pluralForm(number.written)
  if (form === null || form === undefined) return undefined
  if (form !== '') return form
  const isListed = findForms(number.written) !== undefined
  return isWhole &&
    !isListed &&
    rules.isLastDigitCounted === true &&
    hasForms(number.value, pluralForm)
    ? undefined
    : number.said
}

type FormOf = (written: string) => string | null | undefined

/** `dwudziestu pięciu`; undefined if a part has no form. */
export function inParts(value: number, findForm: FormOf): string | undefined {
  const below = value % 100
  const parts = [value - below, ...(below > 20 ? [below - (below % 10), below % 10] : [below])]
  const said = parts.filter((part) => part > 0).map((part) => findForm(String(part)))
  return value > 0 && said.every((form) => typeof form === 'string' && form !== '')
    ? said.join(' ')
    : undefined
}

/** Whether a part of a large number changes: `21`, `250`. */
function hasForms(value: number, toForm: FormOf): boolean {
  const parts = [value % 10, value % 100, (value % 1_000) - (value % 100)]
  const others = parts.filter((part) => part > 0 && part !== value)
  return value > 20 && others.some((part) => (toForm(String(part)) ?? '') !== '')
}
