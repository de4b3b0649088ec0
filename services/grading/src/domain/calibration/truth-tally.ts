/**
 * Counts events before they join the truth table. An import settles some sixty rows an event in some fifty cells of the
 * table; adding each to sums of any size costs more than everything else about the event. A tally adds doubles while they
 * are exact, and is merged into the table once for many events.
 */
import { GRADE_BANDS } from '@tallystick/odds'
import type { GradeBasis, Population } from '../../wire/cards.ts'
import { isExact, MomentTally } from './moment-tally.ts'
import {
  BAND_QUANTITIES,
  bandKey,
  type Column,
  copyCell,
  LINE_QUANTITIES,
  lineKey,
  type MutableTruth,
  noBand,
  noLine,
  RESULTS,
  type SettledRow,
  scopesAround,
} from './truth-table.ts'

const BAND_PLACES = new Map(GRADE_BANDS.map(({ band }, place) => [band, place]))
const RESULT_PLACES = new Map(RESULTS.map((result, place) => [result, place]))

function addAt(sums: Float64Array, place: number, value: number): void {
  sums[place] = (sums[place] as number) + value
}

/** A row's places in its columns, and whether it is added or subtracted. */
type Taking = { readonly band: number; readonly result: number; readonly sign: 1 | -1 }

/** A band of a column. */
class BandTally {
  /** Over events, of picks, return and value. */
  readonly #moments = new MomentTally(BAND_QUANTITIES)
  readonly #results = new Float64Array(RESULTS.length)

  take({ clvMicro, returnMicro }: SettledRow, { result, sign }: Taking): void {
    const { event } = this.#moments
    addAt(event, 0, 1)
    addAt(event, 1, returnMicro)
    addAt(event, 2, clvMicro)
    addAt(this.#results, result, sign)
  }

  /** Closes the event, if it has a pick here. */
  close(sign: 1 | -1): void {
    if (this.#moments.event[0] !== 0) this.#moments.close(sign)
  }

  /** Adds the band to the cell under a key, which it returns. */
  mergeInto(truth: MutableTruth, key: string): string {
    const sums = copyCell(truth.cells.get(key) ?? noBand())
    this.#moments.mergeInto(sums.moments)
    for (const [place, result] of RESULTS.entries())
      sums.results[result] += this.#results[place] ?? 0
    if (sums.moments.clusters === 0) truth.cells.delete(key)
    else truth.cells.set(key, sums)
    return key
  }
}

/** A scope in a population and basis. */
class ColumnTally {
  readonly #column: Column
  readonly #bands: (BandTally | undefined)[] = GRADE_BANDS.map(() => undefined)
  /** Over events, of picks, value, return, value² and value × return. */
  readonly #moments = new MomentTally(LINE_QUANTITIES)
  /** The same of each band's gap. */
  readonly #gaps = new MomentTally(GRADE_BANDS.length)
  /** The parts of the event's value² and value × return that did not fit. */
  #large: [squares: bigint, products: bigint] | undefined

  constructor(column: Column) {
    this.#column = column
  }

  /** Whether the event being counted has a row here. */
  get isOpen(): boolean {
    return this.#moments.event[0] !== 0
  }

  /** Takes a row of the event being counted. */
  take(row: SettledRow, taking: Taking): void {
    const { clvMicro, returnMicro } = row
    const { event } = this.#moments
    addAt(event, 0, 1)
    addAt(event, 1, clvMicro)
    addAt(event, 2, returnMicro)
    const product = clvMicro * returnMicro
    const squares = (event[3] as number) + clvMicro * clvMicro
    const products = (event[4] as number) + product
    // A square only adds, but an inexact product of the other sign may leave a sum that looks exact.
    if (isExact(squares) && isExact(product) && isExact(products)) {
      event[3] = squares
      event[4] = products
    } else {
      this.#large ??= [0n, 0n]
      this.#large[0] += BigInt(clvMicro) * BigInt(clvMicro)
      this.#large[1] += BigInt(clvMicro) * BigInt(returnMicro)
    }
    addAt(this.#gaps.event, taking.band, returnMicro - clvMicro)
    const band = (this.#bands[taking.band] ??= new BandTally())
    band.take(row, taking)
  }

  /** Closes the event. */
  close(sign: 1 | -1): void {
    if (this.#large === undefined) this.#moments.close(sign)
    else {
      const [n = 0n, x = 0n, y = 0n, xx = 0n, xy = 0n] = Array.from(this.#moments.event, BigInt)
      const [squares, products] = this.#large
      this.#moments.closeLarge([n, x, y, xx + squares, xy + products], sign)
      this.#large = undefined
    }
    this.#gaps.close(sign)
    for (const band of this.#bands) band?.close(sign)
  }

  /** Adds the column to the table; returns the keys of its cells. */
  mergeInto(truth: MutableTruth): readonly string[] {
    const key = lineKey(this.#column)
    const sums = copyCell(truth.cells.get(key) ?? noLine())
    this.#moments.mergeInto(sums.moments)
    this.#gaps.mergeInto(sums.gaps)
    if (sums.moments.clusters === 0) truth.cells.delete(key)
    else truth.cells.set(key, sums)
    const keys = this.#bands.flatMap((tally, place) => {
      const band = GRADE_BANDS[place]?.band
      return tally === undefined || band === undefined
        ? []
        : [tally.mergeInto(truth, bandKey({ ...this.#column, band }))]
    })
    return [key, ...keys]
  }
}

/** Narrowest scopes whose columns are remembered; at the limit all are forgotten. */
const SCOPES_MAX = 4_096

/** What some events add to a truth table and subtract from it. */
export class TruthTally {
  /** By population, basis and scope; each is made with its first pick. */
  readonly #columns = new Map<string, ColumnTally>()
  /** The columns of rows that share their narrowest scope. */
  readonly #byScope = new Map<
    string,
    Record<Population, Partial<Record<GradeBasis, readonly ColumnTally[]>>>
  >()

  get isEmpty(): boolean {
    return this.#columns.size === 0
  }

  /** Adds (sign 1) or subtracts (sign -1) all rows of one event. */
  add(rows: readonly SettledRow[], sign: 1 | -1): void {
    const open: ColumnTally[] = []
    for (const row of rows) {
      const taking = {
        band: BAND_PLACES.get(row.band) ?? 0,
        result: RESULT_PLACES.get(row.result) ?? 0,
        sign,
      }
      for (const column of this.#listColumns(row)) {
        if (!column.isOpen) open.push(column)
        column.take(row, taking)
      }
    }
    for (const column of open) column.close(sign)
  }

  /** Adds everything to a table; returns the keys of its cells that changed, for a store to write. */
  mergeInto(truth: MutableTruth): readonly string[] {
    return [...this.#columns.values()].flatMap((column) => column.mergeInto(truth))
  }

  #listColumns({ basis, population, scope: narrowest }: SettledRow): readonly ColumnTally[] {
    let found = this.#byScope.get(narrowest)
    if (found === undefined) {
      if (this.#byScope.size >= SCOPES_MAX) this.#byScope.clear()
      found = { mechanical: {}, committed: {} }
      this.#byScope.set(narrowest, found)
    }
    return (found[population][basis] ??= scopesAround(narrowest).map((scope) => {
      const column = { population, basis, scope }
      const tally = this.#columns.get(lineKey(column)) ?? new ColumnTally(column)
      this.#columns.set(lineKey(column), tally)
      return tally
    }))
  }
}
