/**
 * Moments of some events before they join the truth table. A quantity is two digits of some seven places, whose products are
 * summed in doubles while those are exact, then in whole numbers of any size: a squared value alone passes what one double
 * multiplies exactly, and an import with whole numbers for every event took 1.24 to 1.4 times as long (November 2026).
 */
import type { MomentSums } from './truth-table.ts'

/** Whether a double holds a sum or a product of whole numbers exactly. */
export const isExact = (value: number): boolean =>
  value <= Number.MAX_SAFE_INTEGER && value >= -Number.MAX_SAFE_INTEGER

/** A low digit is at most half of it from 0: products of low digits of a hundred events sum exactly. */
const DIGIT = 2 ** 24
const DIGITS = BigInt(DIGIT)

/** The moments of some events: as MomentSums, in doubles while those are exact. */
export class MomentTally {
  /** Quantities of the event being counted: safe integers, 0 once it is closed. */
  readonly event: Float64Array
  #clusters = 0
  /** The event's low digits, then its high ones. */
  readonly #digits: Float64Array
  /** Sums over events of the digits, then of their products row by row. */
  readonly #sums: Float64Array
  /** Bounds the distance of every sum from 0. */
  #bound = 0
  /** Sums that no longer fit in doubles, by place in MomentSums. */
  readonly #large: bigint[] = []

  constructor(quantities: number) {
    const digits = 2 * quantities
    this.event = new Float64Array(quantities)
    this.#digits = new Float64Array(digits)
    this.#sums = new Float64Array(digits + (digits * (digits + 1)) / 2)
  }

  /** Adds (sign 1) or subtracts (sign -1) the event. */
  close(sign: 1 | -1): void {
    const { event } = this
    const digits = this.#digits
    let [most, used] = [0, event.length]
    for (let i = 0; i < event.length; i += 1) {
      const value = event[i] as number
      // Most values have one digit.
      const high = value <= DIGIT / 2 && value >= DIGIT / -2 ? 0 : Math.round(value / DIGIT)
      const low = value - high * DIGIT
      digits[i] = low
      digits[event.length + i] = high
      if (high !== 0) used = digits.length
      most = Math.max(most, Math.abs(low), Math.abs(high))
    }
    const grown = most * most
    if (!isExact(grown)) {
      this.closeLarge(Array.from(event, BigInt), sign)
      return
    }
    if (!isExact(this.#bound + grown)) this.#carry()
    this.#bound += grown
    this.#clusters += sign
    this.#addProducts(used, sign)
    event.fill(0)
  }

  /** Adds the first so many digits and their products; the rest are 0. */
  #addProducts(used: number, sign: 1 | -1): void {
    const digits = this.#digits
    const sums = this.#sums
    for (let i = 0; i < used; i += 1) {
      const value = sign * (digits[i] as number)
      // Most events have picks in few bands.
      if (value === 0) continue
      sums[i] = (sums[i] as number) + value
      const row = this.#findPlace(i, 0)
      for (let j = i; j < used; j += 1)
        sums[row + j] = (sums[row + j] as number) + value * (digits[j] as number)
    }
  }

  /** Where the products of two digits are summed, the earlier first. */
  #findPlace(i: number, j: number): number {
    const digits = this.#digits.length
    return digits + i * digits - (i * (i + 1)) / 2 + j
  }

  /** Adds or subtracts an event with these quantities, of any size. */
  closeLarge(values: readonly bigint[], sign: 1 | -1): void {
    this.#clusters += sign
    let place = values.length
    for (const [i, value] of values.entries()) {
      this.#putLarge(i, BigInt(sign) * value)
      for (const other of values.slice(i)) this.#putLarge(place++, BigInt(sign) * value * other)
    }
    this.event.fill(0)
  }

  #putLarge(place: number, value: bigint): void {
    this.#large[place] = (this.#large[place] ?? 0n) + value
  }

  /** Makes room in the sums. */
  #carry(): void {
    const quantities = this.event.length
    const sum = (place: number): bigint => BigInt(this.#sums[place] as number)
    const product = (i: number, j: number): bigint => sum(this.#findPlace(i, j))
    let place = quantities
    for (let i = 0; i < quantities; i += 1) {
      const high = quantities + i
      this.#putLarge(i, sum(i) + DIGITS * sum(high))
      for (let j = i; j < quantities; j += 1) {
        const middle = product(i, quantities + j) + product(j, high)
        const top = product(high, quantities + j)
        this.#putLarge(place++, product(i, j) + DIGITS * (middle + DIGITS * top))
      }
    }
    this.#sums.fill(0)
    this.#bound = 0
  }

  mergeInto(sums: MomentSums): void {
    this.#carry()
    sums.clusters += this.#clusters
    const quantities = this.event.length
    this.#large.forEach((added, place) => {
      const [list, at] =
        place < quantities ? [sums.first, place] : [sums.second, place - quantities]
      list[at] = (list[at] ?? 0n) + added
    })
  }
}
