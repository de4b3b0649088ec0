/**
 * Moments of some events before they join the truth table: doubles while those are exact, then whole numbers of any size.
 */
import type { MomentSums } from './truth-table.ts'

/** Whether a double holds a sum or a product of whole numbers exactly. */
export const isExact = (value: number): boolean =>
  value <= Number.MAX_SAFE_INTEGER && value >= -Number.MAX_SAFE_INTEGER

/** The products of some hundred events with quantities up to this sum exactly. */
const SMALL_MAX = 2 ** 22

/** The moments of some events: as MomentSums, in doubles while those are exact. */
export class MomentTally {
  /** Quantities of the event being counted: safe integers, 0 once it is closed. */
  readonly event: Float64Array
  #clusters = 0
  /** Sums over events of small quantities: the first moments, then the second ones row by row. */
  readonly #small: Float64Array
  /** Bounds the distance of every small sum from 0. */
  #bound = 0
  /** Sums that no longer fit in doubles, by place. */
  readonly #large: bigint[] = []

  constructor(quantities: number) {
    this.event = new Float64Array(quantities)
    this.#small = new Float64Array(quantities + (quantities * (quantities + 1)) / 2)
  }

  /** Adds (sign 1) or subtracts (sign -1) the event. */
  close(sign: 1 | -1): void {
    const event = this.event
    let most = 0
    for (let i = 0; i < event.length; i += 1) most = Math.max(most, Math.abs(event[i] as number))
    if (most > SMALL_MAX) {
      this.closeLarge(Array.from(event, BigInt), sign)
      return
    }
    const grown = most * most
    if (!isExact(this.#bound + grown)) this.#carry()
    this.#bound += grown
    this.#clusters += sign
    this.#addProducts(sign)
    event.fill(0)
  }

  #addProducts(sign: 1 | -1): void {
    const event = this.event
    const sums = this.#small
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

  /** Makes room in the small sums. */
  #carry(): void {
    this.#small.forEach((sum, place) => {
      if (sum !== 0) this.#putLarge(place, BigInt(sum))
    })
    this.#small.fill(0)
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
