/**
 * The rules by which sentences are said (C37), from the files of `spoken/`, one for each language, and what they read as in a
 * sentence. spoken-words.ts applies them.
 */
import ar from './spoken/ar.json' with { type: 'json' }
import de from './spoken/de.json' with { type: 'json' }
import en from './spoken/en.json' with { type: 'json' }
import es from './spoken/es.json' with { type: 'json' }
import fr from './spoken/fr.json' with { type: 'json' }
import it from './spoken/it.json' with { type: 'json' }
import nl from './spoken/nl.json' with { type: 'json' }
import pl from './spoken/pl.json' with { type: 'json' }
import tr from './spoken/tr.json' with { type: 'json' }

/**
 * One form for every number, none if it means several things, or one for each of the language's (CLDR), and for numbers of their own
 * with them (`=1`). `=mg` is what another unit is.
 */
export type Forms = string | Readonly<Record<string, string>>

type CountedForms = Readonly<Record<string, string | Readonly<Record<string, string | null>>>>

export type SpokenRules = {
  /** The voice's name in espeak-ng. */
  readonly voice: string
  readonly script: string
  readonly decimal: { readonly marks: string; readonly word: string }
  /** Between thousands; empty if none is used. */
  readonly group: string
  readonly range: string
  /** `3x`, and once; some languages have a word for twice. */
  readonly times: string
  readonly once: string
  readonly twice?: string
  /** `2 × 500`. */
  readonly product: string
  /** `mg/kg`; empty if there is no such way to say it. */
  readonly per: string
  /** `500 mg/8 h`, where `per` would be for so long. */
  readonly perHours?: string
  readonly percent: string
  /** Whether it is also written before its number. */
  readonly isPercentFirst?: boolean
  /** Beside `x`. */
  readonly timesSuffixes?: readonly string[]
  readonly fractions: Readonly<Record<string, string>>
  /**
   * How nouns of dosing begin, in small letters (`$` ends a whole word), by what numbers agree with: a gender, or a kind of its own.
   * Before anything else, and before the words behind `parts`, `1/2` may be a date.
   */
  readonly nouns: Readonly<Record<string, readonly string[]>>
  readonly parts?: readonly string[]
  /**
   * Numbers that change with what they count, as they are written, by kind of noun: `""` where the voice says it rightly, null where
   * it cannot be said. A text alone is for every kind.
   */
  readonly counted?: CountedForms
  /** The same before another number of the same thing: `1 o 2`. */
  readonly joined?: CountedForms
  /** Whether 21 changes as 1 does. */
  readonly isLastDigitCounted?: boolean
  /** Words between two numbers of the same thing. */
  readonly joints?: readonly string[]
  /** Words behind a number that it does not count. */
  readonly uncounted?: readonly string[]
  /** Words that change the numbers behind them. */
  readonly cases?: readonly {
    readonly behind: readonly string[]
    readonly numbers: CountedForms
    /** Whether every number changes there: one that is not listed is not said. */
    readonly isWhole?: boolean
    /** What they may count there, if not everything. */
    readonly kinds?: readonly string[]
    /** Whether they are names there, and count nothing: `version 1`. */
    readonly isName?: boolean
    /** The form of a unit there, in place of that of the number. */
    readonly units?: Readonly<Record<string, string>>
  }[]
  /**
   * Kinds whose number has another form as the subject of a clause: as what begins one before these verbs, in the case `=subject`;
   * beside the others it may be either, in the case `=either`.
   */
  readonly subject?: {
    readonly kinds: readonly string[]
    readonly first: readonly string[]
    readonly beside: readonly string[]
  }
  /** Between a fraction other than a half and what it is of, also before a vowel: `un quart de`. */
  readonly partOf?: readonly string[]
  /** The end of a word for several of them: `1/2 tablets` are one or two. */
  readonly plurals?: string
  /** `1 1/2`. */
  readonly mixed: string
  /** `1 1/2`, by what is counted, where the half stands behind it, and what a plural has more than its one. */
  readonly halfBehind?: Readonly<Record<string, string>>
  readonly pluralSign?: string
  /** The form of a unit behind a fraction. */
  readonly fractionForm: string
  /** The form of a unit before what comes in that size, in place of that of the number: `5 milligram tablets`. */
  readonly sizeForms?: Readonly<Record<string, string>>
  /** Behind `1 1/2`, where it is not that of the number. */
  readonly mixedForm?: string
  readonly timeMarks: string
  /** `am` and `pm`. */
  readonly dayHalves?: Readonly<Record<string, string>>
  /** Whether `22.30` is a time before the words of `afterTime`. */
  readonly timeDot?: boolean
  /** Behind another word, the first word of a time, empty if that says it already, and the form of the hour. */
  readonly timeForms?: Readonly<Record<string, readonly string[]>>
  /** Hours that are no plain numbers, by form (`""` alone); null where it cannot be said. */
  readonly hours?: Readonly<Record<string, Readonly<Record<string, string | null>>>>
  /** Words behind which `8 h` and `8.30` are times. */
  readonly notTimes?: readonly string[]
  /** `q8h`. */
  readonly everyHours?: string
  /** The ends of `1st`, which the voice knows. */
  readonly ordinals?: readonly string[]
  readonly hour: string
  readonly time: string
  /** With minutes below ten, or up to `timeLowMax`. */
  readonly timeLow: string
  readonly timeLowMax?: number
  /** What minutes count, where they say so. */
  readonly minute?: string
  /** Words behind a time that its own words would repeat. */
  readonly afterTime: readonly string[]
  /** Before what a full stop behind a number may make it an ordinal. */
  readonly ordinalDot: string
  readonly units: Readonly<Record<string, Forms>>
  /** What may stand behind the slash of `2/day`. */
  readonly perWords: Readonly<Record<string, string>>
  /** Abbreviations, in small letters; those that change, by the word before. */
  readonly words: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  /** Abbreviations whose full stop never ends a sentence. */
  readonly titles: readonly string[]
  /** Those that are something else, or nothing, where no name is behind them, as they are written: `M. Dupont`, `10 m.` */
  readonly beforeNames?: Readonly<Record<string, string>>
  /** Words beside which those are nobody's title: `Am Fr.`, `Fr. Abend`, `Mme M. Dupont`. */
  readonly noNameBeside?: readonly string[]
  /** Words of up to four letters that may end a sentence: any other before a full stop may be shortened. */
  readonly lastWords: string
  /** What longer words may have behind their last vowel. */
  readonly codas?: string
  /** Whether a capital begins every noun: elsewhere it begins a name, which may end a sentence. */
  readonly hasCapitalNouns?: boolean
  /** Words of one letter, in small letters unless only the capital is one: `i` is a Roman numeral in English. */
  readonly single: readonly string[]
  /** Short words that are written in capitals to be heard. */
  readonly capitals: readonly string[]
  /** Abbreviations that look like words and are none, some only before a stop or in capitals, or that mean several things. */
  readonly unsafe: readonly string[]
}

const RULES: ReadonlyMap<string, SpokenRules> = new Map(
  Object.entries({ ar, de, en, es, fr, it, nl, pl, tr }),
)

/** In small letters: only Turkish has some of its own, and naming a language is slow. */
export const smallLetters = (language: string, word: string): string =>
  language === 'tr' ? word.toLocaleLowerCase('tr') : word.toLowerCase()

/** The last word of a text that goes on behind it. */
export const lastWord = (text: string): string => /(\p{L}+)\.? $/u.exec(text)?.[1] ?? ''

/** What a sticky pattern finds at a place. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at
  return pattern.exec(text) ?? undefined
}

export const primaryLanguage = (language: string): string => language.replace(/-.*/s, '')

/** Whether a region has the mark between thousands (CLDR): 1.500 is one and a half in Switzerland and in Mexico. */
const groupsBy = (language: string, group: string): boolean =>
  primaryLanguage(language) === language ||
  !/[.,]/.test(group) ||
  new Intl.NumberFormat(language, { useGrouping: 'always' })
    .formatToParts(1_000)
    .some(({ type, value }) => type === 'group' && value === group)

/** The rules of a language in its region; undefined if there are none. */
export function rulesFor(language: string): SpokenRules | undefined {
  const rules = RULES.get(primaryLanguage(language))
  return rules && !groupsBy(language, rules.group) ? { ...rules, group: '' } : rules
}

/** Languages that have rules. */
export const SPOKEN_LANGUAGES: readonly string[] = [...RULES.keys()]

/** What a table of rules says of a text, which may be any. */
export const lookUp = <Value>(
  table: Readonly<Record<string, Value>>,
  key: string,
): Value | undefined => (Object.hasOwn(table, key) ? table[key] : undefined)

/** How a unit is said; undefined for none. */
export const unitForms = ({ units }: SpokenRules, unit: string): Forms | undefined => {
  const forms = lookUp(units, unit)
  return typeof forms === 'string' && forms.startsWith('=') ? lookUp(units, forms.slice(1)) : forms
}

/** Whether a unit is written as it is said, of one or of several: behind a number in words it stays so, `dwie tabletki`. */
export const isInFull = (rules: SpokenRules, unit: string): boolean => {
  const forms = unitForms(rules, unit)
  return typeof forms === 'object' && Object.values(forms).includes(unit)
}

export const fill = (template: string, parts: Readonly<Record<string, string | number>>): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => String(parts[name]))

/** Whether something that begins with digits may end here. */
export const isBoundary = (text: string, end: number): boolean =>
  !/^[\p{L}\p{N}\p{M}%°/]/u.test(text.slice(end, end + 2))

/** A range from here on, of nothing that is named, may be a telephone number. */
const PHONE_MIN = 100
/** `555-1234`. */
export const mayBePhone = (written: string, first: number): boolean =>
  /\d ?[-–—] ?\d/u.test(written) && first >= PHONE_MIN

/** `a las 8,30`: two decimals that could be minutes, of nothing that is measured or divided. */
export function mayBeTime(
  text: string,
  place: { at: number; end: number; patterns: CompiledRules },
): boolean {
  const { at, end, patterns } = place
  patterns.measure.lastIndex = end
  return patterns.minutes.test(text.slice(at, end)) && !patterns.measure.test(text)
}

/** Whether a half repeats the article before it: `eine 1/2` is heard as one and a half. */
export function saysTwice(before: string, said: string): boolean {
  const last = /\p{L}{2,}(?= $)/u.exec(before)?.[0].toLowerCase()
  const first = /^\p{L}{2,}/u.exec(said)?.[0]
  return (
    last !== undefined && first !== undefined && (last.startsWith(first) || first.startsWith(last))
  )
}

/** `1/2 h` may be one or two. */
const TIME_UNIT =
  /^(?:h|hrs?|hs|std|mins?|u|godz|dk|dg|d|sem|wks?|wkn|wo|mos?|mths?|mnd|mies|tyg|sett|gg|hft?|j|jr|yrs?|se[ck]s?|sn|sa|ساعة|دقيقة|يوم|أسبوع|شهر)(?!\p{L})/u

const INTEGER = '(?:0|[1-9]\\d{0,5})'
const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
const sticky = (pattern: string): RegExp => new RegExp(pattern, 'uy')
const alternatives = (keys: readonly string[]): string =>
  keys.length === 0
    ? '(?!)'
    : keys
        .toSorted((left, right) => right.length - left.length)
        .map(escaped)
        .join('|')

const isTimeUnit = ([unit = '']: readonly string[]): boolean => TIME_UNIT.test(unit)

/** Units and things that a number may measure, as one pattern; an hour is none: `8.30 h` is a time. */
function measuredThings(rules: SpokenRules): string {
  const names = Object.keys(rules.units).map((unit) => {
    const forms = unitForms(rules, unit) ?? ''
    return [unit, ...(typeof forms === 'string' ? [forms] : Object.values(forms))]
  })
  const ofTime = names.filter(isTimeUnit).flat()
  const measures = names.filter((each) => !isTimeUnit(each)).flat()
  const things = Object.values(rules.nouns)
    .flatMap((starts) => starts.map((start) => start.replace('$', '')))
    .filter((start) => !ofTime.some((name) => name.startsWith(start)))
  const isNamed = alternatives(measures.filter((name) => name !== ''))
  return `(?:${isNamed})(?![\\p{L}\\p{M}])|${alternatives(things)}`
}

/** How a noun of dosing begins, the longest way first, and what numbers agree with there. */
function compileNouns({ nouns }: SpokenRules) {
  const starts = Object.values(nouns).flat()
  const kinds = new Map(
    Object.entries(nouns).flatMap(([kind, all]) =>
      all.map((start) => [start.replace('$', ''), kind] as const),
    ),
  )
  return { kinds, noun: sticky(alternatives(starts).replaceAll('\\$', "(?![\\p{L}\\p{M}’'])")) }
}

export type CompiledRules = ReturnType<typeof compileRules>

/** A language as its sentences are read. */
export type SpokenLanguage = {
  readonly language: string
  readonly rules: SpokenRules
  readonly patterns: CompiledRules
}

/** Where something known begins, as patterns for one place of a text. */
export function compileRules(rules: SpokenRules) {
  const { afterTime, beforeNames = {}, codas = '', dayHalves = {}, decimal } = rules
  const {
    fractions,
    group,
    joints = [],
    lastWords,
    ordinals = [],
    script,
    timeDot = false,
    timesSuffixes = [],
    timeMarks,
    units,
  } = rules
  const marks = `[${escaped(decimal.marks)}]`
  const fraction = `(?<fraction>${alternatives(Object.keys(fractions)).replaceAll('\\/', '[/⁄]')})`
  const grouped = group === '' ? '(?!)' : `[1-9]\\d{0,2}(?:${escaped(group)}\\d{3})+`
  // Three decimals behind another number than 0 may be meant as thousands.
  const part = `0${marks}\\d{1,4}|[1-9]\\d{0,5}${marks}\\d{1,2}`
  const measured = measuredThings(rules)
  const apostrophes = "['’\\-‐‑]"
  const letters = `\\p{Script=${script}}`
  return {
    timeUnit: TIME_UNIT,
    marks: new RegExp(marks, 'u'),
    number: sticky(
      `(?:(?:(?<whole>[1-9]\\d?) )?${fraction}|(?<grouped>${grouped})|(?<part>${part})|(?<plain>${INTEGER}))(?![\\d٫]|[.,:/]\\d)`,
    ),
    // `1, 5` may be meant as one number.
    goesOn: new RegExp(`^(?: ?${marks})? ?\\p{N}`, 'u'),
    clock: sticky(`([01]?\\d|2[0-3])[${timeMarks}]([0-5]\\d)(?![\\d:])`),
    dottedClock: sticky(
      timeDot
        ? `([01]?\\d|2[0-3])\\.([0-5]\\d)(?= ?(?:${alternatives(afterTime)})(?!\\p{L}))`
        : '(?!)',
    ),
    minutes: new RegExp(`^(?:1?[1-9]|10|2[0-3])${marks}[0-5]\\d(?!\\d)`, 'u'),
    measure: new RegExp(` ?(?:[%٪]|${measured})`, 'iuy'),
    ordinal: sticky(`(?:${alternatives(ordinals)})(?![\\p{L}\\p{N}])`),
    afterTime: sticky(` (?:${alternatives(afterTime)})(?!\\p{L})`),
    joint: sticky(` (?:${alternatives(joints)}) \\d[\\d.,/]*`),
    dash: sticky(' ?[-–—] ?(?=\\d)'),
    by: sticky(' ?[x×✕*] ?(?=\\d)'),
    times: sticky(
      `(?: ?[x×✕]|${alternatives(timesSuffixes)})(?:(?=$|[ ,.;)\\n/])(?! ?\\d)|(?=\\p{L}{4}))`,
    ),
    dayHalf: sticky(` ?(${alternatives(Object.keys(dayHalves))})(?!\\p{L})`),
    percent: sticky(' ?[%٪]'),
    unit: sticky(` ?(${alternatives(Object.keys(units))})(?![\\p{L}\\p{M}\\p{N}])`),
    dotted: sticky(
      '(?:\\p{L}\\.)+\\p{L}(?![\\p{L}\\p{M}\\p{N}.])|\\p{L}{1,2}\\. ?(?:\\p{L}{1,4}\\. ?)+(?!\\p{L}\\.)',
    ),
    title: sticky(
      `(${alternatives(Object.keys(beforeNames))})\\.(?: (?:d[eu] |d[’'])?(\\p{Lu}\\p{L}+))?`,
    ),
    // `Dott.ssa`.
    inflected: sticky('\\p{L}{2,}\\.\\p{L}+(?![\\p{L}\\p{M}.])'),
    word: sticky(`[’']?\\p{L}[\\p{L}\\p{M}]*(?:${apostrophes}\\p{L}[\\p{L}\\p{M}]*)*`),
    uncounted: new Set(rules.uncounted),
    ...compileNouns(rules),
    lastWords: new Set(lastWords.split(' ')),
    codas: new Set(codas.split(' ')),
    // `IV` is four, and an abbreviation.
    roman: /^(?=..)x{0,3}(?:ix|iv|v?i{0,3})$/,
    script: new RegExp(`^(?:${letters}|\\p{M}|${apostrophes})+$`, 'u'),
  }
}

/** A capital word of fewer letters may be an abbreviation. */
const CAPITALS_MIN = 6

/** Whether a word is one that the voice says as it stands, and no abbreviation. */
export function isWord(
  word: string,
  { isSingle, patterns, rules }: { isSingle: boolean; patterns: CompiledRules; rules: SpokenRules },
): boolean {
  if (!patterns.script.test(word)) return false
  if (/^.$/u.test(word)) return isSingle
  if (rules.script !== 'Latin') return true
  if (!/\p{Ll}/u.test(word)) return word.length >= CAPITALS_MIN || rules.capitals.includes(word)
  if (/\p{Ll}\p{M}*\p{Lu}/u.test(word)) return false
  return /[aeiouyıæøœ]/.test(word.normalize('NFD').toLowerCase()) || /^[’']/u.test(word)
}

const GLYPHS: Readonly<Record<string, string>> = {
  '½': '1⁄2',
  '¼': '1⁄4',
  '¾': '3⁄4',
  '⅓': '1⁄3',
  '⅔': '2⁄3',
}

/** A text as rules read it: one kind of blank and of micro sign, fractions in digits with their own slash, which no date has, letters without their joined shapes. */
export const evenText = (text: string): string =>
  text
    .replace(/[^\S\n]+/gu, ' ')
    .replaceAll('μ', 'µ')
    .replaceAll('ـ', '')
    .replace(/[\uFB50-\uFDFF\uFE70-\uFEFC]/gu, (shaped) => shaped.normalize('NFKC'))
    .replace(/[½¼¾⅓⅔]/gu, (glyph) => ` ${GLYPHS[glyph]} `)
    .replace(/ {2,}/g, ' ')
    .trim()
