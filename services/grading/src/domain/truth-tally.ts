/**
 * Counts events on their way into the truth table. An import settles some sixty rows an event in some fifty cells of the
 * table; adding each to sums of any size costs more than everything else about the event. A tally adds doubles while they
 * are exact, and is merged into the table once for many events.
 */
import { GRADE_BANDS } from '@tallystick/odds'
import type { GradeBasis, Population } from '../wire/cards.ts'
import { isExact, MomentTally } from './moment-tally.ts'
import {
  BAND_QUANTITIES,
  bandKey,
  type Column,
  LINE_QUANTITIES,
  lineKey,
  type MutableTruth,
  noBandSums,
  noLineSums,
  RESULTS,
  type SettledRow,
} from './truth-table.ts'

const BAND_PLACES = new Map(GRADE_BANDS.map(({ band }, place) => [band, place]))
const RESULT_PLACES = new Map(RESULTS.map((result, place) => [result, place]))

function addAt(sums: Float64Array, place: number, value: number): void {
  sums[place] = (sums[place] as number) + value
}

/** A band of a column: the event that is being counted, and those before it. */
class BandTally {
  /** Picks, return and value of the event. */
  readonly #event = new Float64Array(BAND_QUANTITIES)
  readonly #eventResults = new Float64Array(RESULTS.length)
  readonly #moments = new MomentTally(BAND_QUANTITIES)
  readonly #results = new Float64Array(RESULTS.length)

  take({ clvMicro, returnMicro }: SettledRow, resultPlace: number): void {
    addAt(this.#event, 0, 1)
    addAt(this.#event, 1, returnMicro)
    addAt(this.#event, 2, clvMicro)
    addAt(this.#eventResults, resultPlace, 1)
  }

  /** Closes the event, if it has a pick here. */
  close(sign: 1 | -1): void {
    if (this.#event[0] === 0) return
    this.#moments.add(this.#event, sign)
    this.#event.fill(0)
    for (let place = 0; place < RESULTS.length; place += 1)
      addAt(this.#results, place, sign * (this.#eventResults[place] ?? 0))
    this.#eventResults.fill(0)
  }

  /** Adds the band to the cell under a key, which it returns. */
  mergeInto(truth: MutableTruth, key: string): string {
    const sums = truth.bands.get(key) ?? noBandSums()
    this.#moments.mergeInto(sums.moments)
    for (const [place, result] of RESULTS.entries())
      sums.results[result] += this.#results[place] ?? 0
    if (sums.moments.clusters === 0) truth.bands.delete(key)
    else truth.bands.set(key, sums)
    return key
  }
}

/** A scope in a population and basis. */
class ColumnTally {
  readonly #column: Column
  readonly #bands: (BandTally | undefined)[] = GRADE_BANDS.map(() => undefined)
  readonly #moments = new MomentTally(LINE_QUANTITIES)
  readonly #gaps = new MomentTally(GRADE_BANDS.length)
  /** Picks, value, return, value² and value × return of the event, and its gap by band. */
  readonly #event = new Float64Array(LINE_QUANTITIES)
  readonly #eventGaps = new Float64Array(GRADE_BANDS.length)
  /** What of value² and value × return did not fit. */
  #large: [squares: bigint, products: bigint] | undefined

  constructor(column: Column) {
    this.#column = column
  }

  /** Takes a row of the event that is being counted. */
  take(row: SettledRow, places: { readonly band: number; readonly result: number }): void {
    const { clvMicro, returnMicro } = row
    addAt(this.#event, 0, 1)
    addAt(this.#event, 1, clvMicro)
    addAt(this.#event, 2, returnMicro)
    const squares = (this.#event[3] ?? 0) + clvMicro * clvMicro
    const products = (this.#event[4] ?? 0) + clvMicro * returnMicro
    if (isExact(squares) && isExact(products)) {
      this.#event[3] = squares
      this.#event[4] = products
    } else {
      this.#large ??= [0n, 0n]
      this.#large[0] += BigInt(clvMicro) * BigInt(clvMicro)
      this.#large[1] += BigInt(clvMicro) * BigInt(returnMicro)
    }
    addAt(this.#eventGaps, places.band, returnMicro - clvMicro)
    const band = (this.#bands[places.band] ??= new BandTally())
    band.take(row, places.result)
  }

  /** Closes the event. */
  close(sign: 1 | -1): void {
    if (this.#large === undefined) this.#moments.add(this.#event, sign)
    else {
      const [n = 0n, x = 0n, y = 0n, xx = 0n, xy = 0n] = Array.from(this.#event, BigInt)
      const [squares, products] = this.#large
      this.#moments.addLarge([n, x, y, xx + squares, xy + products], sign)
      this.#large = undefined
    }
    this.#gaps.add(this.#eventGaps, sign)
    this.#event.fill(0)
    this.#eventGaps.fill(0)
    for (const band of this.#bands) band?.close(sign)
  }

  /** Adds the column to the table; returns the keys of its cells. */
  mergeInto(truth: MutableTruth): readonly string[] {
    const key = lineKey(this.#column)
    const sums = truth.lines.get(key) ?? noLineSums()
    this.#moments.mergeInto(sums.moments)
    this.#gaps.mergeInto(sums.gaps)
    if (sums.moments.clusters === 0) truth.lines.delete(key)
    else truth.lines.set(key, sums)
    const keys = this.#bands.flatMap((tally, place) => {
      const band = GRADE_BANDS[place]?.band
      return tally === undefined || band === undefined
        ? []
        : [tally.mergeInto(truth, bandKey({ ...this.#column, band }))]
    })
    return [key, ...keys]
  }
}

/** A scope's columns, each made when the first pick is in it. */
type Columns = Readonly<Record<Population, Partial<Record<GradeBasis, ColumnTally>>>>

/** Lists of scopes that are known again; at the limit all are looked up anew. */
const LISTS_MAX = 4_096

/** What some events add to a truth table, and take from it. */
export class TruthTally {
  readonly #byScope = new Map<string, Columns>()
  /** The same by the list that rows share. */
  readonly #byScopes = new Map<
    readonly string[],
    readonly { readonly scope: string; readonly columns: Columns }[]
  >()

  /** Adds (sign 1) or subtracts (sign -1) all rows of one event. */
  add(rows: readonly SettledRow[], sign: 1 | -1): void {
    const open = new Set<ColumnTally>()
    for (const row of rows) {
      const { basis, population } = row
      const places = {
        band: BAND_PLACES.get(row.band) ?? 0,
        result: RESULT_PLACES.get(row.result) ?? 0,
      }
      for (const { columns, scope } of this.#columnsOf(row.scopes)) {
        const column = (columns[population][basis] ??= new ColumnTally({
          population,
          basis,
          scope,
        }))
        column.take(row, places)
        open.add(column)
      }
    }
    for (const column of open) column.close(sign)
  }

  /** Adds everything to a table; returns the keys of its cells that changed, for a store to write. */
  mergeInto(truth: MutableTruth): readonly string[] {
    return [...this.#byScope.values()]
      .flatMap(({ committed, mechanical }) => [
        committed.fair,
        committed.price,
        mechanical.fair,
        mechanical.price,
      ])
      .flatMap((column) => column?.mergeInto(truth) ?? [])
  }

  #columnsOf(scopes: readonly string[]) {
    let found = this.#byScopes.get(scopes)
    if (found === undefined) {
      if (this.#byScopes.size >= LISTS_MAX) this.#byScopes.clear()
      found = scopes.map((scope) => {
        const columns = this.#byScope.get(scope) ?? { mechanical: {}, committed: {} }
        this.#byScope.set(scope, columns)
        return { scope, columns }
      })
      this.#byScopes.set(scopes, found)
    }
    return found
  }
}
