/** Pages of an audience's report, kept as they were written until a verdict of theirs changes: most of a long report is as before. */
import type { ChainVerdicts } from './chain-verdicts.ts'

/** The lists of a report that are written in pages. */
export type ReportList = 'chains' | 'receipts' | 'lines'

export type ReportCounts = {
  chains: number
  /** Chains that do not hold. */
  broken: number
  /** Chains whose newest version is sealed. */
  sealed: number
  /** Versions replayed. */
  versions: number
  /** Versions whose values were erased, which nothing can replay (C31). */
  erased: number
  /** Chains under names that no write may have today (C38). */
  oldNames: number
}

export type ReportPage = {
  /** As bytes, which are sent again without being encoded again. */
  readonly bytes: Buffer
  readonly counts: ReportCounts
  /** The number of its last chain; undefined where no other page follows. */
  readonly last: number | undefined
}

type KeptPage = ReportPage & {
  readonly after: number
  /** How often verdicts had changed when it was begun. */
  readonly changes: number
}

/** Bytes kept for each audience: the JSON of some 100,000 chains. Pages beyond are written each time. */
const KEPT_BYTES_MAX = 16_000_000

export class ReportTexts {
  readonly #verdicts: ChainVerdicts
  readonly #pages = new Map<string, KeptPage>()
  #bytes = 0

  constructor(verdicts: ChainVerdicts) {
    this.#verdicts = verdicts
  }

  /** The page behind a chain's number, if it would be written the same again. */
  find(list: ReportList, after: number): ReportPage | undefined {
    const page = this.#pages.get(`${list} ${after}`)
    if (page === undefined) return undefined
    const end = page.last === undefined ? Number.POSITIVE_INFINITY : page.last + 1
    return this.#verdicts.hasChanged(after + 1, end, page.changes) ? undefined : page
  }

  keep(list: ReportList, page: KeptPage): void {
    const name = `${list} ${page.after}`
    const before = this.#pages.get(name)?.bytes.length ?? 0
    const bytes = this.#bytes - before + page.bytes.length
    if (bytes > KEPT_BYTES_MAX) return
    this.#pages.set(name, page)
    this.#bytes = bytes
  }
}
