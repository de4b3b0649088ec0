/**
 * Moments of some events on their way into the truth table: doubles while those are exact, whole numbers of any size beyond.
 */
import type { MomentSums } from './truth-table.ts'

/** A product of two numbers below it is exact. */
const DIGIT = 2 ** 26
const DIGITS = BigInt(DIGIT)

/** Whether a sum or a product of whole numbers, as a double, is the exact one. */
export const isExact = (value: number): boolean =>
  value <= Number.MAX_SAFE_INTEGER && value >= -Number.MAX_SAFE_INTEGER

/** The moments of some events: as MomentSums, in doubles while those are exact. */
export class MomentTally {
  #clusters = 0
  readonly #quantities: number
  /** First moments, then second ones row by row; each a safe integer. */
  readonly #sums: Float64Array
  /** Of products that are no safe integers, the part in DIGIT and the part in DIGIT². */
  #middle: Float64Array | undefined
  #high: Float64Array | undefined
  /** What did not fit, by place. */
  readonly #large: bigint[] = []

  constructor(quantities: number) {
    this.#quantities = quantities
    this.#sums = new Float64Array(quantities + (quantities * (quantities + 1)) / 2)
  }

  /** Adds (sign 1) or subtracts (sign -1) one event's quantities, which are safe integers. */
  add(values: Float64Array, sign: 1 | -1): void {
    const quantities = this.#quantities
    this.#clusters += sign
    let place = quantities
    for (let i = 0; i < quantities; i += 1) {
      const value = sign * (values[i] as number)
      // Most events have picks in few bands.
      if (value === 0) {
        place += quantities - i
        continue
      }
      this.#put(i, value)
      for (let j = i; j < quantities; j += 1) {
        const other = values[j] as number
        if (other !== 0) this.#putProduct(place, value, other)
        place += 1
      }
    }
  }

  /** The same for quantities of any size. */
  addLarge(values: readonly bigint[], sign: 1 | -1): void {
    this.#clusters += sign
    let place = this.#quantities
    for (const [i, value] of values.entries()) {
      this.#putLarge(i, BigInt(sign) * value)
      for (const other of values.slice(i)) this.#putLarge(place++, BigInt(sign) * value * other)
    }
  }

  #put(place: number, value: number): void {
    const sum = (this.#sums[place] as number) + value
    if (isExact(sum)) this.#sums[place] = sum
    else {
      this.#putLarge(place, BigInt(this.#sums[place] as number))
      this.#sums[place] = value
    }
  }

  #putProduct(place: number, one: number, other: number): void {
    const product = one * other
    if (isExact(product)) {
      this.#put(place, product)
      return
    }
    // As on paper: each factor has a high and a low digit.
    this.#middle ??= new Float64Array(this.#sums.length)
    this.#high ??= new Float64Array(this.#sums.length)
    const oneHigh = Math.trunc(one / DIGIT)
    const otherHigh = Math.trunc(other / DIGIT)
    const oneLow = one - oneHigh * DIGIT
    const otherLow = other - otherHigh * DIGIT
    const low = oneLow * otherLow
    const carried = Math.trunc(low / DIGIT)
    const middle =
      (this.#middle[place] as number) + oneHigh * otherLow + oneLow * otherHigh + carried
    const high = (this.#high[place] as number) + oneHigh * otherHigh
    if (isExact(middle) && isExact(high)) {
      this.#middle[place] = middle
      this.#high[place] = high
      this.#put(place, low - carried * DIGIT)
    } else this.#putLarge(place, BigInt(one) * BigInt(other))
  }

  #putLarge(place: number, value: bigint): void {
    this.#large[place] = (this.#large[place] ?? 0n) + value
  }

  #at(place: number): bigint {
    const low = BigInt(this.#sums[place] as number) + (this.#large[place] ?? 0n)
    if (this.#middle === undefined || this.#high === undefined) return low
    const middle = BigInt(this.#middle[place] as number)
    return low + DIGITS * (middle + DIGITS * BigInt(this.#high[place] as number))
  }

  mergeInto(sums: MomentSums): void {
    sums.clusters += this.#clusters
    for (let place = 0; place < this.#sums.length; place += 1) {
      const added = this.#at(place)
      if (added === 0n) continue
      const [list, at] =
        place < this.#quantities ? [sums.first, place] : [sums.second, place - this.#quantities]
      list[at] = (list[at] ?? 0n) + added
    }
  }
}
