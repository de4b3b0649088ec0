/**
 * Moments of some events before they join the truth table: doubles while those are exact, then whole numbers of any size.
 */
import type { MomentSums } from './truth-table.ts'

/** Products of digits of this base, those of some hundred events together, sum exactly. */
const DIGIT = 2 ** 22
const DIGITS = BigInt(DIGIT)

/** Whether a double holds a sum or a product of whole numbers exactly. */
export const isExact = (value: number): boolean =>
  value <= Number.MAX_SAFE_INTEGER && value >= -Number.MAX_SAFE_INTEGER

/** The moments of some events: as MomentSums, in doubles while those are exact. */
export class MomentTally {
  /** Quantities of the event being counted: safe integers, 0 once it is closed. */
  readonly event: Float64Array
  #clusters = 0
  /** The parts in 1 of the first moments, then of the second ones row by row. */
  readonly #low: Float64Array
  /** Where a quantity had two digits, the parts in DIGIT and in DIGIT². */
  #middle: Float64Array | undefined
  #high: Float64Array | undefined
  /** Bounds the distance of every part of a sum from 0. */
  #bound = 0
  /** Sums that no longer fit in doubles, by place. */
  readonly #large: bigint[] = []

  constructor(quantities: number) {
    this.event = new Float64Array(quantities)
    this.#low = new Float64Array(quantities + (quantities * (quantities + 1)) / 2)
  }

  /** Adds (sign 1) or subtracts (sign -1) the event. */
  close(sign: 1 | -1): void {
    const event = this.event
    let most = 0
    for (let i = 0; i < event.length; i += 1) most = Math.max(most, Math.abs(event[i] as number))
    const digit = most <= DIGIT ? most : Math.max(DIGIT, most / DIGIT)
    const grown = 2 * digit * digit
    if (!isExact(grown)) {
      this.closeLarge(Array.from(event, BigInt), sign)
      return
    }
    if (!isExact(this.#bound + grown)) this.#carry()
    this.#bound += grown
    this.#clusters += sign
    if (most <= DIGIT) this.#addProducts(sign)
    else this.#addDigits(sign)
    for (let i = 0; i < event.length; i += 1) event[i] = 0
  }

  #addProducts(sign: 1 | -1): void {
    const event = this.event
    const sums = this.#low
    let place = event.length
    for (let i = 0; i < event.length; i += 1) {
      const value = sign * (event[i] as number)
      // Most events have picks in few bands.
      if (value === 0) {
        place += event.length - i
        continue
      }
      sums[i] = (sums[i] as number) + value
      for (let j = i; j < event.length; j += 1) {
        sums[place] = (sums[place] as number) + value * (event[j] as number)
        place += 1
      }
    }
  }

  /** Multiplies as on paper: each factor has a high and a low digit. */
  #addDigits(sign: 1 | -1): void {
    const event = this.event
    const low = this.#low
    const middle = (this.#middle ??= new Float64Array(low.length))
    const high = (this.#high ??= new Float64Array(low.length))
    let place = event.length
    for (let i = 0; i < event.length; i += 1) {
      const value = sign * (event[i] as number)
      const oneHigh = Math.trunc(value / DIGIT)
      const one = value - oneHigh * DIGIT
      low[i] = (low[i] as number) + one
      middle[i] = (middle[i] as number) + oneHigh
      for (let j = i; j < event.length; j += 1) {
        const factor = event[j] as number
        const otherHigh = Math.trunc(factor / DIGIT)
        const other = factor - otherHigh * DIGIT
        low[place] = (low[place] as number) + one * other
        middle[place] = (middle[place] as number) + one * otherHigh + oneHigh * other
        high[place] = (high[place] as number) + oneHigh * otherHigh
        place += 1
      }
    }
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
    for (let place = 0; place < this.#low.length; place += 1) {
      const low = this.#low[place] as number
      const middle = this.#middle?.[place] ?? 0
      const high = this.#high?.[place] ?? 0
      if (low !== 0 || middle !== 0 || high !== 0)
        this.#putLarge(place, BigInt(low) + DIGITS * (BigInt(middle) + DIGITS * BigInt(high)))
    }
    this.#low.fill(0)
    this.#middle?.fill(0)
    this.#high?.fill(0)
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
