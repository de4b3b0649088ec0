/** Times of day as a voice says them (C37): their hours are no plain numbers in every language, and change with the word before. */
import { endAbbreviation, type Read } from './read-punctuation.ts'
import { agreedNumber, countedBy, inParts } from './spoken-counts.ts'
import {
  type CompiledRules,
  fill,
  isBoundary,
  lookUp,
  matchAt,
  type SpokenLanguage,
  type SpokenRules,
  smallLetters,
} from './spoken-rules.ts'

export class TimeReader {
  readonly #rules: SpokenRules
  readonly #language: string
  readonly #patterns: CompiledRules

  constructor({ language, patterns, rules }: SpokenLanguage) {
    this.#rules = rules
    this.#language = language
    this.#patterns = patterns
  }

  #clock(text: string, at: number, before: string): Read | undefined {
    const { clock, dottedClock } = this.#patterns
    const found = matchAt(clock, text, at) ?? matchAt(dottedClock, text, at)
    if (found === undefined) return undefined
    const { hour, hours = {}, minute, time, timeForms = {}, timeLow, timeLowMax = 9 } = this.#rules
    const [hourValue, minuteValue] = [Number(found[1]), Number(found[2])]
    const [word, form = ''] = lookUp(timeForms, this.#wordBeforeTime(before)) ?? []
    const own = (each: string) => lookUp(hours[form] ?? {}, each)
    const h = own(String(hourValue)) ?? inParts(hourValue, own) ?? hourValue
    const minutes = { said: String(minuteValue), written: String(minuteValue), value: minuteValue }
    const counted = minute === undefined ? 'nothing' : countedBy(this.#patterns, minute)
    const m = agreedNumber(this.#rules, minutes, { counted, before: '', isJoined: false })
    if (own(String(hourValue)) === null || m === undefined) return undefined
    const low = minuteValue <= timeLowMax ? timeLow : time
    const said = fill(minuteValue === 0 ? hour : low, { h, m })
    const behind = word === '' ? '' : `${word} `
    return {
      said: word === undefined ? said : said.replace(/^\p{L}+ ?/u, behind),
      end: at + found[0].length,
    }
  }

  /** `o 8:00 i 20:00`: behind a word that joins two times it is what stood before the first. */
  #wordBeforeTime(before: string): string {
    const { joints = [], timeForms = {} } = this.#rules
    const words = smallLetters(this.#language, before).match(/\p{L}+|[.;!?]/gu) ?? []
    const last = words.at(-1) ?? ''
    if (!joints.includes(last) || Object.hasOwn(timeForms, last)) return last
    return words.findLast((word) => /[.;!?]/.test(word) || Object.hasOwn(timeForms, word)) ?? ''
  }

  time(text: string, at: number, before: string): Read | undefined {
    const from = this.#clock(text, at, before)
    if (from === undefined || /[\p{L}\p{N}]$/u.test(before)) return undefined
    const dash = matchAt(this.#patterns.dash, text, from.end)
    const range = fill(this.#rules.range, { a: from.said, b: '' })
    const to = dash && this.#clock(text, from.end + dash[0].length, range)
    const whole = to === undefined ? from : { said: range + to.said, end: to.end }
    const half = this.dayHalf(text, whole.end)
    const after = matchAt(this.#patterns.afterTime, text, half?.end ?? whole.end)
    const end = (half?.end ?? whole.end) + (after?.[0].length ?? 0)
    if (!isBoundary(text, end)) return undefined
    return { said: whole.said + (half?.said ?? ''), end }
  }

  /** Half past noon is said in both ways: of twelve nobody knows. */
  dayHalf(text: string, at: number): Read | undefined {
    const found = matchAt(this.#patterns.dayHalf, text, at)
    if (found === undefined) return undefined
    const said = this.#rules.dayHalves?.[found[1] ?? ''] ?? ''
    const isTwelve = /(?:^|\D)12(?::\d\d)?$/.test(text.slice(0, at))
    return isTwelve
      ? undefined
      : endAbbreviation(text, { said: ` ${said}`, end: at + found[0].length })
  }
}
