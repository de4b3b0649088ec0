/** How events are filed and asked for by words, alike for every engine. */
import type { EventInfo } from '../domain/event-state.ts'
import { PREFIX_LETTERS_MIN } from '../domain/find-events.ts'
import type { EventSearch } from '../domain/grading-store.ts'

/** Events with the words of a search that are looked at, the last recorded first: "united" alone is in tens of thousands. */
export const FOUND_EVENTS_MAX = 1_000

/** A sport's name as one word of the index, which no team has; two sports that differ in a dash share it. */
export const sportWord = (sport: string): string => `sport${sport.replace(/[_-]/g, '')}`

/** Whether a word of a search may be the beginning of a longer one. */
export const isBeginning = ({ isWholeWords = false }: EventSearch, word: string): boolean =>
  !isWholeWords && word.length >= PREFIX_LETTERS_MIN

/** Whether a search is by words alone, which an index of words answers. */
export const isByWords = ({ from, to, words }: EventSearch): boolean =>
  from === undefined && to === undefined && words.length > 0

/**
 * Finds by whole words, and by beginnings where those do not fill the answer: an index gathers all events of a beginning
 * before it names the first, and a word such as `united` begins tens of thousands.
 */
export async function wholeWordsFirst(
  search: EventSearch,
  find: (search: EventSearch) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const { isWholeWords = false, limit, teams } = search
  if (isWholeWords || teams !== undefined || !isByWords(search)) return find(search)
  const whole = await find({ ...search, isWholeWords: true })
  return whole.length < limit ? find(search) : whole
}

/** Where an event's words must have each word of a search: `words || ' '` contains all of these. */
export const wordParts = (search: EventSearch): readonly string[] =>
  search.words.map((word) => (isBeginning(search, word) ? ` ${word}` : ` ${word} `))

/** The days of a search, from (inclusive) to (exclusive), Unix seconds. */
export const daysOf = ({ from, to }: EventSearch): readonly [from: number, to: number] => [
  from ?? Number.MIN_SAFE_INTEGER,
  to ?? Number.MAX_SAFE_INTEGER,
]

/** Whether an event is found by the same words and day as before. */
export const isFiledAlike = (one: EventInfo, other: EventInfo): boolean =>
  one.startAtSeconds === other.startAtSeconds &&
  one.home === other.home &&
  one.away === other.away &&
  one.league === other.league
