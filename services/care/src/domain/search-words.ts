/**
 * The words that a text is found by (C26): the same for everybody who writes it another way. What is folded is folded in records and
 * queries alike; nothing that is shown goes through here.
 */
import { foldLetters, PLAIN, TWO_FOR_ONE } from '../wire/reads-as.ts'

/** Scripts that put no space between words. */
const UNSPACED =
  '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}ー々]'
const RUN = new RegExp(`${UNSPACED}+`, 'gu')
/** A word, also one that a hyphen or an apostrophe joins. */
const WORD = /[\p{L}\p{M}\p{N}]+(?:[-\u2010-\u2013'’][\p{L}\p{M}\p{N}]+)*/gu
const PLAIN_WORD = /[a-z\d]+(?:[-'][a-z\d]+)*/g
const JOINT = /[-\u2010-\u2013'’]/u
/** The article, alone or behind one or two words that are written with it. */
const ARTICLE = /^[وف]?[بك]?(?:ال|لل)(?=.{2})/u

const foldWord = (word: string): string => word.replace(TWO_FOR_ONE, '$1').replace(ARTICLE, '')

/** A word of a query or a text: all of its parts are where it is. */
export type SearchWord = readonly string[]

/** Pairs of neighbours in a run without spaces, and each sign of a text alone, for who asks for one. */
function runParts(run: string): readonly string[] {
  const signs = Array.from(run)
  return signs.length === 1 ? signs : signs.slice(1).map((sign, at) => `${signs[at] ?? ''}${sign}`)
}

function wordParts(word: string): readonly SearchWord[] {
  const parts = word.split(JOINT)
  const joined = parts.length > 1 ? [parts.join('')] : []
  return [...parts, ...joined].map((part) => [foldWord(part)])
}

/** The words of a text, and its runs without spaces. */
function split(text: string): {
  readonly words: readonly string[]
  readonly runs: readonly string[]
} {
  const folded = foldLetters(text)
  if (PLAIN.test(folded)) return { words: folded.match(PLAIN_WORD) ?? [], runs: [] }
  return { words: folded.replace(RUN, ' ').match(WORD) ?? [], runs: folded.match(RUN) ?? [] }
}

/** The words of a query, each once. */
export function splitWords(text: string): readonly SearchWord[] {
  const { runs, words } = split(text)
  const all = [...words.flatMap(wordParts), ...runs.map(runParts)]
  return [...new Map(all.map((word) => [word.join(' '), word] as const)).values()]
}

/** What a text is found by: the parts of its words, and the single signs of its runs. */
export function splitParts(text: string): readonly string[] {
  const { runs, words } = split(text)
  const ofRuns = runs.flatMap((run) => [...runParts(run), ...Array.from(run)])
  return [...new Set([...words.flatMap(wordParts).flat(), ...ofRuns])]
}
