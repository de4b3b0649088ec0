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
const rowOf = (sign: string): string =>
  `[${(SIGNS.find((row) => row.startsWith(sign)) ?? '').replace(/[[\]/]/g, '\\$&')}]`
export const COLON = rowOf(':')
export const SLASH = rowOf('/')
export const OPENING_BRACKET = rowOf('[')
export const CLOSING_BRACKET = rowOf(']')
/** Without single ones, which are apostrophes too. */
export const QUOTE = rowOf('"')

const ALIKE = new Map(
  [...LETTERS, ...SIGNS].flatMap((row) => {
    const [first = '', ...others] = row
    return others.map((other) => [other, first] as const)
  }),
)

/** Letters and signs as the Latin ones that they look like. */
export const foldAlike = (text: string): string =>
  text.replace(/[^\0-\x7F]/gu, (each) => ALIKE.get(each) ?? each)

/** Without widths, capitals, marks above and below, kinds of space and what is hidden. */
export const readsAs = (text: string): string =>
  foldAlike(text.normalize('NFKD'))
    .replace(/\s+/gu, ' ')
    // The tatweel only stretches an Arabic word.
    .replace(/[\p{Cc}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB\u0640\p{Mn}\p{Me}]/gu, '')
    .trim()
    .toLowerCase()
