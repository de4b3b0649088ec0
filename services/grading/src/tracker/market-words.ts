/**
 * Cuts what a bet says into words that the reader accounts for: the event's teams, lines, scores and the phrases of
 * market-phrases.json. Whatever is none of them stays `unknown`. What the words mean together is tracker-market.ts's.
 */
import { ownValue } from '../domain/markets/markets.ts'
import { plainText } from '../domain/markets/team-names.ts'
import type { RowCode } from '../wire/card-codes.ts'
import phrases from './market-phrases.json' with { type: 'json' }
import { sideNamed, type Teams } from './tracker-events.ts'

/** `isSigned`: a handicap without a sign may be anybody's. */
type Line = { readonly line: number; readonly isSigned: boolean }

/** One word, or several that are one: a phrase or a team means `type:ah`, `side:home`, `mark:/` and so on. */
type Word = {
  readonly means?: readonly string[]
  readonly team?: 'home' | 'away'
  readonly line?: Line
  readonly score?: string
  readonly notRecorded?: { readonly what: string; readonly code: RowCode }
  readonly unknown?: string
}

type Token = {
  readonly kind: 'word' | 'line' | 'score' | 'symbol'
  readonly text: string
  readonly start: number
  readonly line?: number | undefined
}

const NUMBER = String.raw`[+-]?(?:\d+(?:\.\d+)?|\.\d+)`
const COMMA_NUMBER = String.raw`[+-]?(?:\d+(?:[.,]\d+)?|\.\d+)`
const BETWEEN = String.raw`\s*(?:[/,&]|\band\b)\s*`
const END = String.raw`(?![\p{L}\d])`
const TOKENS: readonly (readonly [Token['kind'], RegExp])[] = [
  ['score', /(?<![\d.,])\d{1,2}\s?[-:]\s?\d{1,2}(?![\d.,:]|\p{L})/uy],
  // `-0.5 & +0`, `0/-0.5`; `2,5/3`; `-1`.
  ['line', new RegExp(`(${NUMBER})${BETWEEN}(${NUMBER})${END}`, 'uy')],
  ['line', new RegExp(`(${COMMA_NUMBER})${BETWEEN}(${COMMA_NUMBER})${END}`, 'uy')],
  ['line', new RegExp(`(${COMMA_NUMBER})${END}`, 'uy')],
  // `d.c.`, `nott'm`, `1st`.
  ['word', /\p{L}(?:\.\p{L})+(?!\p{L})|[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*/uy],
  ['symbol', /\S/uy],
]

const numberIn = (text: string): number => Number(text.replace(',', '.'))

/** A line, or the mean of a split one, whose second half takes the first's sign if it has none. */
function lineIn(first: string, second: string | undefined): number | undefined {
  const low = numberIn(first)
  if (second === undefined) return low
  const isUnsigned = !/^[+-]/.test(second)
  const high = numberIn(second) * (isUnsigned && first.startsWith('-') ? -1 : 1)
  return Math.abs(Math.abs(low - high) - 0.5) < 1e-9 ? (low + high) / 2 : undefined
}

/** What a text is before it is cut: one dash, decimal fractions, and a space between `over` and its number. */
const TIDIED: readonly (readonly [RegExp, string])[] = [
  [/[‐‑‒–—−]/g, '-'],
  [/_/g, ' '],
  [/(?:(\d)\s*)?(?:¼|(?<=\d\s+|[+-])1\/4(?!\d))/g, '$1.25'],
  [/(?:(\d)\s*)?(?:½|(?<=\d\s+|[+-])1\/2(?!\d))/g, '$1.5'],
  [/(?:(\d)\s*)?(?:¾|(?<=\d\s+|[+-])3\/4(?!\d))/g, '$1.75'],
  // `O/U 2.5` is neither.
  [/(?<=o\s*\/\s*u)(?=\.?\d)/gu, ' '],
  [/(?<![\p{L}\d]|u\s*\/\s*)o\s*(?=\.?\d)/gu, 'over '],
  // `U21` is a team of youths.
  [/(?<![\p{L}\d]|o\s*\/\s*)u\s*(?!(?:1[5-9]|2[0-3])(?![.\d]))(?=\.?\d)/gu, 'under '],
  [/(?<!\p{L})(over|under|ov|uber|unter)(?=\.?\d)/gu, '$1 '],
]

const tidy = (text: string): string =>
  TIDIED.reduce((tidied, [from, to]) => tidied.replace(from, to), plainText(text)).trim()

function tokenAt(text: string, start: number): Token | undefined {
  for (const [kind, pattern] of TOKENS) {
    pattern.lastIndex = start
    const [found, first = '', second] = pattern.exec(text) ?? []
    const line = kind === 'line' ? lineIn(first, second) : undefined
    const isToken = found !== undefined && (kind !== 'line' || line !== undefined)
    if (isToken) return { kind, text: found, start, line }
  }
  return undefined
}

const tokenEnd = ({ start, text }: Token): number => start + text.length

function tokensIn(text: string): readonly Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at)
    if (token !== undefined) tokens.push(token)
    at = token === undefined ? at + 1 : tokenEnd(token)
  }
  return tokens
}

/** How a phrase is looked up. */
const wordText = ({ text }: Token): string => text.replace(/[.'’]/g, '')

/** A row of the table: what its phrases mean, or why they are not read, and the phrases by language. */
type PhraseRow = { readonly means?: string; readonly what?: string; readonly code?: string }

/** `pick'em` is a line of zero. */
const phraseWord = ({ code = 'other_market', means = '', what }: PhraseRow): Word => {
  if (what !== undefined) return { notRecorded: { what, code: code as RowCode } }
  const level = means.startsWith('level') ? { line: { line: 0, isSigned: true } } : {}
  return { means: means.split(' '), ...level }
}

/** Every phrase of the table by its words. */
export const MARKET_PHRASES: ReadonlyMap<string, Word> = new Map(
  [...phrases.notRecorded, ...phrases.says].flatMap((row: PhraseRow) => {
    const { code: _code, means: _means, what: _what, ...byLanguage } = row
    return Object.values<string>(byLanguage)
      .flatMap((texts) => texts.split('|'))
      .map((text) => [tokensIn(plainText(text)).map(wordText).join(' '), phraseWord(row)] as const)
  }),
)

/** Words of the longest team name, `Borussia VfL 1900 Mönchengladbach e V`, or of a longer phrase. */
const NAME_WORDS_MAX = Math.max(
  7,
  ...[...MARKET_PHRASES.keys()].map((key) => key.split(' ').length),
)

/** A place among a text's tokens, and the event that the text may name. */
type Place = {
  readonly text: string
  readonly tokens: readonly Token[]
  readonly at: number
  readonly sport: string
  readonly teams: Teams | undefined
}

const isWord = ({ kind, text }: Token): boolean =>
  kind === 'word' || (kind === 'line' && /^\d+$/.test(text))

/** What the names mean that grow from a place word by word, and how many tokens each takes. */
function namesAt({ at, sport, teams, text, tokens }: Place) {
  const words: string[] = []
  const names = []
  for (const [index, token] of tokens.slice(at).entries()) {
    if (token.kind === 'symbol' && words.length > 0) continue
    if (!isWord(token) || words.length === NAME_WORDS_MAX) break
    words.push(wordText(token))
    const name = text.slice(tokens[at]?.start, tokenEnd(token))
    names.push({
      taken: index + 1,
      // Marks inside a phrase say nothing, but `&` and `+` do.
      phrase: /[&+]/.test(name) ? undefined : MARKET_PHRASES.get(words.join(' ')),
      side: teams && sideNamed(sport, name, teams),
    })
  }
  return names
}

/** Meanings that give way to the name of one of the event's teams: `NO` is New Orleans, `WIN` Winnipeg. */
const YIELDS_TO_TEAM = /^(?:answer|nothing|type:winner)/

/** Symbols that separate words and mean nothing; `&` and `+` combine two bets, and any other is unknown. */
const SEPARATORS = '()[]:.?!-*"\'’#°•·'
/** Marks between two bets as well as between words: `Arsenal, Over 2.5`, `Half Time / Match Winner`. */
const MAY_COMBINE = '/,;|'

function readSymbol(text: string): Word | undefined {
  if (MAY_COMBINE.includes(text)) return { means: [`mark:${text}`] }
  if (SEPARATORS.includes(text)) return undefined
  return (/[&+]/.test(text) ? MARKET_PHRASES.get('and') : undefined) ?? { unknown: text }
}

function wordAt(place: Place): { taken: number; word: Word | undefined } {
  const { at, tokens } = place
  const token = tokens[at] as Token
  if (token.kind === 'symbol') return { taken: 1, word: readSymbol(token.text) }
  if (token.kind === 'score')
    return { taken: 1, word: { score: token.text.replace(/\s?[-:]\s?/, '-') } }
  const names = namesAt(place)
  const longest = names.findLast(({ phrase }) => phrase !== undefined)
  // A line is no part of a name: `Mainz 0.5` is not Mainz 05.
  const { side, taken = 0 } = names.findLast((name) => name.side !== undefined) ?? {}
  if (side !== undefined && taken >= (longest?.taken ?? 0)) {
    const means = taken === longest?.taken ? longest.phrase?.means : undefined
    const isClear = means?.some((meaning) => YIELDS_TO_TEAM.test(meaning)) ?? true
    const word = isClear ? { team: side, means: [`side:${side}`] } : { unknown: token.text }
    return { taken, word }
  }
  if (longest !== undefined) return { taken: longest.taken, word: longest.phrase }
  if (token.line === undefined) return { taken: 1, word: { unknown: token.text } }
  // `Arsenal - 0.5`: the dash may be its sign.
  const isSigned = /[+-]/.test(token.text) && tokens[at - 1]?.text !== '-'
  return { taken: 1, word: { line: { line: token.line, isSigned } } }
}

/** What may stand before a code: `Handicap 1`, but not `Game 1`. */
const BEFORE_CODE = /^(?:type|period|lines|mark):/

/** What a market's name, a selection or a line says. A code such as `1` or `X2` is read only in a selection. */
export function readWords(
  written: string,
  event: Pick<Place, 'sport' | 'teams'>,
  hasCodes = false,
): Said {
  const text = tidy(written)
  const tokens = tokensIn(text)
  const words: Word[] = []
  // Before anything that says which side was backed.
  let mayBeCode = hasCodes
  for (let at = 0; at < tokens.length; ) {
    const code = mayBeCode ? ownValue(phrases.codes, tokens[at]?.text ?? '') : undefined
    const { taken, word } = wordAt({ ...event, text, tokens, at })
    at += taken
    if (word === undefined) continue
    const isCode = code !== undefined && taken === 1 && word.team === undefined
    words.push(isCode ? { means: [code] } : word)
    mayBeCode &&= words.at(-1)?.means?.every((meaning) => BEFORE_CODE.test(meaning)) === true
  }
  return gather(withoutPair(words))
}

/** `Arsenal v Chelsea` before or behind the market's name is the event. */
function withoutPair(words: readonly Word[]): readonly Word[] {
  const at = words.findIndex(({ means }) => means?.[0] === 'versus')
  const [before, after] = [words[at - 1]?.team, words[at + 1]?.team]
  const isPair = before !== undefined && after !== undefined && before !== after
  return isPair ? words.toSpliced(at - 1, 3) : words
}

/** The values of a name in meanings such as `type:ah`, each once. */
export const valuesIn =
  (means: readonly string[]) =>
  (name: string): readonly string[] => {
    const named = means.filter((meaning) => meaning.startsWith(`${name}:`))
    return [...new Set(named)].map((meaning) => meaning.slice(name.length + 1))
  }

/** What one text says. */
export type Said = ReturnType<typeof gather>

function gather(words: readonly Word[]) {
  const means = words.flatMap((word) => word.means ?? [])
  return {
    means,
    values: valuesIn(means),
    lines: words.flatMap(({ line }) => line ?? []),
    scores: words.flatMap(({ score }) => score ?? []),
    notRecorded: words.flatMap(({ notRecorded }) => notRecorded ?? []),
    unknown: words.flatMap(({ unknown }) => unknown ?? []),
  }
}
