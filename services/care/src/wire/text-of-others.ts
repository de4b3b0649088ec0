import { CLOSING_BRACKET, COLON, OPENING_BRACKET, QUOTE, readsAs, SLASH } from './reads-as.ts'
import {
  AGE_READS,
  LABEL_READS,
  LINE_READS,
  lettersIn,
  QUOTATION_READS,
} from './service-sentences.ts'
import { ENGLISH, say, type Texts, textsIn } from './texts.ts'

/**
 * Stands between what people wrote and every text that a model, a person or a terminal reads (C45). Nothing of theirs ends its
 * quotation, begins a line like the service's, reads as a record's URI, or hides; ordinary sentences stay as they are, and
 * `decodeText` gives back exactly what was stored. Pure: the browser runs this file too, so no lookbehind (Safari 15).
 *
 * The form: each further line begins with `> `; “ and ” inside a quotation are ‘‘ and ’’, as a reader sees a quotation within one,
 * and « and » inside « » are ‹‹ and ››;
 * FSI and PDI surround what could turn the text around it; `\u{…}` is any character that may not stand there as it is.
 */

/** The line that answers for models say once. */
export const DATA_LINE = ENGLISH.data

const FIRST_ISOLATE = '\u2068'
const END_ISOLATE = '\u2069'
const LINE_MARK = '> '

/** What is not seen: control characters, separators of lines, and what has no width of its own. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu
/** Of them those that turn the text behind them. */
const TURNING = /[\u202A-\u202E\u2066-\u2069]/u
const JOINER = /[\u200C\u200D]/u
/** Left-to-right, right-to-left and Arabic letter mark. */
const BIDI_MARK = /[\u200E\u200F\u061C]/u
const VARIATION = /[\uFE00-\uFE0F\u{E0100}-\u{E01EF}]/u
/** Never of use to a script: deprecated format characters, annotations, and tags, which spell unseen ASCII. */
const NEVER_IN_PLACE =
  /[\u202A-\u202E\u2061-\u206F\uFFF0-\uFFFB\u{E0000}-\u{E00FF}\u{E01F0}-\u{E0FFF}]/u
const KEYCAP = '\u20E3'
const SHAPED = /[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]/u
/** Letters written from the right, and marks of direction. */
const RIGHT_TO_LEFT =
  /[\u0590-\u08FF\u200E\u200F\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u

const lastCharacter = (text: string): string => /.$/su.exec(text.slice(-2))?.[0] ?? ''
const firstCharacter = (text: string): string => /^./su.exec(text.slice(0, 2))?.[0] ?? ''

/** Whether a hidden character stands where a script or an emoji needs it; between digits none does. */
function isInPlace(hidden: string, before: string, after: string): boolean {
  if (/\p{Cc}|\p{Zl}|\p{Zp}/u.test(hidden) || NEVER_IN_PLACE.test(hidden)) return false
  if (BIDI_MARK.test(hidden)) return !(/\p{N}/u.test(before) && /\p{N}/u.test(after))
  if (VARIATION.test(hidden))
    return /\p{N}/u.test(before) ? after === KEYCAP : before !== '' && before.search(HIDDEN) < 0
  return [before, after].some(
    (next) => SHAPED.test(next) && (next.search(HIDDEN) < 0 || VARIATION.test(next)),
  )
}

const escapeAll = (text: string): string =>
  text.replace(/./gsu, (each) => `\\u{${(each.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`)

/** Escapes what is hidden, except what `mayStay` and what is in place. */
const showHidden = (text: string, mayStay: RegExp | undefined): string =>
  text.replace(HIDDEN, (hidden: string, at: number) => {
    if (mayStay?.test(hidden) === true) return hidden
    if (hidden === '\r' && mayStay !== undefined && text[at + 1] === '\n') return hidden
    const [before, after] = [
      lastCharacter(text.slice(Math.max(0, at - 2), at)),
      firstCharacter(text.slice(at + hidden.length, at + hidden.length + 2)),
    ]
    return isInPlace(hidden, before, after) ? hidden : escapeAll(hidden)
  })

/** Quotation marks of any kind; two single ones are seen as one. */
const QUOTES = `${QUOTE}|['‘’′´\`]{2}`
const AS_QUOTE = `(?:"|['‘’′´\`]{2})`

/** Pieces that only the service writes: where a text reads as holding one, the characters that make it are escaped. */
const PIECES: readonly { readonly reads: RegExp; readonly escapes: RegExp }[] = [
  {
    reads: /care(?:[^a-z]?internal)?: ?\/ ?\//,
    escapes: new RegExp(`${COLON}(?=[\\s\\p{M}\\p{Default_Ignorable_Code_Point}]*${SLASH})`, 'gu'),
  },
  { reads: /\[ ?(?:changed ?[\do]|stale)/, escapes: new RegExp(OPENING_BRACKET, 'gu') },
  { reads: AGE_READS, escapes: new RegExp(OPENING_BRACKET, 'gu') },
  {
    reads: new RegExp(
      `(?:it is now|disregard)[ :]*${AS_QUOTE}|${AS_QUOTE}[ .!?]*(?:it is now|(?:please|also) disregard|it was corrected|(?:this record was|it had been) withdrawn)`,
    ),
    escapes: new RegExp(QUOTES, 'gu'),
  },
  { reads: QUOTATION_READS, escapes: new RegExp(QUOTES, 'gu') },
]
/** Without these characters no piece is there, and most sentences are read no further. */
const MAY_HOLD_PIECE = new RegExp(`${OPENING_BRACKET}|${SLASH}|${QUOTES}`, 'u')
/** How a line of the service's begins that may stand above a value, also where a program shows some of it as bold or a title. */
const OPENING =
  /^[^a-z\d]*(?:correction from .*(?:please disregard|it had been withdrawn)|version \d+ was (?:replaced|withdrawn) by|this record was withdrawn|please note: this was last changed|what records, labels and names say)/
/** What the service says around a label, which no mark ends: a label that holds it would go on as the service does. */
const SAID_AROUND =
  /disregard|correctionfrom|itisnow|itwascorrected|saythisage|thiswaslastchanged|wasreplacedby|waswithdrawn|beenwithdrawn|nolongerholds/
/** Longer than a label of the longest and what stands around it. */
const OPENING_CHARS = 1_024
/** What may be taken for the end of a quotation, beside “ and ”. */
const LIKE_QUOTES = /[‟❝❞\u{1F676}-\u{1F678}]/gu
const SQUARE_BRACKETS = new RegExp(`${OPENING_BRACKET}|${CLOSING_BRACKET}`, 'gu')

function escapePieces(text: string): string {
  if (!MAY_HOLD_PIECE.test(text)) return text
  const read = readsAs(text)
  return PIECES.reduce(
    (rest, { reads, escapes }) => (reads.test(read) ? rest.replace(escapes, escapeAll) : rest),
    text,
  )
}

/** Whether each “ or „ is closed by its own mark, so that a reader sees quotations within the quotation. */
function isBalanced(text: string): boolean {
  const open: string[] = []
  for (const [mark] of text.matchAll(/[„“”]/g)) {
    if (mark === '„' || (mark === '“' && open.at(-1) !== '„')) open.push(mark)
    else if (open.pop() === undefined) return false
  }
  return open.length === 0
}

/** Marks inside a quotation, by what they are there. */
const NESTED: Readonly<Record<string, string>> = { '“': '‘', '”': '’', '«': '‹', '»': '›' }

/** Marks as single ones twice, unless a single one stands beside them or they could be taken for the end. */
function nestQuotes(text: string, marks: RegExp, isNested: boolean): string {
  return text.replace(marks, (quote, at: number) => {
    const single = NESTED[quote] ?? ''
    const isBeside = text[at - 1] === single || text[at + 1] === single
    return isBeside || !isNested ? escapeAll(quote) : single + single
  })
}

/** “ and ” as ‘‘ and ’’; inside « » also « and » as ‹‹ and ››. */
function escapeQuotes(text: string, { quotes }: Pick<Texts, 'quotes'> = ENGLISH): string {
  const curly = nestQuotes(text.replace(LIKE_QUOTES, escapeAll), /[“”]/g, isBalanced(text))
  if (quotes[1]?.includes('»') !== true) return curly
  return nestQuotes(curly, /[«»]/g, /^[^«»]*(?:«[^«»]*»[^«»]*)*$/.test(curly))
}

/** What the form itself uses: a backslash before `u{`, and single quotes in a row. */
const escapeForm = (text: string): string =>
  text.replace(/\\(?=u\{)|‘{2,}|’{2,}|‹{2,}|›{2,}/g, escapeAll)

const isolate = (line: string, pattern: RegExp): string =>
  pattern.test(line) ? FIRST_ISOLATE + line + END_ISOLATE : line

/** Lines with their ends, the further ones marked. */
const markLines = (text: string, show: (line: string) => string): string =>
  text
    .split(/(\r\n|[\n\u2028\u2029])/u)
    .map((part, at) => (at % 2 === 1 ? part + LINE_MARK : show(part)))
    .join('')

/** A value as lines of their own. */
export function valueText(value: string): string {
  const shown = escapePieces(showHidden(escapeForm(value), /[\t\n\u2028\u2029]/u))
  const read = readsAs(shown.slice(0, OPENING_CHARS))
  const isLike = OPENING.test(read) || LINE_READS.test(read)
  // Its first letter is enough. `> ` is left to further lines alone.
  const begun = isLike ? shown.replace(/[\p{L}\p{N}]/u, escapeAll) : shown
  return markLines(begun.replace(/^>/, escapeAll), (line) => isolate(line, BIDI_MARK))
}

/** A value in quotation marks, inside a sentence of a language. */
export function quotedValue(
  value: string,
  texts: Pick<Texts, 'quotes' | 'isRightToLeft'> = ENGLISH,
): string {
  const readable = escapePieces(showHidden(escapeForm(value), /[\t\n\u2028\u2029]/u))
  const shown = escapeQuotes(readable, texts)
  const turning = texts.isRightToLeft ? /[^]/ : RIGHT_TO_LEFT
  const [begin = '', end = ''] = texts.quotes
  return begin + markLines(shown, (line) => isolate(line, turning)) + end
}

/** A label, an id or a name, in one line and inside anything: a sentence, brackets, or before a colon. */
export function lineText(text: string): string {
  const shown = escapePieces(showHidden(escapeForm(text), undefined))
  const read = readsAs(text)
  const isLike = SAID_AROUND.test(read.replace(/[^a-z]+/g, '')) || LABEL_READS.test(lettersIn(read))
  const inside = isLike
    ? shown.replace(/\\u\{[^}]*\}|[^\p{L}\p{M}\p{N}]/gu, (part) =>
        part.length > 2 ? part : escapeAll(part),
      )
    : escapeQuotes(shown)
        .replace(SQUARE_BRACKETS, escapeAll)
        .replace(/[:：](?=\s|$)/gu, escapeAll)
  return isolate(inside, RIGHT_TO_LEFT)
}

/**
 * How a person or a model reads what a record is about, in its language. The last ` of ` of an English title stands before the
 * patient; others have the patient, a colon that no name has before a space, and the topic.
 */
export function recordTitle(slot: {
  readonly patient: string
  readonly domain: string
  readonly language?: string | undefined
}): string {
  const texts = textsIn(slot.language)
  const patient = lineText(slot.patient)
  return say(texts, 'title', {
    domain: lineText(slot.domain),
    patient:
      texts.language === 'en'
        ? patient.replace(/(^|[ \u2068])of(?= )/g, `$1${escapeAll('o')}f`)
        : patient,
  })
}

/** How a program shows it in a list: neither name holds a slash. */
export const recordName = ({ patient, domain }: Parameters<typeof recordTitle>[0]): string =>
  `${lineText(patient)}/${lineText(domain)}`

/** What was stored, from any of the forms. */
export const decodeText = (text: string): string =>
  text
    .replace(/[\u2068\u2069]/g, '')
    .replace(/([\n\u2028\u2029])> /g, '$1')
    .replace(/‘‘|’’|‹‹|››|\\u\{([0-9A-F]{1,6})\}/g, (form, hex: string | undefined) =>
      hex === undefined
        ? (Object.keys(NESTED).find((mark) => NESTED[mark] === form[0]) ?? '')
        : String.fromCodePoint(Number.parseInt(hex, 16)),
    )

/** What a place of its own shows as letters, since it would turn, or not be seen: control characters of older values. */
export const UNSEEN = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu

/** A value, label or name alone in an element of a page, where nothing of it reaches what stands around. */
export const elementText = (text: string): string =>
  text.replace(UNSEEN, (unseen) => (/[\t\n\r]/.test(unseen) ? unseen : escapeAll(unseen)))

/** A line for a terminal: nothing in it moves the cursor or turns text. A line of JSON stays the same JSON. */
export const terminalLine = (line: string): string =>
  line.replace(HIDDEN, (hidden) =>
    JOINER.test(hidden) || VARIATION.test(hidden)
      ? hidden
      : hidden.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )

/** JSON inside a text. Only the members that hold the service's own URIs read as such; the rest is the same JSON. */
export const jsonText = (value: object, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replace(
    /"failed": ?\[[^\]]*\]|("(?:uri|url|id)": ?)?"(?:[^"\\]|\\.)*"/g,
    (part, key: string | undefined) =>
      key !== undefined || part.startsWith('"failed"')
        ? part
        : terminalLine(part).replace(/:\/(?=\/)/g, ':\\/'),
  )

/** Whether a text holds what no value may: what controls a terminal, turns the text, or spells without being seen. */
export const holdsControls = (text: string): boolean =>
  !isWritableValue(text) || NEVER_IN_PLACE.test(text)

/** A text as it is seen: without what has no width, and with a space for what is blank. */
export const withoutHidden = (text: string): string =>
  text
    .replace(/[\t\u115F\u1160\u2800\u3164\uFFA0]/g, ' ')
    .replace(/\r\n|[\u2028\u2029]/g, '\n')
    .replace(HIDDEN, (hidden) => (hidden === '\n' ? hidden : ''))

/** Whether there is something to see in a text. */
export const isSeen = (text: string): boolean => withoutHidden(text).trim() !== ''

/** Whether a value may be written: of control characters it has line breaks and tabs, and none that turns the text. */
export const isWritableValue = (value: string): boolean =>
  !TURNING.test(value) && !/\p{Cc}/u.test(value.replace(/\r\n|[\n\t]/g, ''))

/** Whether a label or an id may be written: one line. */
export const isWritableLine = (text: string): boolean =>
  !TURNING.test(text) && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
