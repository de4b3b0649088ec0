/** Numbers of a sentence with what belongs to them (C37): units, ranges, products, fractions, and what they are for. */
import { endAbbreviation, endShortened, type Read } from './read-punctuation.ts'
import {
  agreedNumber,
  type Counted,
  caseBehind,
  countedBy,
  type SpokenNumber,
} from './spoken-counts.ts'
import {
  type CompiledRules,
  type Forms,
  fill,
  isBoundary,
  isInFull,
  lastWord,
  lookUp,
  matchAt,
  mayBePhone,
  mayBeTime,
  type SpokenLanguage,
  type SpokenRules,
  smallLetters,
  unitForms,
} from './spoken-rules.ts'
import type { TimeReader } from './spoken-times.ts'

type ReadNumber = Read & SpokenNumber
/** A number, or two: `5–10`, `2 × 500`. */
type Amount = {
  readonly first?: ReadNumber | undefined
  readonly last: ReadNumber
  readonly end: number
  readonly isProduct?: boolean
}
/** What an amount is of: the unit's forms and name, or a word behind it. */
type Thing = {
  readonly counted: Counted
  readonly isJoined?: boolean
  readonly forms?: Forms | undefined
  readonly unit?: RegExpExecArray | undefined
}

export class QuantityReader {
  readonly #rules: SpokenRules
  readonly #language: string
  readonly #plural: Intl.PluralRules
  readonly #patterns: CompiledRules
  readonly #clock: TimeReader

  constructor({ language, patterns, rules }: SpokenLanguage, times: TimeReader) {
    this.#rules = rules
    this.#language = language
    this.#plural = new Intl.PluralRules(language)
    this.#patterns = patterns
    this.#clock = times
  }

  #number(text: string, at: number): ReadNumber | undefined {
    const { decimal, fractions, group, mixed } = this.#rules
    const found = matchAt(this.#patterns.number, text, at)
    if (found === undefined) return undefined
    const { fraction, grouped, part, whole, plain } = found.groups ?? {}
    const end = at + found[0].length
    if (fraction !== undefined) {
      const key = fraction.replace('⁄', '/')
      const words = fractions[key] ?? ''
      const [over = 0, under = 1] = key.split('/').map(Number)
      const value = over / under
      if (whole === undefined) return { said: words, end, value, written: key }
      const said = fill(mixed, { n: whole, fraction: words })
      return { said, end, value: Number(whole) + value, written: `${whole} ${key}` }
    }
    const digits = plain ?? grouped?.replaceAll(group, '')
    if (digits !== undefined) return { said: digits, end, value: Number(digits), written: digits }
    if (part === undefined) return undefined
    const [before = '', after = ''] = part.split(this.#patterns.marks)
    const said = `${before} ${decimal.word} ${after.split('').join(' ')}`
    return { said, end, value: Number(`${before}.${after}`), written: part }
  }

  /** Numbers with what belongs to them: a product or a range, a unit or a percentage, and what it is for. */
  quantity(text: string, at: number, said: string): Read | undefined {
    const percentage = this.#percentFirst(text, at)
    const first = percentage ?? this.#number(text, at)
    const amount = first && this.#amount(text, first)
    const unit = amount && matchAt(this.#patterns.unit, text, amount.end)?.[1]
    if (unit !== undefined && unitForms(this.#rules, unit) === '') return undefined
    if (amount === undefined || this.#isTimeOfDay(text, at, amount.end)) return undefined
    const before = smallLetters(this.#language, lastWord(said))
    const counted = this.#ordinal(text, amount) ?? this.#times(text, amount, before)
    const measured =
      counted ?? this.#measured(text, amount, percentage ? undefined : { at, before })
    if (measured === undefined) return undefined
    const read = this.rate(text, measured)
    const isBare = read.end === amount.end && counted === undefined
    if (!/[ ’]$/.test(read.said) && !isBoundary(text, read.end)) return undefined
    const value = (amount.first ?? amount.last).value
    if (isBare && (this.#goesOn(text, read.end) || mayBePhone(text.slice(at, read.end), value)))
      return undefined
    return this.#mayBeNoFraction(text, at, amount.end) ? undefined : read
  }

  /** `1/2` is also a date, and `2/3 days` two or three of them: it is a part only of one thing that can be divided. */
  #mayBeNoFraction(text: string, at: number, end: number): boolean {
    const written = text.slice(at, end)
    if (!written.includes('/') || /^\d+ /.test(written)) return false
    const { parts = [], plurals = '(?!)' } = this.#rules
    const unit = matchAt(this.#patterns.unit, text, end)?.[1]
    const noun = smallLetters(this.#language, unit ?? text.slice(end).trimStart())
    const word = /^[\p{L}\p{M}]+/u.exec(noun)?.[0] ?? ''
    const isSeveral = this.#patterns.timeUnit.test(noun) || new RegExp(plurals, 'u').test(word)
    if (isSeveral || /2\/3|3\/4/.test(written)) return true
    const isThing = typeof countedBy(this.#patterns, noun) === 'object'
    return unit === undefined && !isThing && !parts.some((start) => noun.startsWith(start))
  }

  /** `1st`, which the voice says by itself. */
  #ordinal(text: string, { first, end, last: { said } }: Amount): Read | undefined {
    if (first !== undefined) return undefined
    const found = matchAt(this.#patterns.ordinal, text, end)
    return found && { said: said + found[0], end: end + found[0].length }
  }

  /** `um 8 h` is no number of hours, and `at 8.30` none with a fraction. */
  #isTimeOfDay(text: string, at: number, end: number): boolean {
    const isDecimal = this.#patterns.marks.test(text.slice(at, end))
    if (isDecimal && this.#clock.dayHalf(text, end) !== undefined) return true
    if (mayBeTime(text, { at, end, patterns: this.#patterns })) return true
    const word = /(\p{L}+) $/u.exec(text.slice(0, at))?.[1]
    const isTime =
      word !== undefined &&
      this.#rules.notTimes?.includes(smallLetters(this.#language, word)) === true
    const isBare = isDecimal && matchAt(this.#patterns.unit, text, end) === undefined
    return isTime && (isBare || /^ ?h(?!\p{L})/u.test(text.slice(end, end + 3)))
  }

  /** `%50`. */
  #percentFirst(text: string, at: number): ReadNumber | undefined {
    const { isPercentFirst = false, percent } = this.#rules
    if (!isPercentFirst || !/[%٪]/.test(text[at] ?? '')) return undefined
    const number = this.#number(text, at + 1)
    return number && { ...number, said: fill(percent, { n: number.said }) }
  }

  /** `3x daily`. */
  #times(text: string, amount: Amount, before: string): Read | undefined {
    const sign = matchAt(this.#patterns.times, text, amount.end)
    if (sign === undefined || !Number.isInteger(amount.last.value)) return undefined
    const { once, times, twice } = this.#rules
    const name = times.replace('{a}', '')
    const isPair = amount.first !== undefined
    const forms = {
      ...((!isPair || twice !== undefined) && { '=1': once }),
      ...(twice !== undefined && { '=2': twice }),
    }
    const said = this.#amountWords(
      amount,
      { counted: countedBy(this.#patterns, name.trimStart()), forms },
      before,
    )
    if (said === undefined) return undefined
    const space = /\p{L}/u.test(text[amount.end + sign[0].length] ?? '') ? ' ' : ''
    return {
      said: said.text + (said.isWhole ? '' : name) + space,
      end: amount.end + sign[0].length,
    }
  }

  /** `2 × 500`, `5–10`, or the number alone; undefined for a range that is none. */
  #amount(text: string, first: ReadNumber): Amount | undefined {
    const by = matchAt(this.#patterns.by, text, first.end)
    const factor = by && this.#number(text, first.end + by[0].length)
    if (factor !== undefined) return { first, last: factor, end: factor.end, isProduct: true }
    const dash = matchAt(this.#patterns.dash, text, first.end)
    if (dash === undefined) return { last: first, end: first.end }
    const last = this.#number(text, first.end + dash[0].length)
    if (last === undefined || last.value <= first.value || first.value === 0) return undefined
    if (matchAt(this.#patterns.dash, text, last.end) !== undefined) return undefined
    return { first, last, end: last.end }
  }

  #agreed(number: SpokenNumber, counted: Counted, { before = '', isJoined = false } = {}) {
    return agreedNumber(this.#rules, number, { counted, before, isJoined })
  }

  /** An amount as it agrees with what it is of; with the name of that where a form says both. */
  #amountWords(
    { first, isProduct, last }: Amount,
    { counted, forms, isJoined = false }: Thing,
    before: string,
  ): { readonly text: string; readonly isWhole: boolean } | undefined {
    const { once, product, range } = this.#rules
    const wholeForm = ({ value }: ReadNumber): string | undefined =>
      typeof forms === 'object' ? lookUp(forms, `=${value}`) : undefined
    const behind = first === undefined || isProduct ? before : lastWord(range.replace('{b}', ''))
    const whole = wholeForm(last)
    const b = whole ?? this.#agreed(last, counted, { before: behind, isJoined })
    if (b === undefined) return undefined
    if (first === undefined) return { text: b, isWhole: whole !== undefined }
    if (isProduct === true)
      return {
        text: first.said === '1' ? `${once} ${b}` : fill(product, { a: first.said, b }),
        isWhole: false,
      }
    const a = wholeForm(first) ?? this.#agreed(first, counted, { before, isJoined: true })
    return a === undefined
      ? undefined
      : { text: fill(range, { a, b }), isWhole: whole !== undefined }
  }

  /** What stands behind an amount, also behind a second number: `1 or 2 tablets`. */
  #thingBehind(text: string, end: number): Thing {
    const joint = matchAt(this.#patterns.joint, text, end)
    const from = end + (joint?.[0].length ?? 0)
    const unit = matchAt(this.#patterns.unit, text, from)
    const name =
      unit === undefined ? text.slice(from).replace(/^ /, '') : this.unitFor(unit[1] ?? '', 2)
    const counted = countedBy(this.#patterns, smallLetters(this.#language, name))
    if (joint !== undefined) return { counted, isJoined: true }
    return { counted, unit, forms: unit && unitForms(this.#rules, unit[1] ?? '') }
  }

  /** With its unit or per cent; undefined where it is not known how the number is said of that. */
  #measured(
    text: string,
    amount: Amount,
    place: { readonly at: number; readonly before: string } | undefined,
  ): Read | undefined {
    const { percent } = this.#rules
    const { end, last } = amount
    if (place === undefined)
      return { said: this.#amountWords(amount, { counted: 'nothing' }, '')?.text ?? '', end }
    let { before } = place
    const sign = matchAt(this.#patterns.percent, text, end)
    if (sign !== undefined) {
      const counted = countedBy(this.#patterns, percent.replace('{n} ', '').toLowerCase())
      const n = this.#amountWords(amount, { counted }, before)?.text
      return n === undefined ? n : { said: fill(percent, { n }), end: end + sign[0].length }
    }
    const half = this.#clock.dayHalf(text, end)
    const thing = this.#thingBehind(text, end)
    const isAlone = amount.first === undefined && thing.isJoined !== true
    if (isAlone && caseBehind(this.#rules, before) === undefined)
      before = this.#subject(text, { at: place.at, end, counted: thing.counted }) ?? before
    if (this.#rules.halfBehind !== undefined && last.written.endsWith(' 1/2'))
      return this.#halfBehind(text, amount, { before, thing })
    const words = this.#amountWords(
      amount,
      half === undefined ? thing : { counted: 'nothing' },
      before,
    )
    if (words === undefined) return undefined
    if (half !== undefined) return { said: words.text + half.said, end: half.end }
    const part = this.#joinPart(last, thing.counted, text.slice(end).trimStart())
    if (thing.unit === undefined)
      return { said: words.text + part, end: part === '' ? end : end + 1 }
    const isRange = amount.first !== undefined && amount.isProduct !== true
    const own = caseBehind(
      this.#rules,
      isRange ? lastWord(this.#rules.range.replace('{b}', '')) : before,
    )
    const unitEnd = end + thing.unit[0].length
    const isSize = typeof this.#thingBehind(text, unitEnd).counted === 'object'
    const inCase = (isSize ? this.#rules.sizeForms : undefined) ?? own?.units
    const name = this.unitFor(thing.unit[1] ?? '', last, inCase)
    // Another case, of which the word before does not tell: `dawka 1 tabletki`.
    const isOther = isInFull(this.#rules, thing.unit[1] ?? '') && thing.unit[1] !== name
    if (isAlone && last.value === 1 && !words.isWhole && isOther) return undefined
    const said = words.isWhole
      ? words.text
      : `${words.text}${this.#joinPart(last, thing.counted, name) || ' '}${name}`
    return text[unitEnd - 1] === '.'
      ? endAbbreviation(text, { said, end: unitEnd })
      : endShortened(text, { said, end: unitEnd })
  }

  /** The case of what may be the subject of its clause: `1 Beutel reicht`, or what `Es wird 1 Beutel` goes on to say. */
  #subject(
    text: string,
    { at, counted, end }: { at: number; counted: Counted; end: number },
  ): string | undefined {
    const { subject } = this.#rules
    if (subject === undefined || typeof counted === 'string') return undefined
    if (!subject.kinds.includes(counted.kind)) return undefined
    const clause = '(?:[^.,;:!?\\n]|,(?! )|\\.(?! \\p{Lu}|$))'
    const before = new RegExp(`${clause}*$`, 'u').exec(text.slice(0, at))?.[0].trim() ?? ''
    const after = new RegExp(`^${clause}*`, 'u').exec(text.slice(end))?.[0] ?? ''
    const verb = /^ ?\p{L}+\.? (\p{L}+)/u.exec(after)?.[1] ?? ''
    if (before === '' && subject.first.includes(verb)) return '=subject'
    const words = `${before} ${after}`.toLowerCase().match(/\p{L}+/gu) ?? []
    return words.some((word) => subject.beside.includes(word)) ? '=either' : undefined
  }

  /** `un quart de`: between a fraction and what it is of, unless that stands there already. */
  #joinPart({ written }: ReadNumber, counted: Counted, name: string): string {
    const { partOf: [preposition = '', ofVowel = preposition] = [] } = this.#rules
    if (preposition === '' || !/^[1-9]\/[^2]/.test(written) || typeof counted === 'string')
      return ''
    const isVowel = /^[aeiouyhéèêàâœ]/iu.test(name)
    return isVowel && ofVowel.endsWith('’') ? ` ${ofVowel}` : ` ${preposition} `
  }

  /** `un comprimé et demi`. */
  #halfBehind(
    text: string,
    { end, first, last }: Amount,
    { before, thing }: { before: string; thing: Thing },
  ): Read | undefined {
    const { halfBehind = {}, plurals = '(?!)', pluralSign } = this.#rules
    const whole = last.written.replace(/ .*/, '')
    const { counted, forms, unit } = thing
    const template = typeof counted === 'string' ? undefined : lookUp(halfBehind, counted.kind)
    const value = Number(whole)
    const number = { said: whole, written: whole, value, end }
    const said = this.#amountWords({ last: number, end }, { counted, forms }, before)
    const noun = unit?.[0] ?? / [\p{L}\p{M}’]+/uy.exec(text.slice(end))?.[0]
    if (template === undefined || said === undefined || noun === undefined || first !== undefined)
      return undefined
    const isSeveral = new RegExp(plurals, 'u').test(smallLetters(this.#language, noun))
    const isMany = unit === undefined && isSeveral && value === 1
    if (isMany && pluralSign === undefined) return undefined
    if (unit === undefined && !isSeveral && value > 1) return undefined
    const written = isMany ? noun.slice(0, -(pluralSign?.length ?? 0)) : noun
    const name = unit === undefined ? written.trim() : this.unitFor(unit[1] ?? '', value)
    const words = said.isWhole ? said.text : `${said.text} ${name}`
    return { said: fill(template, { counted: words }), end: end + noun.length }
  }

  unitFor(
    unit: string,
    amount: number | ReadNumber | undefined,
    inCase: Readonly<Record<string, string>> = {},
  ): string {
    const forms = unitForms(this.#rules, unit) ?? ''
    if (typeof forms === 'string') return forms
    if (amount === undefined) return forms[unit.endsWith('s') ? 'other' : 'one'] ?? ''
    const { value, written } = typeof amount === 'number' ? { value: amount, written: '' } : amount
    const { fractionForm, mixedForm } = this.#rules
    const own = / /.test(written) ? mixedForm : /\//.test(written) ? fractionForm : undefined
    const form = own ?? this.#plural.select(value)
    return forms[inCase[form] ?? form] ?? forms['other'] ?? ''
  }

  /** `mg/kg`, `5 mg/5 ml`, `3x/day`. */
  rate(text: string, before: Read): Read {
    const { per, perHours = per, perWords } = this.#rules
    const slash = matchAt(/ ?\/ ?/uy, text, before.end)
    if (slash === undefined || per === '') return before
    const start = before.end + slash[0].length
    const word = matchAt(/\p{L}[\p{L}\p{M}]*/uy, text, start)
    // `A/D` are two vitamins.
    const known =
      word &&
      lookUp(perWords, word[0].length === 1 ? word[0] : smallLetters(this.#language, word[0]))
    if (known !== undefined)
      return { said: `${before.said} ${per} ${known}`, end: start + (word?.[0].length ?? 0) }
    const number = this.#number(text, start)
    const unit = matchAt(this.#patterns.unit, text, number?.end ?? start)
    if (unit === undefined) return before
    // Two strengths of one product, of which none is for the other.
    if (number !== undefined && text.slice(0, before.end).endsWith(unit[1] ?? '')) return before
    const name = this.unitFor(unit[1] ?? '', number ?? 1)
    const counted = countedBy(this.#patterns, smallLetters(this.#language, name))
    const own = number && this.#agreed(number, counted)
    if (number !== undefined && own === undefined) return before
    const isTime = own !== undefined && this.#patterns.timeUnit.test(unit[1] ?? '')
    const said = `${isTime ? perHours : per} ${own === undefined ? name : `${own} ${name}`}`
    const end = (number?.end ?? start) + unit[0].length
    return this.rate(text, { said: `${before.said} ${said}`, end })
  }

  /** Whether a number without a unit may belong to what follows: to another number, or as an ordinal. */
  #goesOn(text: string, end: number): boolean {
    if (this.#patterns.goesOn.test(text.slice(end, end + 4))) return true
    const after = /^\. ?(?=(\S))/u.exec(text.slice(end, end + 4))?.[1]
    if (after === undefined) return false
    return this.#rules.ordinalDot === 'always' || /\p{Ll}|\p{N}/u.test(after)
  }
}
