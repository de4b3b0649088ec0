/**
 * The truth table: how every band performed, by population, basis and scope. It is the sum of what each event contributes
 * (event-contribution.ts), in whole numbers, by way of a tally (truth-tally.ts). When an event changes, its old contribution
 * is subtracted and its new one added, so the table always equals a full recomputation. Adding is O(1) per settled pick,
 * reading O(bands).
 */
import { GRADE_BANDS, type GradeBand } from '@tallystick/odds'
import type { GradeBasis, Population } from '../../wire/cards.ts'

/** The scope of every pick against a recorded close. */
export const SCOPE_ALL = 'all'
/** The scope of every pick against a synthetic close; never part of `all`. */
export const SCOPE_SYNTHETIC = 'synthetic'

/** A scope and those around it, the widest first: `all`, `soccer/1x2`, `soccer/1x2/pinnacle`. */
export function scopesAround(scope: string): readonly string[] {
  const [, synthetic = '', type = '', book = ''] =
    /^(synthetic\/)?([^/]*\/[^/]*)(\/.*)?$/s.exec(scope) ?? []
  if (type === '') return [scope]
  const outer = synthetic === '' ? SCOPE_ALL : SCOPE_SYNTHETIC
  return [outer, synthetic + type, ...(book === '' ? [] : [scope])]
}

/** One settled pick as the table counts it. */
export type SettledRow = {
  readonly population: Population
  readonly basis: GradeBasis
  /** The narrowest that the pick is in: `soccer/1x2/pinnacle`, `synthetic/soccer/1x2`. It counts in those around it, too. */
  readonly scope: string
  readonly band: GradeBand
  readonly result: CountedResult
  /** Profit per unit staked, and closing-line value, in millionths. */
  readonly returnMicro: number
  readonly clvMicro: number
}

/** The sums of a band, or of a scope with all its bands. */
export type Cell = {
  /** Of a band, sums over its picks; of a scope none. */
  readonly results: ResultCounts
  /** Over events: of a band of (picks, return, value), of a scope of (1, x, y, x², xy), for the regression. */
  readonly moments: MomentSums
  /** Of a scope, over events of each band's gap (return less value), for testing all of them at once; of a band none. */
  readonly gaps: MomentSums
}

/** The readable table. `bandKey` and `lineKey` make its keys. */
export type TruthTable = {
  readonly cells: ReadonlyMap<string, Cell>
  /** The number of ledger entries it counts. */
  readonly asOfSeq: number
}

/** A store's table, changed within the store's transactions. */
export type MutableTruth = {
  readonly cells: Map<string, Cell>
  asOfSeq: number
}

/** One basis of one population within a scope. */
export type Column = {
  readonly population: Population
  readonly basis: GradeBasis
  readonly scope: string
}

/** The key of a scope's regression sums. */
export const lineKey = ({ population, basis, scope }: Column): string =>
  `${population} ${basis} ${scope}`

export const bandKey = (column: Column & { readonly band: GradeBand }): string =>
  `${lineKey(column)} ${column.band}`

/** Quantities of a band's moments: picks, return, value. */
export const BAND_QUANTITIES = 3
/** Quantities of a regression's moments: picks, value, return, value², value × return. */
export const LINE_QUANTITIES = 5

/** A table that counts nothing. */
export const emptyTruth = (): MutableTruth => ({ cells: new Map(), asOfSeq: 0 })

const NO_RESULTS = { won: 0, half_won: 0, push: 0, half_lost: 0, lost: 0, dead_heat: 0 }

/** A counted pick's result; void picks are not counted. */
type CountedResult = keyof typeof NO_RESULTS

type ResultCounts = Record<CountedResult, number>

export const RESULTS = Object.keys(NO_RESULTS) as readonly CountedResult[]

const noCell = (quantities: number, gaps: number): Cell => ({
  results: { ...NO_RESULTS },
  moments: noMoments(quantities),
  gaps: noMoments(gaps),
})

/** A band without a pick. */
export const noBand = (): Cell => noCell(BAND_QUANTITIES, 0)

/** A scope without a pick. */
export const noLine = (): Cell => noCell(LINE_QUANTITIES, GRADE_BANDS.length)

const copyOfMoments = ({ clusters, first, second }: MomentSums): MomentSums => ({
  clusters,
  first: [...first],
  second: [...second],
})

/** A cell to add to: a table's own cells never change, so another table may share them. */
export const copyCell = ({ gaps, moments, results }: Cell): Cell => ({
  results: { ...results },
  moments: copyOfMoments(moments),
  gaps: copyOfMoments(gaps),
})

type MomentsText = {
  readonly clusters: number
  readonly first: readonly string[]
  readonly second: readonly string[]
}

const writeMoments = ({ clusters, first, second }: MomentSums): MomentsText => ({
  clusters,
  first: first.map(String),
  second: second.map(String),
})

const readMoments = ({ clusters, first, second }: MomentsText): MomentSums => ({
  clusters,
  first: first.map(BigInt),
  second: second.map(BigInt),
})

/** A cell as text, for a store: one cell has one text. */
export function writeCell({ gaps, moments, results }: Cell): string {
  return JSON.stringify({
    ...(gaps.first.length === 0
      ? { results: RESULTS.map((result) => results[result]) }
      : { gaps: writeMoments(gaps) }),
    ...writeMoments(moments),
  })
}

type CellText = MomentsText & {
  readonly results?: readonly number[]
  readonly gaps?: MomentsText
}

/** Puts a cell that `writeCell` wrote back into a table. */
export function readCell(truth: MutableTruth, key: string, text: string): void {
  const { gaps, results, ...moments } = JSON.parse(text) as CellText
  const cell = results === undefined ? noLine() : noBand()
  for (const [index, result] of RESULTS.entries()) cell.results[result] = results?.[index] ?? 0
  truth.cells.set(key, {
    results: cell.results,
    moments: readMoments(moments),
    gaps: gaps === undefined ? cell.gaps : readMoments(gaps),
  })
}

/** Whether two tables are equal to the last digit. */
export const sameTruth = ({ cells: left }: TruthTable, { cells: right }: TruthTable): boolean =>
  left.size === right.size &&
  [...left].every(([key, cell]) => {
    const found = right.get(key)
    return found !== undefined && writeCell(found) === writeCell(cell)
  })

/** Sums over clusters (events) of some quantities and of their pairwise products; whole numbers of any size. */
export type MomentSums = {
  clusters: number
  /** Sum of each quantity. */
  readonly first: bigint[]
  /** Sum of the product of quantities i ≤ j, row by row: (0,0), (0,1), …, (1,1), … */
  readonly second: bigint[]
}

/** Sums of no cluster, over this many quantities. */
function noMoments(quantities: number): MomentSums {
  return {
    clusters: 0,
    first: Array.from({ length: quantities }, () => 0n),
    second: Array.from({ length: (quantities * (quantities + 1)) / 2 }, () => 0n),
  }
}

/** The sum of the product of quantities `i` and `j`, as a number. */
export function secondMoment(
  sums: MomentSums,
  { i, j }: { readonly i: number; readonly j: number },
): number {
  const quantities = sums.first.length
  const [low, high] = i <= j ? [i, j] : [j, i]
  return Number(sums.second[low * quantities - (low * (low - 1)) / 2 + (high - low)] ?? 0n)
}

/** Sums of returns and values are whole millionths, so subtracting a term restores the earlier sum exactly. */
export const MICRO = 1_000_000

/** A fraction in whole millionths, halves away from zero, never -0. */
export function toMicro(value: number): number {
  const rounded = Math.round(Math.abs(value) * MICRO)
  return value < 0 && rounded !== 0 ? -rounded : rounded
}
