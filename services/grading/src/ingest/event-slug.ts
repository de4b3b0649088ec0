import { hash } from 'node:crypto'
import { civilDay } from '../domain/iso-time.ts'

/** Latin letters that are no letter with an accent, as their languages write them without. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
}

/** Characters of the hash that stands for a name without any letter: enough that no two in a league meet. */
const HASH_CHARACTERS = 8

/**
 * A name as ids write it: lower case, no accents, dashes for everything else. Letters of other scripts stay as they are:
 * without them two matches of a league on one day would have one id.
 */
export function nameSlug(name: string): string {
  const slug = name
    .normalize('NFD')
    .replace(/\p{Diacritic}/gu, '')
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
  return slug === '' && name.trim() !== ''
    ? `x${hash('sha256', name).slice(0, HASH_CHARACTERS)}`
    : slug
}

/** The id of an event from what its feed calls it: `england-1.20240423.arsenal-chelsea`. */
export function eventSlug(event: {
  readonly league: string
  readonly daySeconds: number
  readonly home: string
  readonly away: string
}): string {
  const { year, month, day } = civilDay(event.daySeconds)
  const date = `${year}${String(month).padStart(2, '0')}${String(day).padStart(2, '0')}`
  return `${nameSlug(event.league)}.${date}.${nameSlug(event.home)}-${nameSlug(event.away)}`
}
