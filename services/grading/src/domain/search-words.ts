import type { EventInfo } from './event-state.ts'

/** Accents and case do not matter in a search. */
const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{Diacritic}/gu, '')
    .toLowerCase()

/** A name's words in plain lower case; `v`, `vs`, `at` and the like between teams say nothing. */
export function searchWords(text: string): readonly string[] {
  return plain(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !['v', 'vs', 'at', 'fc', 'the'].includes(word))
}

/** What an event is found by: league and teams, each word with a space before it. */
export const eventWords = (info: Pick<EventInfo, 'league' | 'home' | 'away'>): string =>
  ` ${searchWords(`${info.home} ${info.away} ${info.league}`).join(' ')}`

/** Whether every word begins one of the event's. */
export const matchesWords = (text: string, words: readonly string[]): boolean =>
  words.every((word) => text.includes(` ${word}`))
