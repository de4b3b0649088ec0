/**
 * What kind of bet a row is, before anything else is read of it (G19): only a bet before the start, on its selection and by
 * itself, is graded as a single. The words are in bet-kind-words.json, the columns in tracker-columns.json.
 */
import { ownValue } from '../domain/markets/markets.ts'
import { plainText, sportNamed } from '../domain/markets/team-names.ts'
import words from './bet-kind-words.json' with { type: 'json' }
import type { TrackerCells } from './tracker-columns.ts'
import { problem, type TrackerProblem } from './tracker-problem.ts'
import { amountIn } from './tracker-record.ts'

/**
 * Words of one kind: in any text, alone in a cell or tag or anywhere in a column of kinds, and only in such a column; and
 * those that hold such a word and do not mean it.
 */
type KindWords = (typeof words.kinds)[BetKind]

export type BetKind = keyof typeof words.kinds

const list = (text: string): readonly string[] => text.split(' | ').filter((word) => word !== '')

/** A bet against its selection or on it, in a column that says which side was taken. */
const { lay, in_play: inPlay, multiple } = words.kinds
const AGAINST = new Set([lay.alone, lay.anywhere, lay.inKinds, words.against].flatMap(list))
const FOR = new Set(list(words.for))
/** What says no in a column that flags something; a sign such as a cross says as much as an empty cell. */
const NO = new Set(['', ...list(words.no)])

/** A text as the lists have it: no accents, case or punctuation, digits apart from letters, `#` for a number but 1. */
const plainWords = (text: string): string =>
  plainText(text)
    .replace(/\d(?=\p{L})|\p{L}(?=\d)/gu, '$& ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .replace(/\b(?!1\b)\d+\b/g, '#')
    .trim()

/** `#` of a list is any number but 1. */
const phraseIn = (...lists: readonly string[]): RegExp =>
  new RegExp(`(?<![^ ])(?:${lists.flatMap(list).join('|') || '(?!)'})(?![^ ])`, 'gu')

const has = (phrase: RegExp, text: string): boolean => text.search(phrase) !== -1

export function kindProblem(kind: BetKind): TrackerProblem {
  const { expected, field } = words.kinds[kind]
  return problem(field, expected, kind)
}

/** In a sentence of a note these may be said of anything; the reader is asked. */
const ASKED_IN_NOTES = list(words.askedInNotes)

/** How much else may stand beside a kind's words: anything, in a column of kinds also other words, in tags fewer, or nothing. */
type Reach = 'text' | 'kinds' | 'tags' | 'whole'

const compileKind = ([kind, { alone, anywhere, except, inKinds }]: [string, KindWords]) => ({
  kind: kind as BetKind,
  except: phraseIn(except),
  whole: new Set([anywhere, alone].flatMap(list)),
  text: phraseIn(anywhere),
  kinds: phraseIn(anywhere, alone, inKinds),
  tags: phraseIn(...list(anywhere).filter((word) => !ASKED_IN_NOTES.includes(word))),
})

const KINDS = Object.entries(words.kinds).map(compileKind)

/** The kind that a cell names. */
function kindNamed(cell: string, reach: Reach): BetKind | undefined {
  if (cell === '') return undefined
  const text = plainWords(cell)
  const parts = reach === 'tags' ? cell.split(/[,;|#/\n•·]+/).map(plainWords) : [text]
  return KINDS.find((kind) => {
    if (parts.some((part) => kind.whole.has(part))) return true
    return reach !== 'whole' && has(kind[reach], text.replace(kind.except, ' '))
  })?.kind
}

/** Whether a column that flags something says so: what it does not know as a no is a yes. */
const isMarked = (cell: string): boolean => {
  const flag = plainText(cell).replace(/[^\p{L}\p{N}✓✔☑]+/gu, ' ')
  return !NO.has(flag.trim())
}

/** A current score, `(1-0)` or `@ 0:1`: neither a date, a time, a line of two halves nor a leading zero. */
const SCORE = /(?<![\d.,:+/-]|- )(?!0\d)\d{1,3}(?:\s?[-–]\s?(?!0\d)\d{1,3}|:\d)(?![\d:/%-]|[.,]\d)/u
const BRACKETED_SCORE = new RegExp(String.raw`[([]\s*(?:${SCORE.source})\s*[)\]]`, 'u')
const CORRECT_SCORE = /score|resultado exacto|risultato esatto|ergebnis|\bcs\b/i
/** Several bets in one cell, or one that is joined to the row above: `A + B`, `A | B`, `+ B`, a line each; but neither `A +1` nor `-0.5 & +0`. */
const JOINED = /\n|^[+&]\s*(?=\p{L})|\s[|]\s|\p{L}\s*\+\s*(?=\p{L})|[\d)]\s\+\s(?=\p{L})/u
const VERSUS = /\s(?:v|vs|versus|@)\.?\s/gi

/** Whether the market or the selection has a score that is not itself the bet. */
function hasScore({ cell, hints }: TrackerCells): boolean {
  const [market, selection] = [cell('market'), cell('selection')]
  const isOfScores = CORRECT_SCORE.test([market, ...hints('kinds')].join(' '))
  if (SCORE.test(market)) return !isOfScores || SCORE.test(selection)
  const isBeside = /\p{L}/u.test(selection.replace(SCORE, ' ').replace(/\d+/g, ''))
  return SCORE.test(selection) && isBeside && !isOfScores
}

const isSeveral = ({ cell, hints, legs }: TrackerCells): boolean =>
  JOINED.test(cell('selection')) ||
  JOINED.test(cell('event')) ||
  /\S\s*[|\n]\s*\S/.test(cell('sport')) ||
  (['selection', 'event'] as const).some((field) => (cell(field).match(VERSUS) ?? []).length > 1) ||
  legs.length > 1 ||
  [...hints('many'), ...hints('system')].some(isMarked) ||
  hints('legs').some(
    (count) => Number(count) > 1 || /[|;\n]|.,.|^\d+ ?(?:\/|of) ?(?!1\b)\d/.test(count),
  )

const isAgainst = ({ hints }: TrackerCells): boolean =>
  hints('lay').some(isMarked) ||
  hints('side').some(
    (side) => AGAINST.has(plainWords(side)) || kindNamed(side, 'text') === 'lay',
  ) ||
  // A column of backs and lays says nothing else.
  hints('backlay').some((side) => side !== '' && !FOR.has(plainWords(side)))

/** Every kind that a row's words name. */
function kindsNamed({ cell, hints, others }: TrackerCells): readonly (BetKind | undefined)[] {
  const texts: Readonly<Record<Reach, readonly string[]>> = {
    text: [cell('market'), cell('selection'), cell('event')],
    kinds: [...hints('kinds'), ...hints('legs'), ...hints('placed')],
    tags: [...hints('tags'), ...hints('timing'), cell('sport'), cell('league')],
    whole: others,
  }
  return (Object.keys(texts) as Reach[]).flatMap((reach) =>
    texts[reach].map((text) => kindNamed(text, reach)),
  )
}

/** Whether a row says that it is several bets, whatever else it says. */
export const isMultiple = (row: TrackerCells): boolean =>
  isSeveral(row) || kindsNamed(row).includes('multiple')

/** The kind that a row's columns and words give it; undefined for a plain bet. */
export function betKind(row: TrackerCells): BetKind | undefined {
  const { hints } = row
  const isLive =
    hints('live').some(isMarked) || hints('prematch').some((no) => no !== '' && !isMarked(no))
  if (isLive || hasScore(row)) return 'in_play'
  if (isAgainst(row)) return 'lay'
  if (hints('each_way').some(isMarked)) return 'each_way'
  const named = new Set([...kindsNamed(row), isSeveral(row) ? 'multiple' : undefined])
  return KINDS.find(({ kind }) => named.has(kind))?.kind
}

const SEVERAL_BETS = phraseIn(words.severalBets)
const MULTIPLE_PHRASE = phraseIn(multiple.anywhere, multiple.alone)

/** Whether a text is empty, or a multiple's name and nothing else. */
export const namesOnlyMultiple = (text: string): boolean =>
  plainWords(text).replace(MULTIPLE_PHRASE, ' ').replace(PLAIN_PHRASE, ' ').trim() === ''

const textsIn = ({ cell, hints, others }: TrackerCells): readonly string[] => [
  ...(['market', 'selection', 'event', 'sport', 'league'] as const).map(cell),
  ...hints('kinds'),
  ...hints('tags'),
  ...others,
]

/** Whether a multiple is more than its legs: several bets of them, or legs that depend on one another. */
export const saysSeveralBets = (row: TrackerCells): boolean =>
  row.hints('system').some(isMarked) ||
  textsIn(row).some((text) => has(SEVERAL_BETS, plainWords(text)))

const COUNTED =
  /(?<![\d.,/])(\d{1,2})[\s-]*(?:legs?|leggers?|folds?|team(?:er)?s?|picks?|selections?|er[\s-]*kombi\w*|x)(?!\p{L})/giu
const COUNTS: Readonly<Record<string, number>> = words.counts

/** How many legs a row says that it has. */
export function legsSaid(row: TrackerCells): readonly number[] {
  const texts = textsIn(row).filter((text) => kindNamed(text, 'kinds') === 'multiple')
  const named = texts.flatMap((text) => [
    ...[...text.matchAll(COUNTED)].map(([, count]) => Number(count)),
    ...plainWords(text)
      .split(' ')
      .map((word) => ownValue(COUNTS, word) ?? 0),
  ])
  // In a column of its own `1` may be the number of a leg.
  const isNumbered = row.hints('legNumber').join('') !== ''
  const counted = row.hints('legs').map((text) => Number(/^\d+$/.test(text) ? text : 0))
  return [...named, ...(isNumbered ? [] : counted)].filter((legs) => legs > 1)
}

/** A day or a clock, and not `35'`. */
const TIME = /\d{4}|\d[:/.-]\d|^\d+$/
/** `35'`, `90+2'`. */
const MINUTE = /^\d{1,3}(?:\s?\+\s?\d{1,2})?\s?['’′]$/

/** Whether it is unclear that the bet was placed before the start. */
function isMaybeInPlay({ cell, hints, others }: TrackerCells): boolean {
  const notes = [...hints('tags'), cell('sport'), cell('league'), cell('book'), ...others]
  return (
    hints('timing').some(isMarked) ||
    others.some((text) => MINUTE.test(text)) ||
    hints('placed').some((text) => /[\p{L}'’]/u.test(text) && !TIME.test(text)) ||
    notes.some((text) => has(ASKED, plainWords(text).replace(NOT_IN_PLAY, ' '))) ||
    BRACKETED_SCORE.test(cell('event'))
  )
}

const ASKED = phraseIn(words.askedInNotes)
const NOT_IN_PLAY = phraseIn(inPlay.except)
const PLAIN_PHRASE = phraseIn(words.plain)
const PROMOTION_PHRASE = phraseIn(words.plain, words.promotions)
const SINGLE_FIRST = /^(?:singles?|straight(?: bet)?)\b[\s:,/|–-]*/i

/** A name without the words that say only that the bet is plain: a market's name or nothing remains. */
function withoutPlainKind(text: string, phrase = PROMOTION_PHRASE): string {
  const plain = plainWords(text).replace('#', '# ')
  return plain.replace(phrase, ' ').trim() === '' ? '' : text.replace(SINGLE_FIRST, '')
}

/** The market's name: its column's, or one in a column of kinds. Alone, a promotion such as `Price Boost` is no plain bet. */
export function marketName({ cell, hints }: TrackerCells): string {
  const [market, kinds] = [cell('market'), hints('kinds')]
  const own = withoutPlainKind(market, kinds.includes(market) ? PROMOTION_PHRASE : PLAIN_PHRASE)
  return [own, ...kinds.map((kind) => withoutPlainKind(kind))].find((name) => name !== '') ?? ''
}

const NOT_TAKEN = new Set(list(words.notTaken))
/** What a column of sides may say that is neither a back nor a lay. */
const SIDES = new Set(list(words.sides))

const amountSize = (text: string): number => Math.abs(amountIn(text) ?? 0)

/** Kinds that the row has beside its market, and sides, that no list knows. */
function unknownKinds({ cell, hints, others }: TrackerCells): readonly string[] {
  const fields = ['selection', 'market', 'event', 'home', 'away'] as const
  const written = ` ${plainWords(fields.map(cell).join(' '))} `
  const isUnknown = (text: string): boolean =>
    !FOR.has(plainWords(text)) && withoutPlainKind(text) !== ''
  const kinds = hints('kinds').filter(
    (text) =>
      ![text, ''].includes(cell('market')) &&
      /\p{L}{2}|^\p{L}$/u.test(text) &&
      isUnknown(text) &&
      sportNamed(text) === undefined,
  )
  // A side may repeat what the row says of the bet.
  const sides = hints('side').filter((side) => {
    const text = plainWords(side)
    const isKnown = SIDES.has(text) || written.includes(` ${text} `)
    return /\p{L}{2}/u.test(side) && !isKnown && isUnknown(side)
  })
  // Only a lay has a liability that is not its stake.
  const liabilities = hints('liability')
    .filter((text) => ![0, amountSize(cell('stake'))].includes(amountSize(text)))
    .map((text) => `a liability of ${text}`)
  // A cell such as the book's name may be about anything.
  const mentioned = [cell('book'), ...others].filter((text) => kindNamed(text, 'tags'))
  return [...kinds, ...sides, ...liabilities, ...mentioned]
}

/** What the reader is asked of a row whose kind is not certain. */
export type KindDoubt = Pick<TrackerProblem, 'field' | 'expected'> & { readonly label: string }

export function kindDoubt(row: TrackerCells, mayBeLeg: boolean): KindDoubt | undefined {
  const { in_play, leg, not_taken, unknown } = words.doubts
  if (mayBeLeg) return leg
  if (isMaybeInPlay(row)) return in_play
  if (NOT_TAKEN.has(plainWords(row.cell('result')))) return not_taken
  const [kind] = unknownKinds(row)
  return kind === undefined
    ? undefined
    : { ...unknown, expected: `${unknown.expected} ${kind.slice(0, 40)}` }
}
