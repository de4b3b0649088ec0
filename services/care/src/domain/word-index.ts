/**
 * Which records of one audience hold which words. In memory: what is sealed at rest has no words on a disk or in a backup, and
 * what was erased has none left here. A query costs what its words find, not what the store holds.
 */
import type { ChainSlot } from '../wire/record-uri.ts'
import { type SearchWord, splitParts } from './search-words.ts'

/** From this length on, words that begin alike match: medication, medications. */
const STEM_CHARS = 4
/** Longer words that one begins; more tell little. */
const LONGER_MAX = 32
/** Records that one word is looked up in: a word of most records ranks those that rarer words find. */
const LOOKED_MAX = 256
/** A word in a record's name counts more than one in its text. */
const NAME_WEIGHT = 3

/** A part, and the numbers of the records that hold it, in order. */
type Part = { readonly text: string; readonly numbers: number[] }

type Entry = { readonly slot: ChainSlot; readonly parts: readonly Part[] }

const nameSlot = ({ domain, patient }: Pick<ChainSlot, 'domain' | 'patient'>): string =>
  `${patient}|${domain}`

/** Places of a sorted list. */
function placeIn<Item extends number | string>(list: readonly Item[], item: Item): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle] as Item) < item) low = middle + 1
    else high = middle
  }
  return low
}

/** Records that hold a part, and what that counts. */
type Holders = { readonly numbers: readonly number[]; readonly weight: number }

const countHolders = (holders: readonly Holders[]): number =>
  holders.reduce((sum, { numbers }) => sum + numbers.length, 0)

/** Those of some numbers that are among others. */
const overlap = (numbers: readonly number[], found: ReadonlySet<number>): readonly number[] =>
  numbers.length <= found.size * 16
    ? numbers.filter((number) => found.has(number))
    : [...found].filter((number) => numbers[placeIn(numbers, number)] === number)

/** What a part counts for each record found. */
function weigh(holders: readonly Holders[], found: ReadonlySet<number>): Map<number, number> {
  const weights = new Map<number, number>()
  for (const { numbers, weight } of holders)
    for (const number of overlap(numbers, found))
      weights.set(number, Math.max(weight, weights.get(number) ?? 0))
  return weights
}

/** A part in a name is another one than the same in a text. */
const inName = (part: string): string => `${part}\n`

export class WordIndex {
  /** By their numbers; a record that is gone leaves a gap. */
  readonly #entries = new Map<number, Entry>()
  readonly #numbers = new Map<string, number>()
  readonly #byPatient = new Map<string, Set<number>>()
  readonly #parts = new Map<string, Part>()
  /** All parts, in order; undefined before the first question. */
  #sorted: string[] | undefined
  #last = 0

  get size(): number {
    return this.#entries.size
  }

  has(slot: ChainSlot): boolean {
    return this.#numbers.has(nameSlot(slot))
  }

  /** Takes up what a record says now. */
  add({ audience, domain, patient }: ChainSlot, value: string): void {
    const slot = { patient, domain, audience }
    const known = this.#numbers.get(nameSlot(slot))
    this.remove(slot)
    const number = known ?? (this.#last += 1)
    const texts = [...splitParts(`${patient} ${domain}`).map(inName), ...splitParts(value)]
    this.#numbers.set(nameSlot(slot), number)
    this.#entries.set(number, { slot, parts: texts.map((text) => this.#hold(text, number)) })
    this.#byPatient.set(patient, (this.#byPatient.get(patient) ?? new Set()).add(number))
  }

  remove(slot: Pick<ChainSlot, 'domain' | 'patient'>): void {
    const number = this.#numbers.get(nameSlot(slot))
    const entry = number === undefined ? undefined : this.#entries.get(number)
    if (number === undefined || entry === undefined) return
    this.#numbers.delete(nameSlot(slot))
    this.#entries.delete(number)
    this.#byPatient.get(entry.slot.patient)?.delete(number)
    for (const { numbers, text } of entry.parts) {
      const at: number = placeIn(numbers, number)
      if (numbers[at] === number) numbers.splice(at, 1)
      if (numbers.length > 0) continue
      this.#parts.delete(text)
      this.#sorted?.splice(placeIn(this.#sorted, text), 1)
    }
  }

  /** The records that words find best, of one patient or of all. */
  find(
    words: readonly SearchWord[],
    { limit, patient }: { readonly limit: number; readonly patient: string | undefined },
  ): readonly { readonly slot: ChainSlot; readonly score: number }[] {
    const wanted = words
      .map((word) => word.map((part) => this.#alike(part)))
      .map((parts) => ({ parts, count: Math.min(...parts.map(countHolders)) }))
      .filter(({ count }) => count > 0)
      .toSorted((left, right) => left.count - right.count)
    const found = new Set<number>(patient === undefined ? [] : this.#byPatient.get(patient))
    if (patient === undefined)
      for (const { count, parts } of wanted) {
        // Common words rank what rarer ones found.
        if (found.size > (count > LOOKED_MAX ? 0 : LOOKED_MAX)) break
        const rarest =
          parts.toSorted((left, right) => countHolders(left) - countHolders(right))[0] ?? []
        for (const { numbers } of rarest)
          for (const number of numbers.slice(-LOOKED_MAX)) found.add(number)
      }
    const scores = new Map<number, number>()
    for (const { parts } of wanted) {
      const [first = new Map<number, number>(), ...others] = parts.map((part) => weigh(part, found))
      // As much as the least of its parts, of which each must be there.
      for (const [number, weight] of first) {
        const least = Math.min(weight, ...others.map((weights) => weights.get(number) ?? 0))
        scores.set(number, (scores.get(number) ?? 0) + least)
      }
    }
    return [...scores]
      .map(([number, score]) => ({ number, score }))
      .filter(({ score }) => score > 0)
      .toSorted((left, right) => right.score - left.score || left.number - right.number)
      .slice(0, limit)
      .flatMap(({ number, score }) => {
        const slot = this.#entries.get(number)?.slot
        return slot === undefined ? [] : [{ slot, score }]
      })
  }

  #hold(text: string, number: number): Part {
    const known = this.#parts.get(text)
    if (known === undefined) {
      const part = { text, numbers: [number] }
      this.#parts.set(text, part)
      this.#sorted?.splice(placeIn(this.#sorted, text), 0, text)
      return part
    }
    const { numbers } = known
    // Most records are new.
    if (number > (numbers.at(-1) ?? 0)) numbers.push(number)
    else numbers.splice(placeIn(numbers, number), 0, number)
    return known
  }

  /** Who holds a part, or a word that begins alike: in their names first, then in their texts. */
  #alike(part: string): readonly Holders[] {
    const alike = new Set([part])
    for (let length = STEM_CHARS; length < part.length; length += 1)
      alike.add(part.slice(0, length))
    if (part.length >= STEM_CHARS) {
      this.#sorted ??= [...this.#parts.keys()].toSorted()
      const sorted = this.#sorted
      for (let at = placeIn(sorted, part), count = 0; count < LONGER_MAX; at += 1, count += 1) {
        const longer = sorted[at]
        if (longer === undefined || !longer.startsWith(part)) break
        alike.add(longer.replace('\n', ''))
      }
    }
    return [...alike].flatMap((each) => [
      { numbers: this.#parts.get(inName(each))?.numbers ?? [], weight: NAME_WEIGHT },
      { numbers: this.#parts.get(each)?.numbers ?? [], weight: 1 },
    ])
  }
}
