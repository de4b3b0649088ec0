/**
 * What a reader takes a text for (C45): characters that look alike are the same, so that a piece of the service's own is seen
 * whatever it is made of. Nothing that is shown goes through here. Pure: the browser runs this file too.
 */

/** Letters of other alphabets by the Latin one that they look like, small or capital; NFKC knows widths, circles and the like. */
const LETTERS = [
  'aаαɑᴀАΑ',
  'bЬьʙВΒвβ',
  'cсϲᴄСϹ',
  'dԁɗđᴅ',
  'eеҽ℮εᴇєЕΕ',
  'fғϝꜰҒϜ',
  'gɡցԍɢԌ',
  'hһհʜнНΗ',
  'iіıɩιɪӀІΙ',
  'jјϳᴊЈ',
  'kкκᴋКΚ',
  'lӏⅼʟł',
  'mмϻᴍМΜ',
  'nոпηɴΝ',
  'oоοσօᴏøОΟ',
  'pрρᴘРΡ',
  'rгᴦʀꭇɼ',
  'sѕꜱЅ',
  'tтτᴛТΤ',
  'uυսцᴜ',
  'vνѵᴠѴ',
  'wѡԝաᴡωԜ',
  'xхχХΧ',
  'yуүγʏУΥҮ',
  'zᴢΖ',
]
/** Signs that the service writes, and what may be taken for them. */
const SIGNS = [
  ':∶ː˸։׃꞉︰⁚܃܄ཿ：﹕',
  '/⁄∕⧸╱⟋〳丿ノ／',
  '[⟦【〔❲⦋⦍⦏⁅〚〖⌈⌊［﹝',
  ']⟧】〕❳⦌⦎⦐⁆〛〗⌉⌋］﹞',
  '"“”„‟«»‹›〝〞〟❝❞″‶˝ʺ״＂🙶🙷🙸',
]

/** A class of those that look like the first of a row, that one included; for a regular expression with the flag u. */
const findRow = (sign: string): string =>
  `[${(SIGNS.find((row) => row.startsWith(sign)) ?? '').replace(/[[\]/]/g, '\\$&')}]`
export const COLON = findRow(':')
export const SLASH = findRow('/')
export const OPENING_BRACKET = findRow('[')
export const CLOSING_BRACKET = findRow(']')
/** Without single ones, which are apostrophes too. */
export const QUOTE = findRow('"')

const ALIKE = new Map(
  [...LETTERS, ...SIGNS].flatMap((row) => {
    const [first = '', ...others] = row
    return others.map((other) => [other, first] as const)
  }),
)

/** Letters and signs as the Latin ones that they look like. */
export const foldAlike = (text: string): string =>
  text.replace(/[^\0-\x7F]/gu, (each) => ALIKE.get(each) ?? each)

/** Letters that NFKD does not take apart, and two letters that stand for one with dots, a ring or a stroke: Köhler, Koehler. */
const WRITTEN_AS: ReadonlyMap<string, string> = new Map(
  'ßss æa œo øo đd ðd þth łl ħh ıi ςσ ىي یي کك ةه ہه ٱا'
    .split(' ')
    .map(([letter = '', ...others]) => [letter, others.join('')]),
)
const WRITTEN = new RegExp(`[${[...WRITTEN_AS.keys()].join('')}]`, 'gu')
export const TWO_FOR_ONE = /([aou])e/g
/** A sound has a sign in either of two scripts, 0x60 apart: くすり is クスリ. */
const KATAKANA = /[ァ-ヶヽヾ]/gu
/** Accents, Arabic vowel marks, and the points of Hebrew; not the vowels of Indic scripts, nor the marks of kana. */
const ACCENT = /(?![\u3099\u309A])(?=\p{M})\p{Script=Inherited}|[\u0591-\u05C7]/gu
/** What joins and separates nothing that is heard. */
const UNHEARD = /[\p{Default_Ignorable_Code_Point}\u0640]/gu
/** Most texts, ten times as fast. */
export const PLAIN = /^[\0-\x7F]*$/

/** A digit of any script as 0 to 9: they stand in rows of ten, or several rows behind one another. */
export function plainDigit(digit: string): string {
  const codePoint = digit.codePointAt(0) ?? 0
  let place = 0
  while (/\p{Nd}/u.test(String.fromCodePoint(codePoint - place - 1))) place += 1
  return String(place % 10)
}
const plainDigits = (text: string): string => text.replace(/(?![0-9])\p{Nd}/gu, plainDigit)

/** A text in the letters that everybody has who writes it another way: small, without accents, on one keyboard. */
export const foldLetters = (text: string): string =>
  PLAIN.test(text)
    ? text.toLowerCase()
    : plainDigits(
        text
          .normalize('NFKD')
          .toLowerCase()
          .normalize('NFKD')
          .replace(UNHEARD, '')
          .replace(ACCENT, '')
          .replace(WRITTEN, (each) => WRITTEN_AS.get(each) ?? each),
      )
        .normalize('NFC')
        .replace(KATAKANA, (sign) => String.fromCharCode(sign.charCodeAt(0) - 0x60))

/** Without widths, capitals, scripts' own digits, marks above and below, kinds of space and what is hidden. */
export const readsAs = (text: string): string =>
  foldAlike(plainDigits(text.normalize('NFKD')))
    .replace(/\s+/gu, ' ')
    // The tatweel only stretches an Arabic word.
    .replace(/[\p{Cc}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB\u0640\p{Mn}\p{Me}]/gu, '')
    .trim()
    .toLowerCase()
