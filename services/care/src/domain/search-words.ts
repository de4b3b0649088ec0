/**
 * The words that a text is found by (C26): the same for everybody who writes it another way. What is folded is folded in records and
 * queries alike; nothing that is shown goes through here.
 */

/** Letters that NFKD does not take apart, and two letters that stand for one with dots, a ring or a stroke: Köhler, Koehler. */
const LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({ ß: 'ss', æ: 'a', œ: 'o', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ħ: 'h' }),
)
const OTHER_LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({ ı: 'i', ς: 'σ', ى: 'ي', ی: 'ي', ک: 'ك', ة: 'ه' }),
)
const LETTER = /[ßæœøđðþłħıςىیکة]/gu
/** A sound has a sign in either of two scripts, 0x60 apart: くすり is クスリ. */
const KATAKANA = /[ァ-ヶヽヾ]/gu
const TWO_FOR_ONE = /([aou])e/g
/** Accents, Arabic vowel marks, and the points of Hebrew; not the vowels of Indic scripts, nor the marks of kana. */
const ACCENT = /(?![\u3099\u309A])(?=\p{M})\p{Script=Inherited}|[\u0591-\u05C7]/gu
/** What joins and separates nothing that is heard. */
const UNHEARD = /[\p{Default_Ignorable_Code_Point}\u0640]/gu
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

/** Most texts, ten times as fast. */
const PLAIN = /^[\0-\x7F]*$/

const foldLetters = (text: string): string =>
  PLAIN.test(text) ? text.toLowerCase() : foldOthers(text)

const foldOthers = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .normalize('NFKD')
    .replace(UNHEARD, '')
    .replace(ACCENT, '')
    .replace(LETTER, (each) => LETTERS.get(each) ?? OTHER_LETTERS.get(each) ?? each)
    .replace(/\p{Nd}/gu, asciiDigit)
    .normalize('NFC')
    .replace(KATAKANA, (sign) => String.fromCharCode(sign.charCodeAt(0) - 0x60))

/** Digits of a script stand in order behind its zero. */
function asciiDigit(digit: string): string {
  const point = digit.codePointAt(0) ?? 0
  for (let value = 0; value < 10; value += 1)
    if (!/\p{Nd}/u.test(String.fromCodePoint(point - value - 1))) return String(value)
  // Where two scripts' digits adjoin, the lower ten are a whole number of them away.
  return String((point - 0x30) % 10)
}

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
export function wordsOf(text: string): readonly SearchWord[] {
  const { runs, words } = split(text)
  const all = [...words.flatMap(wordParts), ...runs.map(runParts)]
  return [...new Map(all.map((word) => [word.join(' '), word] as const)).values()]
}

/** What a text is found by: the parts of its words, and the single signs of its runs. */
export function partsOf(text: string): readonly string[] {
  const { runs, words } = split(text)
  const ofRuns = runs.flatMap((run) => [...runParts(run), ...Array.from(run)])
  return [...new Set([...words.flatMap(wordParts).flat(), ...ofRuns])]
}
