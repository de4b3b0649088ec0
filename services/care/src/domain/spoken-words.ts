/**
 * A sentence as a voice of its language says it (C37): numbers, times, units and abbreviations of dosing become words, by the rules
 * of `spoken/`, a file for each language. Whatever these rules do not know (another script, digits in another pattern, an abbreviation
 * that nobody has listed, a sign) makes the sentence one that is not spoken: it is never spoken wrong.
 */
import { endAbbreviation, endShortened, type Read, readPunctuation } from './read-punctuation.ts'
import { readTitle } from './read-title.ts'
import { QuantityReader } from './spoken-quantities.ts'
import {
  type CompiledRules,
  compileRules,
  evenText,
  fill,
  isInFull,
  isWord,
  lastWord,
  lookUp,
  matchAt,
  primaryLanguage,
  rulesFor,
  type SpokenRules,
  saysTwice,
  smallLetters,
  unitForms,
} from './spoken-rules.ts'
import { TimeReader } from './spoken-times.ts'

/** The voice that speaks a language; undefined if there is none. */
export const voiceFor = (language: string | undefined): string | undefined =>
  rulesFor(language ?? '')?.voice

/** A word of more letters that a full stop follows ends its sentence, before a number too. */
const SHORT_WORD_CHARS = 5

class SentenceReader {
  readonly #rules: SpokenRules
  readonly #language: string
  readonly #patterns: CompiledRules
  readonly #quantities: QuantityReader
  readonly #times: TimeReader

  constructor(language: string, rules: SpokenRules) {
    this.#rules = rules
    this.#language = language
    this.#patterns = compileRules(rules)
    const spoken = { language, rules, patterns: this.#patterns }
    this.#times = new TimeReader(spoken)
    this.#quantities = new QuantityReader(spoken, this.#times)
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
    if (/[\d%٪]/.test(sign))
      return this.#times.time(text, at, before) ?? this.#quantities.quantity(text, at, before)
    const word = /[\p{L}’']/u.test(sign)
      ? (this.#vitamin(text, at, before) ?? this.#word(text, at))
      : undefined
    return word === undefined ? readPunctuation(text, at) : this.#quantities.rate(text, word)
  }

  /** A vitamin is known by a letter, and a number. */
  #vitamin(text: string, at: number, before: string): Read | undefined {
    if (this.#rules.script !== 'Latin' || !/[vw]itamin\p{L}* $/iu.test(before)) return undefined
    const found = matchAt(/(\p{Lu})(\d{0,2})(?![\p{L}\p{N}])/uy, text, at)
    if (found === undefined) return undefined
    const [name, letter = '', digits = ''] = found
    return { said: digits === '' ? letter : `${letter} ${digits}`, end: at + name.length }
  }

  #word(text: string, at: number): Read | undefined {
    const { everyHours, titles, unsafe, words } = this.#rules
    const rules = { patterns: this.#patterns, rules: this.#rules }
    const title = readTitle(text, at, rules)
    if (title !== 'none') return title
    const every =
      everyHours && matchAt(/q ?([1-9]\d?)(?:-([1-9]\d?))? ?h(?![\p{L}\p{N}])/uy, text, at)
    if (every) {
      const [found, a = '', b] = every
      if (b !== undefined && Number(b) <= Number(a)) return undefined
      const n = b === undefined ? a : fill(this.#rules.range, { a, b })
      return { said: fill(everyHours, { n }), end: at + found.length }
    }
    const dotted = matchAt(this.#patterns.dotted, text, at)?.[0].trimEnd()
    if (dotted !== undefined) {
      const small = smallLetters(this.#language, dotted).replaceAll(' ', '')
      const known = lookUp(words, small.replace(/\.?$/, '.'))
      if (typeof known === 'string')
        return this.#abbreviated(text, { said: known, end: at + dotted.length })
      // `Dr. J. Roy` is a title, and an initial.
      if (!titles.includes(`${small.split('.')[0]}.`)) return undefined
    }
    const word = matchAt(this.#patterns.word, text, at)?.[0]
    if (word === undefined) return undefined
    const end = at + word.length
    const next = text[end] ?? ''
    if (/\p{N}/u.test(next)) return undefined
    const small = smallLetters(this.#language, word)
    const inflected = matchAt(this.#patterns.inflected, text, at)?.[0] ?? ''
    const known = lookUp(words, smallLetters(this.#language, inflected))
    if (typeof known === 'string') return { said: known, end: at + inflected.length }
    const unclear = [small, word]
    if (next === '.' && unclear.some((each) => unsafe.includes(`${each}.`))) return undefined
    // In capitals `MR` and `DR` are how a medicine is released, and `MS` is one.
    if (/^\p{Lu}+$/u.test(word) && titles.includes(`${small}.`)) return undefined
    const changing = lookUp(words, small + next)
    const withSign =
      typeof changing === 'object'
        ? lookUp(changing, smallLetters(this.#language, lastWord(text.slice(0, at))))
        : changing
    if (typeof changing === 'object' && withSign === undefined) return undefined
    const plain = lookUp(words, small)
    if (withSign !== undefined && /[./’']/.test(next)) {
      // More of the abbreviation, of which nothing is known.
      if (next === '.' && /\p{L}/u.test(text[end + 1] ?? '')) return undefined
      return this.#abbreviated(text, { said: withSign + (next === '/' ? ' ' : ''), end: end + 1 })
    }
    if (typeof plain === 'string') return endShortened(text, { said: plain, end })
    if (word.length > 1 && Object.hasOwn(this.#rules.units, word) && !isInFull(this.#rules, word)) {
      const { units } = this.#rules
      const others = [`${word}s`, word.replace(/s$/, '')].filter((each) => each !== word)
      const isMarked = others.some((each) => Object.hasOwn(units, each))
      // Without digits nobody knows of how many `zwei Tbl.` speaks; `tabs` is several.
      if (typeof unitForms(this.#rules, word) !== 'string' && !isMarked) return undefined
      return endShortened(text, { said: this.#quantities.unitFor(word, undefined), end })
    }
    // Behind a number a letter may be a unit, also where it is a word: `10 U`, and before a stop `3 a.`
    const isUnit = word.length === 1 && /^(?:\p{Lu}|.\.?$)/u.test(word + next)
    if (isUnit && /\d ?$/.test(text.slice(0, at))) return undefined
    const isInitial = /^\p{Lu}\. \p{Lu}\p{Ll}/u.test(text.slice(at, at + 5))
    const isJoined = small.split('-').some((part) => part !== small && this.#isShort(part))
    const isRoman = small.split(/[-‐‑]/).some((part) => this.#patterns.roman.test(part))
    if (isJoined || isRoman || unclear.some((each) => unsafe.includes(each))) return undefined
    const isSingle = isInitial || unclear.some((each) => this.#rules.single.includes(each))
    if (!isWord(word, { ...rules, isSingle })) return undefined
    if (isInitial) return { said: word, end: end + 1 }
    if (this.#endsAbbreviation(text, end, word) || this.#mayBeShortened(text, at, word))
      return undefined
    const isShouted = word.length > 1 && !/\p{Ll}/u.test(word)
    return { said: isShouted && this.#rules.script === 'Latin' ? small : word, end }
  }

  /** Whether a part of a word with hyphens is an abbreviation: `Mon-Fri`. */
  #isShort(part: string): boolean {
    const { unsafe, units, words } = this.#rules
    const isKnown = [words, units].some((table) => Object.hasOwn(table, part))
    return part.length > 1 && (isKnown || unsafe.includes(part))
  }

  #abbreviated(text: string, read: Read): Read {
    const { titles, words } = this.#rules
    return endAbbreviation(
      text,
      read,
      titles.some((title) => words[title] === read.said),
    )
  }

  /** `nach Ess.`: a short word before a full stop is a name or one that is known, and a longer one ends as words do. */
  #mayBeShortened(text: string, at: number, word: string): boolean {
    const end = at + word.length
    if (this.#rules.script !== 'Latin' || text[end] !== '.' || text[end + 1] === '.') return false
    const { hasCapitalNouns = false, titles } = this.#rules
    const small = smallLetters(this.#language, word)
    if (this.#patterns.lastWords.has(small) || this.#patterns.uncounted.has(small)) return false
    const before = text.slice(0, at)
    const isTitled = titles.includes(`${smallLetters(this.#language, lastWord(before))}.`)
    // Where every noun has a capital, another name stands before it.
    const isBehindName = hasCapitalNouns ? /\p{L},? \p{Lu}\p{Ll}+ $/u : /\p{L}.? $/u
    if (/^\p{Lu}\p{Ll}/u.test(word) && (isTitled || isBehindName.test(before))) return false
    const coda = /[^aeiouyàâäáåæèéêëìíîïòóôöøœùúûüýąęı]*$/u.exec(small)?.[0] ?? ''
    return small.length < SHORT_WORD_CHARS || (coda !== '' && !this.#patterns.codas.has(coda))
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
  const key = primaryLanguage(language) + rules.group
  const reader = readers.get(key) ?? new SentenceReader(primaryLanguage(language), rules)
  readers.set(key, reader)
  return reader.read(evenText(text))
}
