// When audit rows are written, whichever engine keeps them. A row of an accepted write is durable before it is acknowledged.
// Refusals, which anyone can cause, are written in groups that wait for no disk, and only so many are kept: a flood of refused
// requests costs the disk neither time nor space.
import { messageOf } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import type { AuditTrail } from '../domain/publish-record.ts'
import type { AuditRow, KeptAuditRow } from '../wire/write.ts'

/** Rows of refused writes that are kept, the newest; some 15 MB. */
export const REFUSALS_KEPT_MAX = 100_000
/** How many above that may gather before the oldest are taken out, so that not every commit pays for it. */
export const REFUSALS_SLACK = 1_000
/** Refusals that wait in memory before they are written at once. */
const REFUSALS_WAITING_MAX = 256
/** Longest that a refusal waits, milliseconds: what a power loss or a kill may take. */
export const REFUSAL_FLUSH_MS = 1_000

/** The audit rows cannot be written or read. */
export class AuditTrailUnavailable extends Error {
  override readonly name = 'AuditTrailUnavailable'
}

export type AuditQuery = Parameters<AuditTrail['read']>[0]

export type AuditRows = {
  /** Adds rows in their order, and takes out the oldest refusals above the bound. */
  add(rows: readonly AuditRow[], durability: 'synced' | 'relaxed'): Promise<void>
  read(query: AuditQuery): Promise<readonly KeptAuditRow[]>
  close(): Promise<void>
}

export type AuditTrailOptions = {
  readonly clock: Clock
  /** Told when refusals could not be written; they are dropped. */
  readonly onProblem?: ((error: unknown) => void) | undefined
  readonly onRow?: ((row: AuditRow) => void) | undefined
}

type Waiting = {
  readonly row: AuditRow
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** A kept row's columns; bytes are text. */
export function keptRow(columns: Readonly<Record<string, unknown>>): KeptAuditRow {
  const { actor, uri, ...row } = columns
  const kept = {
    ...row,
    actor: actor instanceof Uint8Array ? Buffer.from(actor).toString() : actor,
  }
  return { ...kept, ...(uri === null ? {} : { uri }) } as KeptAuditRow
}

export class BatchedAuditTrail implements AuditTrail {
  readonly #options: AuditTrailOptions
  readonly #rows: AuditRows
  #accepted: Waiting[] = []
  #refused: AuditRow[] = []
  #running: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  #isFlushDue = false
  #isClosed = false

  constructor(rows: AuditRows, options: AuditTrailOptions) {
    this.#rows = rows
    this.#options = options
  }

  async add(row: AuditRow): Promise<void> {
    this.#options.onRow?.(row)
    if (this.#isClosed) throw new AuditTrailUnavailable('the audit trail is closed')
    if (row.outcome === 'accepted') {
      await new Promise<void>((resolve, reject) => {
        this.#accepted.push({ row, resolve, reject })
        this.#flushSoon()
      })
      return
    }
    this.#refused.push(row)
    if (this.#refused.length >= REFUSALS_WAITING_MAX) void this.#flush()
    else
      this.#cancelTimer ??= this.#options.clock.after(REFUSAL_FLUSH_MS, () => {
        void this.#flush()
      })
  }

  async read(query: AuditQuery): Promise<readonly KeptAuditRow[]> {
    await this.#flush()
    return this.#rows.read(query)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#flush()
    await this.#rows.close()
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    setImmediate(() => {
      this.#isFlushDue = false
      void this.#flush()
    })
  }

  /** Waiting refusals go along with accepted rows; alone they do not wait for the disk. Never rejects. */
  async #flush(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    while (this.#running !== undefined) await this.#running
    const [accepted, refused] = [this.#accepted, this.#refused]
    if (accepted.length + refused.length === 0) return
    this.#accepted = []
    this.#refused = []
    const writing = this.#write(accepted, refused)
    this.#running = writing
    await writing
    if (this.#running === writing) this.#running = undefined
  }

  async #write(accepted: readonly Waiting[], refused: readonly AuditRow[]): Promise<void> {
    try {
      const rows = [...refused, ...accepted.map((waiting) => waiting.row)]
      await this.#rows.add(rows, accepted.length === 0 ? 'relaxed' : 'synced')
      for (const { resolve } of accepted) resolve()
    } catch (cause) {
      const error = new AuditTrailUnavailable(`nothing was written: ${messageOf(cause)}`, { cause })
      for (const { reject } of accepted) reject(error)
      if (refused.length > 0) this.#options.onProblem?.(error)
    }
  }
}
