/**
 * What is heard is what is seen (C45): a text as a speech program is to say it. Nothing that has no width stays in it, and every
 * digit is one that the program knows: it skips those of other scripts without a word, so that 50 would be heard as nothing.
 */
import { plainDigit } from '../wire/reads-as.ts'
import { holdsControls, withoutHidden } from '../wire/text-of-others.ts'

/** Numbers that are no digits and that speech programs say. */
const KNOWN_NUMBERS = /[½¼¾⅓⅔²³¹⁰⁴-⁹₀-₉]/u

/** Other numbers by what they are made of: ① is 1, and ⅛ is 1/8, apart from a number before it. */
function number(character: string): string {
  if (KNOWN_NUMBERS.test(character)) return character
  const parts = character.normalize('NFKC').replace('\u2044', '/')
  // A Roman numeral is letters then, which are an abbreviation too.
  if (/\p{L}/u.test(parts)) return character
  return parts.includes('/') ? ` ${parts}` : parts
}

/** The text to speak; undefined if what turns or controls text is in it, or a number that would not be heard. */
export function spokenForm(text: string): string | undefined {
  if (holdsControls(text)) return undefined
  const said = withoutHidden(text)
    .replace(/[\p{No}\p{Nl}]/gu, number)
    .replace(/(?![0-9])\p{Nd}/gu, plainDigit)
  const numbers = said.match(/\p{N}/gu) ?? []
  return numbers.every((each) => /[0-9]/.test(each) || KNOWN_NUMBERS.test(each)) ? said : undefined
}
