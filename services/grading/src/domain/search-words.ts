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

/** Letters of a word from which on it may stand for a longer one: "a" begins a word of nearly every event. */
export const PREFIX_LETTERS_MIN = 3

/** Whether the event has every word, or unless whole ones are asked for, one that begins so. */
export function matchesWords(
  text: string,
  {
    words,
    isWholeWords = false,
  }: { readonly words: readonly string[]; readonly isWholeWords?: boolean },
): boolean {
  return words.every((word) =>
    isWholeWords || word.length < PREFIX_LETTERS_MIN
      ? `${text} `.includes(` ${word} `)
      : text.includes(` ${word}`),
  )
}
