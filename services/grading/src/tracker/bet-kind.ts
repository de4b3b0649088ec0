/**
 * What kind of bet a row is, before anything else is read of it (G19): only a bet before the start, on its selection and by
 * itself, is graded as a single. The words are in bet-kind-words.json, the columns in tracker-columns.json.
 */
import { plainText, sportNamed } from '../domain/team-names.ts'
import words from './bet-kind-words.json' with { type: 'json' }
import type { TrackerCells } from './tracker-columns.ts'
import { problem, type TrackerProblem } from './tracker-problem.ts'

/** Words of one kind: in any text, alone in a cell or tag or anywhere in a column of kinds, and only in such a column. */
type KindWords = typeof words.multiple

const list = (text: string): readonly string[] => text.split(' | ').filter((word) => word !== '')

/** A bet against its selection or on it, in a column that says which side was taken. */
const AGAINST = new Set([...Object.values(words.lay), words.against].flatMap(list))
const FOR = new Set(list(words.for))
/** What says no in a column that flags something, in words or by signs. */
const NO = new Set(['', ...list(words.no)])
const NO_MARKS = /^[\s.\-–—_/✗✘❌✕☐⬜]*$/u

/** A text as the lists have it: no accents, case or punctuation, digits apart from letters, `#` for a number but 1. */
const plainWords = (text: string): string =>
  plainText(text)
    .replace(/\d(?=\p{L})|\p{L}(?=\d)/gu, '$& ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .replace(/\b(?!1\b)\d+\b/g, '#')
    .trim()

/** `#` of a list is any number but 1. */
const phraseOf = (...lists: readonly string[]): RegExp =>
  new RegExp(`(?<![^ ])(?:${lists.flatMap(list).join('|') || '(?!)'})(?![^ ])`, 'gu')

const has = (phrase: RegExp, text: string): boolean => text.search(phrase) !== -1

type BetKind = 'in_play' | 'lay' | 'each_way' | 'multiple'

const EXPECTED: Readonly<Record<BetKind, TrackerProblem>> = {
  in_play: problem('in_play', 'a bet before the start: no close grades one in play', 'in_play'),
  lay: problem('lay', 'a bet on a selection: a lay is one against it', 'lay'),
  each_way: problem('each_way', 'a bet to win: the file does not say the place terms', 'each_way'),
  multiple: problem(
    'type',
    'a single bet: the file does not say how the legs of a multiple were priced',
    'multiple',
  ),
}

const compileKind = (kind: BetKind, { alone, anywhere, inKinds }: KindWords, except: string) => ({
  kind,
  except: phraseOf(except),
  anywhere: phraseOf(anywhere),
  inTags: phraseOf(
    list(anywhere)
      .filter((word) => !ASKED_IN_NOTES.includes(word))
      .join(' | '),
  ),
  whole: new Set([anywhere, alone].flatMap(list)),
  inKinds: phraseOf(anywhere, alone, inKinds),
})

/** In a sentence of a note these may be said of anything; the reader is asked. */
const ASKED_IN_NOTES = list(words.askedInNotes)

const KINDS = [
  compileKind('in_play', words.inPlay, words.notInPlay),
  compileKind('lay', words.lay, words.notLay),
  compileKind('each_way', words.eachWay, ''),
  compileKind('multiple', words.multiple, words.notMultiple),
]

type Reach = 'text' | 'kinds' | 'tags' | 'whole'

/** The kind that a cell names; `reach` says how much else may stand beside its words. */
function kindNamed(cell: string, reach: Reach): BetKind | undefined {
  if (cell === '') return undefined
  const text = plainWords(cell)
  const parts = reach === 'tags' ? cell.split(/[,;|#/\n•·]+/).map(plainWords) : [text]
  return KINDS.find(({ anywhere, except, inKinds, inTags, whole }) => {
    if (parts.some((part) => whole.has(part))) return true
    if (reach === 'whole') return false
    const phrase = { text: anywhere, kinds: inKinds, tags: inTags }[reach]
    return has(phrase, text.replace(except, ' '))
  })?.kind
}

/** Whether a column that flags something says so: what it does not know as a no is a yes. */
const isMarked = (cell: string): boolean => !NO_MARKS.test(cell) && !NO.has(plainWordsOfFlag(cell))
const plainWordsOfFlag = (cell: string): string =>
  plainText(cell)
    .replace(/[^\p{L}\p{N}✓✔☑]+/gu, ' ')
    .trim()

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
  const texts = [cell('market'), cell('selection'), cell('event')]
  return [
    ...[...hints('kinds'), ...hints('legs'), ...hints('placed')].map((text) =>
      kindNamed(text, 'kinds'),
    ),
    ...texts.map((text) => kindNamed(text, 'text')),
    ...[...hints('tags'), ...hints('timing'), cell('sport'), cell('league')].map((text) =>
      kindNamed(text, 'tags'),
    ),
    ...others.map((text) => kindNamed(text, 'whole')),
  ]
}

/** Whether a row says that it is several bets, whatever else it says. */
export const isMultiple = (row: TrackerCells): boolean =>
  isSeveral(row) || kindsNamed(row).includes('multiple')

/** The kind that a row's columns and words give it; undefined for a plain bet. */
export function betKind(row: TrackerCells): BetKind | undefined {
  const { hints } = row
  if (hints('live').some(isMarked) || hints('prematch').some((no) => no !== '' && !isMarked(no)))
    return 'in_play'
  if (hasScore(row)) return 'in_play'
  if (isAgainst(row)) return 'lay'
  if (hints('each_way').some(isMarked)) return 'each_way'
  const named = kindsNamed(row)
  const [first] = KINDS.flatMap(({ kind }) => (named.includes(kind) ? [kind] : []))
  return first ?? (isSeveral(row) ? 'multiple' : undefined)
}

export const kindProblem = (kind: BetKind): TrackerProblem => EXPECTED[kind]

const SEVERAL_BETS = phraseOf(words.severalBets)
const MULTIPLE_PHRASE = phraseOf(words.multiple.anywhere, words.multiple.alone)

/** Whether a text is empty, or a multiple's name and nothing else. */
export const namesOnlyMultiple = (text: string): boolean =>
  plainWords(text).replace(MULTIPLE_PHRASE, ' ').replace(PLAIN_PHRASE, ' ').trim() === ''

const textsOf = ({ cell, hints, others }: TrackerCells): readonly string[] => [
  ...(['market', 'selection', 'event', 'sport', 'league'] as const).map(cell),
  ...hints('kinds'),
  ...hints('tags'),
  ...others,
]

/** Whether a multiple is more than its legs: several bets of them, or legs that depend on one another. */
export const saysSeveralBets = (row: TrackerCells): boolean =>
  row.hints('system').some(isMarked) ||
  textsOf(row).some((text) => has(SEVERAL_BETS, plainWords(text)))

const COUNTED =
  /(?<![\d.,/])(\d{1,2})[\s-]*(?:legs?|leggers?|folds?|team(?:er)?s?|picks?|selections?|er[\s-]*kombi\w*|x)(?!\p{L})/giu
const COUNTS: Readonly<Record<string, number>> = words.counts

/** How many legs a row says that it has. */
export function legsSaid(row: TrackerCells): readonly number[] {
  const texts = textsOf(row).filter((text) => kindNamed(text, 'kinds') === 'multiple')
  const named = texts.flatMap((text) => [
    ...[...text.matchAll(COUNTED)].map(([, count]) => Number(count)),
    ...plainWords(text)
      .split(' ')
      .flatMap((word) => (Object.hasOwn(COUNTS, word) ? (COUNTS[word] ?? []) : [])),
  ])
  // In a column of its own `1` may be the number of a leg.
  const counted = row.hints('legs').map((text) => Number(/^\d+$/.test(text) ? text : 0))
  return [...named, ...(row.hints('legNumber').join('') === '' ? counted : [])].filter(
    (legs) => legs > 1,
  )
}

/** A day or a clock, and not `35'`. */
const TIME = /\d{4}|\d[:/.-]\d|^\d+$/
/** `35'`, `90+2'`. */
const MINUTE = /^\d{1,3}(?:\s?\+\s?\d{1,2})?\s?['’′]$/

/** What makes it unclear whether the bet was placed before the start. */
export function isMaybeInPlay({ cell, hints, others }: TrackerCells): boolean {
  const timings = [
    ...hints('timing').filter((text) => text !== '' && !NO.has(plainWordsOfFlag(text))),
    ...others.filter((text) => MINUTE.test(text)),
    ...hints('placed').filter((text) => /[\p{L}'’]/u.test(text) && !TIME.test(text)),
  ]
  const notes = [...hints('tags'), cell('sport'), cell('league'), cell('book'), ...others].map(
    (text) => plainWords(text).replace(ANY_NOT_IN_PLAY, ' '),
  )
  return (
    timings.length > 0 ||
    notes.some((text) => has(ASKED, text)) ||
    BRACKETED_SCORE.test(cell('event'))
  )
}

const ASKED = phraseOf(words.askedInNotes)
const ANY_NOT_IN_PLAY = phraseOf(words.notInPlay)
const PLAIN_PHRASE = phraseOf(words.plain)
const SINGLE_FIRST = /^(?:singles?|straight(?: bet)?)\b[\s:,/|–-]*/i

const PROMOTION_PHRASE = phraseOf(words.plain, words.promotions)

/** A name without the words that say only that the bet is plain: a market's name or nothing remains. */
export const withoutPlainKind = (text: string): string => without(PROMOTION_PHRASE, text)

function without(phrase: RegExp, text: string): string {
  const plain = plainWords(text).replace('#', '# ')
  return plain.replace(phrase, ' ').trim() === '' ? '' : text.replace(SINGLE_FIRST, '')
}

/** The market's name as its column has it; one that is only a promotion, such as `Price Boost`, is no plain bet. */
export const marketIn = ({ cell, hints }: TrackerCells): string =>
  without(hints('kinds').includes(cell('market')) ? PROMOTION_PHRASE : PLAIN_PHRASE, cell('market'))

const NOT_TAKEN = new Set(list(words.notTaken))

/** Whether a row says that nobody took its bet. */
export const isNotTaken = ({ cell }: TrackerCells): boolean =>
  NOT_TAKEN.has(plainWords(cell('result')))

/** What a column of sides may say that is neither a back nor a lay. */
const SIDES = new Set(list(words.sides))

/** Words of a column of sides that are no side, and nothing of the bet that the row has elsewhere. */
function unknownSides({ cell, hints }: TrackerCells): readonly string[] {
  const fields = ['selection', 'market', 'event', 'home', 'away'] as const
  const written = ` ${plainWords(fields.map(cell).join(' '))} `
  return hints('side').filter((side) => {
    const text = plainWords(side)
    const isKnown = FOR.has(text) || SIDES.has(text) || written.includes(` ${text} `)
    return /\p{L}{2}/u.test(side) && !isKnown && withoutPlainKind(side) !== ''
  })
}

const amountIn = (text: string): number => Number(text.replace(/[^\d.]/g, ''))

/** What only a lay has: a liability that is not its stake. */
const liabilities = ({ cell, hints }: TrackerCells): readonly string[] =>
  hints('liability')
    .filter((text) => amountIn(text) > 0 && amountIn(text) !== amountIn(cell('stake')))
    .map((text) => `a liability of ${text}`)

/** Words of a kind in a cell that may be about anything, such as the book's name. */
const mentioned = ({ cell, others }: TrackerCells): readonly string[] =>
  [cell('book'), ...others].filter((text) => kindNamed(text, 'tags') !== undefined)

/** Kinds that the row has beside its market, and sides, that no list knows. */
export const unknownKinds = (row: TrackerCells): readonly string[] => [
  ...row
    .hints('kinds')
    .filter(
      (text) =>
        row.cell('market') !== '' &&
        text !== row.cell('market') &&
        /\p{L}{2}|^\p{L}$/u.test(text) &&
        !FOR.has(plainWords(text)) &&
        withoutPlainKind(text) !== '' &&
        sportNamed(text) === undefined,
    ),
  ...unknownSides(row),
  ...liabilities(row),
  ...mentioned(row),
]
