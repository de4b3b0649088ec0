/**
 * Teams by every name that people use for them, and leagues by the names that feeds use. A name's key ignores case, accents,
 * punctuation and club forms (FC, AC); team-aliases.json lists other names: short ones, other languages' spellings, US
 * cities, nicknames and abbreviations. Nothing here is fuzzy: two names are one team only if the table says so.
 */
import { BoundedMap, getOrMake } from '@tallystick/service-kit'
import aliases from './team-aliases.json' with { type: 'json' }

/** Latin letters that do not decompose into a base letter and an accent, as their languages transcribe them. */
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

/** A text in lower case without accents; letters such as ø stay as they are. */
export const withoutAccents = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{Diacritic}/gu, '')
    .toLowerCase()

/** The same with such letters transcribed. */
export const plainText = (text: string): string =>
  withoutAccents(text).replace(/[ßæœøłđðþı]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)

/** Words that only say that a name is a club's; kept where nothing else is left. */
const CLUB_FORMS: ReadonlySet<string> = new Set(
  'fc afc cf sc ac as ss ssc us fk sk bk if ff cd ud sd rcd vfl vfb tsg sv fsv bsc'.split(' '),
)

/**
 * What a team is filed under: `1. FC Köln` and `Köln` are `koln`, `Nott'm Forest` is `nottm forest`. Stores keep keys, so
 * a change here needs a migration.
 */
export const teamKey = (name: string): string => getOrMake(known, name, () => makeKey(name))

/** Keys of names met last, below 200 bytes each: a file names each team some twenty times. */
const KNOWN_MAX = 8_192
const known = new BoundedMap<string, string>(KNOWN_MAX)

function makeKey(name: string): string {
  const words = plainText(name)
    // U+0092 is what is left of an apostrophe of Windows in a Latin-1 file.
    .replace(/['’`´.\u0092]/g, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
  const isFirstClub = words[0] === '1' && words[1] !== undefined && CLUB_FORMS.has(words[1])
  const kept = words.slice(isFirstClub ? 1 : 0).filter((word) => !CLUB_FORMS.has(word))
  return (kept.length === 0 ? words : kept).join(' ')
}

/** Every key of a sport's tables, with the keys of all teams that go by it. */
function indexOf(groups: readonly (readonly string[])[]): ReadonlyMap<string, readonly string[]> {
  const index = new Map<string, Set<string>>()
  for (const group of groups) {
    const keys = group.map(makeKey)
    for (const key of keys) {
      const names = getOrMake(index, key, () => new Set([key]))
      for (const other of keys) names.add(other)
    }
  }
  return new Map([...index].map(([key, keys]) => [key, [...keys]]))
}

const INDEXES = new Map(
  Object.entries(aliases.teams).map(([sport, groups]) => [sport, indexOf(groups)]),
)

/** The keys under which a team of this name may be filed, its own first; several clubs if they share the name. */
export function teamKeys(sport: string, name: string): readonly string[] {
  const key = teamKey(name)
  return INDEXES.get(sport)?.get(key) ?? (key === '' ? [] : [key])
}

/** Whether a sport's table knows a name. */
export const isKnownTeam = (sport: string, name: string): boolean =>
  INDEXES.get(sport)?.has(teamKey(name)) === true

/** Whether two names may be one team. */
export function isSameTeam(sport: string, one: string, other: string): boolean {
  const keys = teamKeys(sport, other)
  return teamKeys(sport, one).some((key) => keys.includes(key))
}

const SPORTS = new Map(
  Object.entries(aliases.sports).flatMap(([sport, names]) =>
    names.map((name) => [plainText(name), sport] as const),
  ),
)

/** The sport of a sport's or a league's name, as trackers write it: `EPL` is soccer; undefined for an unknown one. */
export function sportNamed(name: string): string | undefined {
  const plain = plainText(name)
    .replace(/[_\s]+/g, ' ')
    .trim()
  return SPORTS.get(plain) ?? SPORTS.get(plain.replaceAll(' ', '_'))
}

/** A league's name without case, accents and punctuation. */
const plainLeague = (name: string): string =>
  plainText(name)
    .split(/[^\p{L}\p{N}]+/u)
    .join(' ')
    .trim()

const LEAGUES = new Map(
  Object.entries(aliases.leagues).map(([sport, groups]) => [
    sport,
    new Map(
      groups.flatMap((names, group) => names.map((name) => [plainLeague(name), group] as const)),
    ),
  ]),
)

/** Whether two feeds' names are of one league: the table says so, or they are alike. */
export function isSameLeague(sport: string, one: string, other: string): boolean {
  const [left, right] = [plainLeague(one), plainLeague(other)]
  if (left === right) return true
  const groups = LEAGUES.get(sport)
  const group = groups?.get(left)
  return group !== undefined && group === groups?.get(right)
}
