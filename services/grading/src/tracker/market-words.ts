/**
 * Cuts what a bet says into words that the reader accounts for: the event's teams, lines, scores and the phrases of
 * market-phrases.json. Whatever is none of them stays `unknown`. What the words mean together is tracker-market.ts's.
 */
import { ownValue } from '../domain/markets.ts'
import { isSameTeam, plainText } from '../domain/team-names.ts'
import type { RowCode } from '../wire/card-codes.ts'
import phrases from './market-phrases.json' with { type: 'json' }
import type { Teams } from './tracker-events.ts'

/** One word, or several that are one. */
export type MarketWord =
  /** What a phrase means: `type:ah`, `side:home`. */
  | { readonly kind: 'phrase'; readonly means: readonly string[] }
  | { readonly kind: 'team'; readonly side: 'home' | 'away' }
  /** `isSigned`: a handicap without a sign may be anybody's. */
  | { readonly kind: 'line'; readonly line: number; readonly isSigned: boolean }
  | { readonly kind: 'score'; readonly score: string }
  | { readonly kind: 'notRecorded'; readonly what: string; readonly code: RowCode }
  | { readonly kind: 'unknown'; readonly text: string }

type Token = {
  readonly kind: 'word' | 'line' | 'score' | 'symbol'
  readonly text: string
  readonly start: number
  readonly line?: number
}

const NUMBER = String.raw`[+-]?(?:\d+(?:\.\d+)?|\.\d+)`
const COMMA_NUMBER = String.raw`[+-]?(?:\d+(?:[.,]\d+)?|\.\d+)`
const BETWEEN = String.raw`\s*(?:[/,&]|\band\b)\s*`
const END = String.raw`(?![\p{L}\d])`
/** `-0.5 & +0`, `0/-0.5`; `2,5/3`; `-1`. */
const LINES = [
  new RegExp(`(${NUMBER})${BETWEEN}(${NUMBER})${END}`, 'uy'),
  new RegExp(`(${COMMA_NUMBER})${BETWEEN}(${COMMA_NUMBER})${END}`, 'uy'),
  new RegExp(`(${COMMA_NUMBER})${END}`, 'uy'),
]
const SCORE = /(?<![\d.,])\d{1,2}\s?[-:]\s?\d{1,2}(?![\d.,:]|\p{L})/uy
/** `d.c.`, `nott'm`, `1st`. */
const WORD = /\p{L}(?:\.\p{L})+(?!\p{L})|[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*/uy

const numberIn = (text: string): number => Number(text.replace(',', '.'))

/** A line, or the mean of a split one, whose second half takes the first's sign if it has none. */
function lineIn(first: string, second: string | undefined): number | undefined {
  const low = numberIn(first)
  if (second === undefined) return low
  const isUnsigned = !/^[+-]/.test(second)
  const high = numberIn(second) * (isUnsigned && first.startsWith('-') ? -1 : 1)
  return Math.abs(Math.abs(low - high) - 0.5) < 1e-9 ? (low + high) / 2 : undefined
}

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function tokenAt(text: string, start: number): Token | undefined {
  const score = matchAt(SCORE, text, start)?.[0]
  if (score !== undefined) return { kind: 'score', text: score, start }
  for (const pattern of LINES) {
    const [found, first = '', second] = matchAt(pattern, text, start) ?? []
    const line = found === undefined ? undefined : lineIn(first, second)
    if (found !== undefined && line !== undefined) return { kind: 'line', text: found, start, line }
  }
  const word = matchAt(WORD, text, start)?.[0]
  if (word !== undefined) return { kind: 'word', text: word, start }
  const symbol = String.fromCodePoint(text.codePointAt(start) ?? 0x20)
  return symbol.trim() === '' ? undefined : { kind: 'symbol', text: symbol, start }
}

const QUARTERS: Readonly<Record<string, string>> = { '¼': '.25', '½': '.5', '¾': '.75' }

/** The same text with one dash, decimal fractions, and a space between `over` and its number. */
const tidy = (text: string): string =>
  plainText(text)
    .replace(/[‐‑‒–—−_]/g, (dash) => (dash === '_' ? ' ' : '-'))
    .replace(/(?<=\d\s+|[+-])([13])\/([24])(?!\d)/g, (_all, top: string, bottom: string) =>
      top === '3' ? '¾' : bottom === '2' ? '½' : '¼',
    )
    .replace(/(?:(\d)\s*)?([¼½¾])/g, (_all, whole = '', part: string) => whole + QUARTERS[part])
    // `O/U 2.5` is neither.
    .replace(/(?<=o\s*\/\s*u)(?=\.?\d)/gu, ' ')
    .replace(/(?<![\p{L}\d]|u\s*\/\s*)o\s*(?=\.?\d)/gu, 'over ')
    // `U21` is a team of youths.
    .replace(/(?<![\p{L}\d]|o\s*\/\s*)u\s*(?!(?:1[5-9]|2[0-3])(?![.\d]))(?=\.?\d)/gu, 'under ')
    .replace(/(?<!\p{L})(over|under|ov|uber|unter)(?=\.?\d)/gu, '$1 ')
    .trim()

const endOf = ({ start, text }: Token): number => start + text.length

function tokensIn(text: string): readonly Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at)
    if (token !== undefined) tokens.push(token)
    at = token === undefined ? at + 1 : endOf(token)
  }
  return tokens
}

/** How a phrase is looked up. */
const wordText = ({ text }: Token): string => text.replace(/[.'’]/g, '')

type Phrase = Extract<MarketWord, { kind: 'phrase' | 'notRecorded' }>

type Languages = { readonly en: string } & Partial<Record<'de' | 'es' | 'it' | 'fr', string>>

/** Every phrase of the table by its words. */
export const MARKET_PHRASES: ReadonlyMap<string, Phrase> = new Map(
  [...phrases.notRecorded, ...phrases.says].flatMap((row) => {
    const phrase: Phrase =
      'what' in row
        ? { kind: 'notRecorded', what: row.what, code: (row.code ?? 'other_market') as RowCode }
        : { kind: 'phrase', means: row.means.split(' ') }
    const { en, de = '', es = '', it = '', fr = '' }: Languages = row
    return [en, de, es, it, fr]
      .flatMap((texts) => texts.split('|'))
      .map((text) => [tokensIn(plainText(text)).map(wordText).join(' '), phrase] as const)
  }),
)

const PHRASE_WORDS_MAX = Math.max(...[...MARKET_PHRASES.keys()].map((key) => key.split(' ').length))
/** Words of the longest team name, `Borussia VfL 1900 Mönchengladbach e V`. */
const TEAM_WORDS_MAX = 7

type Named = { readonly sport: string; readonly teams: Teams | undefined }

const isWord = ({ kind, text }: Token): boolean =>
  kind === 'word' || (kind === 'line' && /^\d+$/.test(text))

/** Symbols that separate words and mean nothing; `&` and `+` combine two bets, and any other is unknown. */
const SEPARATORS = '()[]:;,.?!|/-*"\'’#°•·'

/** A text's tokens, and the place among them that is read. */
type Place = { readonly text: string; readonly tokens: readonly Token[]; readonly at: number }

/** The last of the names that grow from a place word by word for which there is a meaning, and how many tokens it takes. */
function longestAt<Meaning>(
  { text, tokens, at }: Place,
  wordsMax: number,
  meaningOf: (name: string, words: string) => Meaning | undefined,
) {
  const words: string[] = []
  let found: { readonly taken: number; readonly meaning: Meaning } | undefined
  for (const [index, token] of tokens.slice(at).entries()) {
    if (token.kind === 'symbol' && words.length > 0) continue
    if (!isWord(token) || words.length === wordsMax) break
    words.push(wordText(token))
    const meaning = meaningOf(text.slice(tokens[at]?.start, endOf(token)), words.join(' '))
    if (meaning !== undefined) found = { taken: index + 1, meaning }
  }
  return found
}

/** A phrase; marks inside it say nothing, but `&` and `+` do. */
const phraseAt = (place: Place) =>
  longestAt(place, PHRASE_WORDS_MAX, (name, words) =>
    /[&+]/.test(name) ? undefined : MARKET_PHRASES.get(words),
  )

/** One of the event's teams. A line is no part of a name: `Mainz 0.5` is not Mainz 05. */
const teamAt = (place: Place, { sport, teams }: Named) =>
  longestAt(place, TEAM_WORDS_MAX, (name): 'home' | 'away' | undefined => {
    if (teams === undefined) return undefined
    const isHome = isSameTeam(sport, teams.home, name)
    if (isHome === isSameTeam(sport, teams.away, name)) return undefined
    return isHome ? 'home' : 'away'
  })

/** Meanings that give way to the name of one of the event's teams: `NO` is New Orleans, `WIN` Winnipeg. */
const YIELDS_TO_TEAM = /^(?:answer|nothing|type:winner)/

const unknown = (text: string): MarketWord => ({ kind: 'unknown', text })

/** Marks between two bets as well as between words: `Arsenal, Over 2.5`, `Half Time / Match Winner`. */
const MAY_COMBINE = '/,;|'

/** A mark: it separates words, combines two bets (`&`, `+`), may do either, or is unknown. */
function readSymbol(text: string): MarketWord | undefined {
  if (MAY_COMBINE.includes(text)) return { kind: 'phrase', means: [`mark:${text}`] }
  if (SEPARATORS.includes(text)) return undefined
  return text === '&' || text === '+' ? MARKET_PHRASES.get('and') : unknown(text)
}

type Read = { readonly taken: number; readonly word: MarketWord | undefined }

function wordAt(place: Place, named: Named): Read {
  const { at, tokens } = place
  const token = tokens[at] as Token
  if (token.kind === 'symbol') return { taken: 1, word: readSymbol(token.text) }
  if (token.kind === 'score')
    return { taken: 1, word: { kind: 'score', score: token.text.replace(/\s?[-:]\s?/, '-') } }
  const phrase = phraseAt(place)
  const team = teamAt(place, named)
  if (team !== undefined && team.taken >= (phrase?.taken ?? 0)) {
    const { taken, meaning: side } = team
    const isClear =
      taken !== phrase?.taken ||
      phrase.meaning.kind === 'notRecorded' ||
      phrase.meaning.means.some((meaning) => YIELDS_TO_TEAM.test(meaning))
    return { taken, word: isClear ? { kind: 'team', side } : unknown(token.text) }
  }
  if (phrase !== undefined) return { taken: phrase.taken, word: phrase.meaning }
  if (token.line === undefined) return { taken: 1, word: unknown(token.text) }
  // `Arsenal - 0.5`: the dash may be its sign.
  const isSigned = /[+-]/.test(token.text) && tokens[at - 1]?.text !== '-'
  return { taken: 1, word: { kind: 'line', line: token.line, isSigned } }
}

/** What may stand before a code: `Handicap 1`, but not `Game 1`. */
const BEFORE_CODE = /^(?:type|period|lines|mark):/

/** The words of a market's name, a selection or a line. A code such as `1` or `X2` is read only in a selection. */
export function readWords(
  written: string,
  { hasCodes, ...named }: Named & { readonly hasCodes: boolean },
): readonly MarketWord[] {
  const text = tidy(written)
  const tokens = tokensIn(text)
  const words: MarketWord[] = []
  // Before anything that says which side was backed.
  let mayBeCode = hasCodes
  for (let at = 0; at < tokens.length; ) {
    const code = mayBeCode ? ownValue(phrases.codes, tokens[at]?.text ?? '') : undefined
    const found = wordAt({ text, tokens, at }, named)
    const isCode = code !== undefined && found.taken === 1 && found.word?.kind !== 'team'
    const { taken, word } = isCode
      ? { taken: 1, word: { kind: 'phrase', means: [code] } as const }
      : found
    at += taken
    if (word === undefined) continue
    words.push(word)
    mayBeCode &&= word.kind === 'phrase' && word.means.every((meaning) => BEFORE_CODE.test(meaning))
  }
  return withoutPair(words)
}

/** `Arsenal v Chelsea` before or behind the market's name is the event. */
function withoutPair(words: readonly MarketWord[]): readonly MarketWord[] {
  const at = words.findIndex((word) => word.kind === 'phrase' && word.means[0] === 'versus')
  const [before, after] = [words[at - 1], words[at + 1]]
  const isPair = before?.kind === 'team' && after?.kind === 'team' && before.side !== after.side
  return isPair ? words.toSpliced(at - 1, 3) : words
}
