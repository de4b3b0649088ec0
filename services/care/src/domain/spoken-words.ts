/**
 * A sentence as a voice of its language says it (C37): numbers, times, units and abbreviations of dosing become words, by the rules
 * of `spoken/`, a file for each language. Whatever these rules do not know (another script, digits in another pattern, an abbreviation
 * that nobody has listed, a sign) makes the sentence one that is not spoken: it is never spoken wrong.
 */
import { type Read, readPunctuation } from './read-punctuation.ts'
import { readTitle } from './read-title.ts'
import {
  compileRules,
  evenText,
  fill,
  isBoundary,
  isWord,
  lookUp,
  mayBePhone,
  mayBeTime,
  primaryOf,
  rulesFor,
  type SpokenRules,
  saysTwice,
} from './spoken-rules.ts'

/** The voice that speaks a language; undefined if there is none. */
export const voiceFor = (language: string | undefined): string | undefined =>
  rulesFor(language ?? '')?.voice

type ReadNumber = Read & {
  readonly value: number
  readonly isFraction: boolean
}

/** A word of more letters that a full stop follows ends its sentence, before a number too. */
const SHORT_WORD_CHARS = 5

class SentenceReader {
  readonly #rules: SpokenRules
  readonly #language: string
  readonly #plural: Intl.PluralRules
  readonly #patterns: ReturnType<typeof compileRules>

  constructor(language: string, rules: SpokenRules) {
    this.#rules = rules
    this.#language = language
    this.#plural = new Intl.PluralRules(language)
    this.#patterns = compileRules(rules)
  }

  /** The whole sentence in words; undefined if a part of it is not known. */
  read(text: string): string | undefined {
    let at = 0
    let said = ''
    let numberEnd: number | undefined
    while (at < text.length) {
      const next = this.#next(text, at, said)
      const isNumber = /\d/.test(text[at] ?? '')
      if (next === undefined || (isNumber && saysTwice(said, next.said))) return undefined
      // A number close behind another one is not heard as its end: B 12, 1000; at 20 h, 2 tablets.
      const isApart = isNumber && said.endsWith(' ') && (/\d $/.test(said) || numberEnd === at - 1)
      said = (isApart ? `${said.trimEnd()}, ` : said) + next.said
      at = next.end
      if (isNumber) numberEnd = at
    }
    return said
  }

  #next(text: string, at: number, before: string): Read | undefined {
    const sign = text[at] ?? ''
    if (/[\d%٪]/.test(sign)) return this.#time(text, at, before) ?? this.#quantity(text, at)
    const word = /[\p{L}’']/u.test(sign)
      ? (this.#vitamin(text, at, before) ?? this.#word(text, at))
      : undefined
    return word === undefined ? readPunctuation(text, at) : this.#rate(text, word)
  }

  #match(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
    pattern.lastIndex = at
    return pattern.exec(text) ?? undefined
  }

  /** A vitamin is known by a letter, and a number. */
  #vitamin(text: string, at: number, before: string): Read | undefined {
    if (this.#rules.script !== 'Latin' || !/[vw]itamin\p{L}* $/iu.test(before)) return undefined
    const found = this.#match(/(\p{Lu})(\d{0,2})(?![\p{L}\p{N}])/uy, text, at)
    if (found === undefined) return undefined
    const [name, letter = '', digits = ''] = found
    return { said: digits === '' ? letter : `${letter} ${digits}`, end: at + name.length }
  }

  #clock(text: string, at: number): Read | undefined {
    const { clock, dottedClock } = this.#patterns
    const found = this.#match(clock, text, at) ?? this.#match(dottedClock, text, at)
    if (found === undefined) return undefined
    const { hour, time, timeLow } = this.#rules
    const [h, m] = [Number(found[1]), Number(found[2])]
    const template = m === 0 ? hour : m < 10 ? timeLow : time
    return { said: fill(template, { h, m }), end: at + found[0].length }
  }

  #time(text: string, at: number, before: string): Read | undefined {
    const from = this.#clock(text, at)
    if (from === undefined || /[\p{L}\p{N}]$/u.test(before)) return undefined
    const dash = this.#match(this.#patterns.dash, text, from.end)
    const to = dash && this.#clock(text, from.end + dash[0].length)
    const whole = to === undefined ? from : { said: this.#range(from.said, to.said), end: to.end }
    const half = this.#dayHalf(text, whole.end)
    const after = this.#match(this.#patterns.afterTime, text, half?.end ?? whole.end)
    const end = (half?.end ?? whole.end) + (after?.[0].length ?? 0)
    if (!isBoundary(text, end)) return undefined
    return { said: this.#behind(before, whole.said) + (half?.said ?? ''), end }
  }

  /** A time as it is said behind a word: in its form, or without a word that stands there already. */
  #behind(before: string, time: string): string {
    const { beforeTime, timeForms = {} } = this.#rules
    const last = /\p{L}+(?= $)/u.exec(before)?.[0]
    if (last === undefined) return time
    const small = this.#small(last)
    if (beforeTime.includes(small)) return time.replace(/^\p{L}+ /u, '')
    const form = lookUp(timeForms, small)
    return form === undefined ? time : time.replace(/^\p{L}+/u, form)
  }

  /** Half past noon is said in both ways: of twelve nobody knows. */
  #dayHalf(text: string, at: number): Read | undefined {
    const found = this.#match(this.#patterns.dayHalf, text, at)
    if (found === undefined) return undefined
    const said = this.#rules.dayHalves?.[found[1] ?? ''] ?? ''
    const isTwelve = /(?:^|\D)12(?::\d\d)?$/.test(text.slice(0, at))
    return isTwelve ? undefined : this.#abbreviated(text, ` ${said}`, at + found[0].length)
  }

  #range(a: string, b: string): string {
    return fill(this.#rules.range, { a, b })
  }

  #number(text: string, at: number): ReadNumber | undefined {
    const { decimal, fractions, group, mixed, mixedHalf } = this.#rules
    const found = this.#match(this.#patterns.number, text, at)
    if (found === undefined) return undefined
    const { fraction, grouped, part, whole, plain } = found.groups ?? {}
    const end = at + found[0].length
    if (fraction !== undefined) {
      const key = fraction.replace('⁄', '/')
      const words = fractions[key] ?? ''
      const [over = 0, under = 1] = key.split('/').map(Number)
      const value = over / under
      if (whole === undefined) return { said: words, end, value, isFraction: true }
      const template = (key === '1/2' && mixedHalf) || mixed
      const said = fill(template, { n: whole, fraction: words })
      return { said, end, value: Number(whole) + value, isFraction: false }
    }
    if (grouped !== undefined) {
      const digits = grouped.replaceAll(group, '')
      return { said: digits, end, value: Number(digits), isFraction: false }
    }
    if (part === undefined)
      return { said: plain ?? '', end, value: Number(plain), isFraction: false }
    const [before = '', after = ''] = part.split(this.#patterns.marks)
    const said = `${before} ${decimal.word} ${after.split('').join(' ')}`
    return { said, end, value: Number(`${before}.${after}`), isFraction: false }
  }

  /** Numbers with what belongs to them: a product or a range, a unit or a percentage, and what it is for. */
  #quantity(text: string, at: number): Read | undefined {
    const first = this.#number(text, at) ?? this.#percentFirst(text, at)
    if (first === undefined) return undefined
    const amount = this.#amount(text, first)
    const unit = amount && this.#match(this.#patterns.unit, text, amount.end)?.[1]
    if (unit !== undefined && lookUp(this.#rules.units, unit) === '') return undefined
    if (amount === undefined || this.#isTimeOfDay(text, at, amount.end)) return undefined
    const counted = this.#ordinal(text, amount) ?? this.#times(text, amount)
    const measured = counted ?? this.#measured(text, this.#half(text, amount))
    const { end, said } = this.#rate(text, measured)
    const isBare = end === amount.end && counted === undefined
    if (!said.endsWith(' ') && !isBoundary(text, end)) return undefined
    if (isBare && (this.#goesOn(text, end) || mayBePhone(text.slice(at, end), first.value)))
      return undefined
    return this.#mayBeNoFraction(text, at, amount.end) ? undefined : { said, end }
  }

  /** `1/2` is also a date, and `2/3 days` two or three of them: it is a part only of one thing that can be divided. */
  #mayBeNoFraction(text: string, at: number, end: number): boolean {
    const written = text.slice(at, end)
    if (!written.includes('/') || /^\d+ /.test(written)) return false
    const { dividedThings, plurals = '(?!)' } = this.#rules
    const unit = this.#match(this.#patterns.unit, text, end)?.[1]
    const noun = this.#small(unit ?? text.slice(end).trimStart())
    const word = /^[\p{L}\p{M}]+/u.exec(noun)?.[0] ?? ''
    const isSeveral = this.#patterns.timeUnit.test(noun) || new RegExp(plurals, 'u').test(word)
    if (isSeveral || /2\/3|3\/4/.test(written)) return true
    return unit === undefined && !dividedThings.some((start) => noun.startsWith(start))
  }

  /** `1st`, which the voice says by itself. */
  #ordinal(text: string, { end, said }: ReadNumber): Read | undefined {
    const found = this.#match(this.#patterns.ordinal, text, end)
    return found && { said: said + found[0], end: end + found[0].length }
  }

  /** `um 8 h` is no number of hours, and `at 8.30` none with a fraction. */
  #isTimeOfDay(text: string, at: number, end: number): boolean {
    const isDecimal = this.#patterns.marks.test(text.slice(at, end))
    if (isDecimal && this.#dayHalf(text, end) !== undefined) return true
    if (mayBeTime(text, { at, end, patterns: this.#patterns })) return true
    const word = /(\p{L}+) $/u.exec(text.slice(0, at))?.[1]
    const isTime = word !== undefined && this.#rules.notTimes?.includes(this.#small(word)) === true
    const isBare = isDecimal && this.#match(this.#patterns.unit, text, end) === undefined
    return isTime && (isBare || /^ ?h(?!\p{L})/u.test(text.slice(end, end + 3)))
  }

  /** `%50`. */
  #percentFirst(text: string, at: number): ReadNumber | undefined {
    const { isPercentFirst = false, percent } = this.#rules
    if (!isPercentFirst || !/[%٪]/.test(text[at] ?? '')) return undefined
    const number = this.#number(text, at + 1)
    return number && { ...number, said: fill(percent, { n: number.said }) }
  }

  /** A half in the gender of what it is of. */
  #half(text: string, amount: ReadNumber): ReadNumber {
    const { fractions, halves = {} } = this.#rules
    if (!amount.isFraction || amount.said !== fractions['1/2']) return amount
    const unit = this.#match(this.#patterns.unit, text, amount.end)?.[1]
    const noun =
      unit === undefined ? text.slice(amount.end).trimStart() : this.#unitFor(unit, amount)
    const said = Object.keys(halves).find((half) =>
      halves[half]?.some((start) => this.#small(noun).startsWith(start)),
    )
    return said === undefined ? amount : { ...amount, said }
  }

  /** `3x daily`. */
  #times(text: string, { end, said, value }: ReadNumber): Read | undefined {
    const sign = this.#match(this.#patterns.times, text, end)
    if (sign === undefined || !Number.isInteger(value)) return undefined
    const { once, times, twice } = this.#rules
    const words = said === '1' ? once : said === '2' ? twice : undefined
    const space = /\p{L}/u.test(text[end + sign[0].length] ?? '') ? ' ' : ''
    return { said: (words ?? fill(times, { a: said })) + space, end: end + sign[0].length }
  }

  /** `2 × 500`, `5–10`, or the number alone; undefined for a range that is none. */
  #amount(text: string, first: ReadNumber): ReadNumber | undefined {
    const by = this.#match(this.#patterns.by, text, first.end)
    const factor = by && this.#number(text, first.end + by[0].length)
    if (factor !== undefined)
      return { ...factor, said: fill(this.#rules.product, { a: first.said, b: factor.said }) }
    const dash = this.#match(this.#patterns.dash, text, first.end)
    if (dash === undefined) return first
    const last = this.#number(text, first.end + dash[0].length)
    if (last === undefined || last.value <= first.value || first.value === 0) return undefined
    if (this.#match(this.#patterns.dash, text, last.end) !== undefined) return undefined
    return { ...last, said: this.#range(first.said, last.said) }
  }

  /** With its unit or per cent. */
  #measured(text: string, amount: ReadNumber): Read {
    const { percent } = this.#rules
    const sign = this.#match(this.#patterns.percent, text, amount.end)
    if (sign !== undefined)
      return { said: fill(percent, { n: amount.said }), end: amount.end + sign[0].length }
    const unit = this.#match(this.#patterns.unit, text, amount.end)
    const half = this.#dayHalf(text, amount.end)
    if (half !== undefined) return { said: amount.said + half.said, end: half.end }
    if (unit === undefined) return amount
    const name = this.#unitFor(unit[1] ?? '', amount)
    const end = amount.end + unit[0].length
    const said = `${amount.said} ${name}`
    return text[end - 1] === '.'
      ? this.#abbreviated(text, said, end)
      : this.#shortened(text, said, end)
  }

  #unitFor(unit: string, amount: Pick<ReadNumber, 'value' | 'isFraction'> | undefined): string {
    const forms = lookUp(this.#rules.units, unit) ?? ''
    if (typeof forms === 'string') return forms
    if (amount === undefined) return forms[unit.endsWith('s') ? 'other' : 'one'] ?? ''
    const form = amount.isFraction ? this.#rules.fractionForm : this.#plural.select(amount.value)
    return forms[form] ?? forms['other'] ?? ''
  }

  /** `mg/kg`, `5 mg/5 ml`, `3x/day`. */
  #rate(text: string, before: Read): Read {
    const { per, perWords } = this.#rules
    const slash = this.#match(/ ?\/ ?/uy, text, before.end)
    if (slash === undefined || per === '') return before
    const start = before.end + slash[0].length
    const word = this.#match(/\p{L}[\p{L}\p{M}]*/uy, text, start)
    // `A/D` are two vitamins.
    const known = word && lookUp(perWords, word[0].length === 1 ? word[0] : this.#small(word[0]))
    if (known !== undefined)
      return { said: `${before.said} ${per} ${known}`, end: start + (word?.[0].length ?? 0) }
    const number = this.#number(text, start)
    const unit = this.#match(this.#patterns.unit, text, number?.end ?? start)
    if (unit === undefined) return before
    // Two strengths of one product, of which none is for the other.
    if (number !== undefined && text.slice(0, before.end).endsWith(unit[1] ?? '')) return before
    const name = this.#unitFor(unit[1] ?? '', number ?? { value: 1, isFraction: false })
    const said = number === undefined ? name : `${number.said} ${name}`
    const end = (number?.end ?? start) + unit[0].length
    return this.#rate(text, { said: `${before.said} ${per} ${said}`, end })
  }

  /** Whether a number without a unit may belong to what follows: to another number, or as an ordinal. */
  #goesOn(text: string, end: number): boolean {
    if (this.#patterns.goesOn.test(text.slice(end, end + 4))) return true
    const after = /^\. ?(?=(\S))/u.exec(text.slice(end, end + 4))?.[1]
    if (after === undefined) return false
    return this.#rules.ordinalDot === 'always' || /\p{Ll}|\p{N}/u.test(after)
  }

  #word(text: string, at: number): Read | undefined {
    const { everyHours, titles, unsafe, words } = this.#rules
    const rules = { patterns: this.#patterns, rules: this.#rules }
    const title = readTitle(text, at, rules)
    if (title !== 'none') return title
    const every = everyHours && this.#match(/q ?(\d{1,2}) ?h(?![\p{L}\p{N}])/uy, text, at)
    if (every) return { said: fill(everyHours, { n: every[1] ?? '' }), end: at + every[0].length }
    const dotted = this.#match(this.#patterns.dotted, text, at)?.[0].trimEnd()
    if (dotted !== undefined) {
      const small = this.#small(dotted).replaceAll(' ', '')
      const known = lookUp(words, small.replace(/\.?$/, '.'))
      if (known !== undefined) return this.#abbreviated(text, known, at + dotted.length)
      // `Dr. J. Roy` is a title, and an initial.
      if (!titles.includes(`${small.split('.')[0]}.`)) return undefined
    }
    const word = this.#match(this.#patterns.word, text, at)?.[0]
    if (word === undefined) return undefined
    const end = at + word.length
    const next = text[end] ?? ''
    if (/\p{N}/u.test(next)) return undefined
    const small = this.#small(word)
    const inflected = this.#match(this.#patterns.inflected, text, at)?.[0] ?? ''
    const known = lookUp(words, this.#small(inflected))
    if (known !== undefined) return { said: known, end: at + inflected.length }
    const unclear = [small, word]
    if (next === '.' && unclear.some((each) => unsafe.includes(`${each}.`))) return undefined
    // In capitals `MR` and `DR` are how a medicine is released, and `MS` is one.
    if (/^\p{Lu}+$/u.test(word) && titles.includes(`${small}.`)) return undefined
    const [withSign, plain] = [lookUp(words, small + next), lookUp(words, small)]
    if (withSign !== undefined && /[./’']/.test(next)) {
      // More of the abbreviation, of which nothing is known.
      if (next === '.' && /\p{L}/u.test(text[end + 1] ?? '')) return undefined
      return this.#abbreviated(text, withSign + (next === '/' ? ' ' : ''), end + 1)
    }
    if (plain !== undefined) return this.#shortened(text, plain, end)
    if (word.length > 1 && Object.hasOwn(this.#rules.units, word))
      return this.#shortened(text, this.#unitFor(word, undefined), end)
    // Behind a number a letter may be a unit, also where it is a word: `10 U`, and before a stop `3 a.`
    const isUnit = word.length === 1 && /^(?:\p{Lu}|.\.?$)/u.test(word + next)
    if (isUnit && /\d ?$/.test(text.slice(0, at))) return undefined
    const isInitial = /^\p{Lu}\. \p{Lu}\p{Ll}/u.test(text.slice(at, at + 5))
    const isRoman = small.split(/[-‐‑]/).some((part) => this.#patterns.roman.test(part))
    if (isRoman || unclear.some((each) => unsafe.includes(each))) return undefined
    const isSingle = isInitial || unclear.some((each) => this.#rules.single.includes(each))
    if (!isWord(word, { ...rules, isSingle })) return undefined
    if (isInitial) return { said: word, end: end + 1 }
    if (this.#endsAbbreviation(text, end, word)) return undefined
    const isShouted = word.length > 1 && !/\p{Ll}/u.test(word)
    return { said: isShouted && this.#rules.script === 'Latin' ? small : word, end }
  }

  #small(word: string): string {
    // Only Turkish has small letters of its own, and naming a language is slow.
    return this.#language === 'tr' ? word.toLocaleLowerCase('tr') : word.toLowerCase()
  }

  /** A known abbreviation, whose full stop may end the sentence too. */
  #abbreviated(text: string, said: string, end: number): Read {
    const isLast = text[end - 1] === '.' && /^(?:$|\n| \p{Lu})/u.test(text.slice(end, end + 3))
    const isTitle = this.#rules.titles.some((title) => this.#rules.words[title] === said)
    return { said: isLast && !isTitle ? `${said}.` : said, end }
  }

  /** A known abbreviation that is written without its full stop, or with one in a sentence. */
  #shortened(text: string, said: string, end: number): Read {
    return { said, end: /^\. [\p{Ll}\p{N}]/u.test(text.slice(end, end + 3)) ? end + 1 : end }
  }

  /** Whether the full stop behind a word stands in a sentence: it shortens the word. */
  #endsAbbreviation(text: string, end: number, word: string): boolean {
    const after = /^\. ?(?=(\S))/u.exec(text.slice(end, end + 4))?.[1]
    if (after === undefined) return false
    return /\p{Ll}/u.test(after) || (/\p{N}/u.test(after) && word.length <= SHORT_WORD_CHARS)
  }
}

const readers = new Map<string, SentenceReader>()

/** The words of a text in a language, for a voice of that language; undefined if they cannot be told for sure. */
export function spokenWords(text: string, language: string): string | undefined {
  const rules = rulesFor(language)
  if (rules === undefined) return undefined
  const key = primaryOf(language) + rules.group
  const reader = readers.get(key) ?? new SentenceReader(primaryOf(language), rules)
  readers.set(key, reader)
  return reader.read(evenText(text))
}
