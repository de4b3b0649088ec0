/**
 * Teams by every name that people use for them, and leagues by the names that feeds use. A name's key ignores case, accents,
 * punctuation and club forms (FC, AC). team-aliases.json lists other names: short ones, other languages' spellings, US
 * cities, nicknames and abbreviations. Nothing here is fuzzy: two names are one team only if the table says so. Tennis has
 * no table: two names are one player if they share the surname and no given name or initial speaks against it.
 */
import { getOrMake } from '@tallystick/service-kit'
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

/** Printable ASCII without its two accents, `^` and the backtick: most names, which an import reads several times each. */
const PLAIN = /^[ -\]_a-~]*$/

/** A text in lower case without accents; letters such as ø stay as they are. */
export const withoutAccents = (text: string): string =>
  PLAIN.test(text)
    ? text.toLowerCase()
    : text
        .normalize('NFD')
        .replace(/\p{Diacritic}/gu, '')
        .toLowerCase()

/** The words of a lower-case text: letters and digits of any script. */
export const wordsIn = (text: string): readonly string[] =>
  text.split(PLAIN.test(text) ? /[^a-z\d]+/ : /[^\p{L}\p{N}]+/u).filter((word) => word !== '')

/** The same with such letters transcribed. */
export const plainText = (text: string): string =>
  withoutAccents(text).replace(/[ßæœøłđðþı]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)

/** Words that only mark a name as a club's; kept if nothing else is left. */
const CLUB_FORMS: ReadonlySet<string> = new Set(
  'fc afc cf sc ac as ss ssc us fk sk bk if ff cd ud sd rcd vfl vfb tsg sv fsv bsc'.split(' '),
)

/**
 * The key that files a team: `1. FC Köln` and `Köln` are `koln`, `Nott'm Forest` is `nottm forest`. Stores keep keys, so a
 * change here needs a migration.
 */
export function teamKey(name: string): string {
  // A Windows apostrophe in a Latin-1 file reads as U+0092.
  const words = wordsIn(plainText(name).replace(/['’`´.\u0092]/g, ''))
  const isFirstClub = words[0] === '1' && words[1] !== undefined && CLUB_FORMS.has(words[1])
  const ownWords = words.slice(isFirstClub ? 1 : 0).filter((word) => !CLUB_FORMS.has(word))
  return (ownWords.length === 0 ? words : ownWords).join(' ')
}

/** For each sport, every key of a name with the keys of all teams that share the name. */
const indexNames = (
  sports: Readonly<Record<string, readonly (readonly string[])[]>>,
  toKey: (name: string) => string,
): ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> =>
  new Map(
    Object.entries(sports).map(([sport, groups]) => {
      const index = new Map<string, Set<string>>()
      for (const group of groups) {
        const keys = group.map(toKey)
        for (const key of keys) {
          const names = getOrMake(index, key, () => new Set([key]))
          for (const other of keys) names.add(other)
        }
      }
      return [sport, new Map([...index].map(([key, keys]) => [key, [...keys]]))]
    }),
  )

const TEAMS = indexNames(aliases.teams, teamKey)

/** The keys under which a team of this name may be filed, its own first; several clubs if they share the name. */
export function teamKeys(sport: string, name: string): readonly string[] {
  const key = teamKey(name)
  return TEAMS.get(sport)?.get(key) ?? (key === '' ? [] : [key])
}

export const isKnownTeam = (sport: string, name: string): boolean =>
  TEAMS.get(sport)?.has(teamKey(name)) === true

/** The full name of the team that a sport's table lists under exactly this name. */
export const fullTeamName = (sport: keyof typeof aliases.teams, name: string): string | undefined =>
  aliases.teams[sport].find((names) => names.includes(name))?.[0]

type Words = readonly string[]

/** Whether a name is the end of a longer one, and its initials those of the rest: `Sinner J.` of `Jannik Sinner`. */
function isShortFor(short: Words, long: Words): boolean {
  const surname = short.filter((word) => word.length > 1)
  const initials = short.filter((word) => word.length === 1)
  const givenName = long.slice(0, long.length - surname.length)
  return (
    surname.length > 0 &&
    surname.join(' ') === long.slice(givenName.length).join(' ') &&
    initials.every((initial, place) => givenName[place]?.startsWith(initial) === true)
  )
}

/** Whether two names may be one player's. */
function isSamePlayer(first: string, second: string): boolean {
  const [left, right] = [first, second].map((name) => wordsIn(plainText(name))) as [Words, Words]
  return (
    left.toSorted().join(' ') === right.toSorted().join(' ') ||
    isShortFor(left, right) ||
    isShortFor(right, left)
  )
}

/** Whether two names may be one team's, or one player's. */
export function isSameTeam(sport: string, first: string, second: string): boolean {
  if (sport === 'tennis') return isSamePlayer(first, second)
  const keys = teamKeys(sport, second)
  return teamKeys(sport, first).some((key) => keys.includes(key))
}

const SPORTS = new Map(
  Object.entries(aliases.sports).flatMap(([sport, names]) =>
    names.map((name) => [plainText(name), sport] as const),
  ),
)

/** The sport of a sport's or a league's name, as trackers write it: `EPL` is soccer; undefined for an unknown one. */
export function sportNamed(name: string): string | undefined {
  const known = SPORTS.get(name)
  if (known !== undefined) return known
  const plain = plainText(name)
    .replace(/[_\s]+/g, ' ')
    .trim()
  // Each tournament of a tour is a league of its own: `ATP Paris Masters`.
  const tour = /^(?:atp|wta|itf) /.exec(plain)?.[0].trim() ?? ''
  return (
    SPORTS.get(plain) ??
    SPORTS.get(plain.replaceAll(' ', '_')) ??
    SPORTS.get(tour) ??
    sportOfLeague(name)
  )
}

/** The only sport with a league of this name. */
function sportOfLeague(name: string): string | undefined {
  const league = plainLeague(name)
  const [sport, ...others] = [...LEAGUES].flatMap(([ofLeague, names]) =>
    names.has(league) ? [ofLeague] : [],
  )
  return others.length === 0 ? sport : undefined
}

/** A league's name without case, accents and punctuation. */
const plainLeague = (name: string): string => wordsIn(plainText(name)).join(' ')

const LEAGUES = indexNames(aliases.leagues, plainLeague)

/** Whether two feeds' names mean one league: the table says so, or they are alike. */
export function isSameLeague(sport: string, first: string, second: string): boolean {
  const [left, right] = [plainLeague(first), plainLeague(second)]
  return left === right || LEAGUES.get(sport)?.get(left)?.includes(right) === true
}

/** Words of a league whose teams only share their names with a first team's: of women, youth, reserves and simulations. */
const OTHER_TEAMS = new RegExp(
  String.raw`\b(?:${[
    'women|womens|wsl|nwsl|uwcl|frauen|liga f|femenin[ao]|feminine|femminile|feminino|ladies|girls|damallsvenskan|toppserien',
    'youth|juniors?|u ?1[5-9]|u ?2[0-3]|under ?(?:1[5-9]|2[0-3])|reserves?|primavera|academy|development|pl2|premier league 2',
    'srl|simulated|simulation|virtuals?|cyber|e ?soccer|e ?football|e ?sports?|efootball',
  ].join('|')})\b`,
)

/** Whether a text says only that its teams are others of the same names. */
export const isOfOtherTeams = (text: string): boolean =>
  OTHER_TEAMS.test(plainLeague(text)) && plainLeague(text).replace(OTHER_TEAMS, '').trim() === ''

/** Whether two names may mean one league or two: they differ, and no table knows both. A sport is no league's name. */
export function isLeagueUncompared(sport: string, first: string, second: string): boolean {
  const [left, right] = [plainLeague(first), plainLeague(second)]
  if (left === '' || right === '' || SPORTS.get(left) === sport) return false
  return !isSameLeague(sport, first, second) && !isOtherLeague(sport, first, second)
}

/** Whether two names certainly mean different leagues: the table knows both and keeps them apart, or only one is of women, youth or reserves. */
export function isOtherLeague(sport: string, first: string, second: string): boolean {
  const [left, right] = [plainLeague(first), plainLeague(second)]
  if (left === '' || right === '' || isSameLeague(sport, first, second)) return false
  if (OTHER_TEAMS.test(left) !== OTHER_TEAMS.test(right)) return true
  const names = LEAGUES.get(sport)
  return names?.has(left) === true && names.has(right)
}
