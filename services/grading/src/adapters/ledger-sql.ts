/** The ledger's queries in SQL that both engines accept; a dialect has the parts that differ. */
import type { CompactRange } from '@tallystick/hashchain'
import type { Awaitable, SqlDialect, TupleQuery } from '@tallystick/journal-store'
import type { EventInfo } from '../domain/event-state.ts'
import type { SearchDialect } from './event-search.ts'
import { PICK_COLUMNS } from './stored-rows.ts'

/** Sends a statement in which `$1` stands for a value and tables have no schema. */
export type Send = (text: string, values: readonly unknown[]) => unknown

/** Where the engines' SQL for a ledger differs. */
type LedgerDialect = SqlDialect &
  Pick<SearchDialect, 'among' | 'list'> & {
    /** The journal's columns, and its table of nodes. */
    readonly seq: string
    readonly hash: string
    readonly nodes: string
    /** Whether it reads and writes synchronously. */
    readonly isEmbedded: boolean
    /** Selects the paths of $1 that have committed picks, for an engine that is asked for each event's picks separately. */
    readonly withPicks?: string
    /** Whether a cell that no longer counts anything is deleted. */
    readonly deletesCells: boolean
    /** Selects the ledger's size and, if it is above $1, the cells changed since, or all cells if some are deleted; else nulls. */
    readonly changedCells: string
    /** Files new events, and those whose day or names changed. */
    readonly file: (send: Send, events: readonly (readonly [id: number, info: EventInfo])[]) => void
    /** Writes a cell by its key, as of a size of the ledger; null for a cell that no longer counts anything. */
    readonly keepCells: (
      send: Send,
      cells: readonly (readonly [key: string, cell: string | null])[],
      size: number,
    ) => void
  }

export function ledgerSql(dialect: LedgerDialect) {
  const { among, hash, rowsOf, seq } = dialect
  const entry = `${seq}, text, ${hash}`
  const picks = `SELECT ${PICK_COLUMNS} FROM picks WHERE`
  return {
    ...dialect,
    entry: `SELECT ${entry} FROM entries WHERE ${seq} = $1`,
    entries: `SELECT ${entry} FROM entries WHERE ${seq} >= $1 AND ${seq} < $2 ORDER BY ${seq}`,
    /** CROSS JOIN keeps the tables in the order written; the indexes already have the rows in order once paths are sorted. */
    entriesOf: `SELECT ${entry}, path, id FROM events CROSS JOIN entries
      WHERE event = id AND ${among('path', '$1')} ORDER BY path, ${seq}`,
    changedEvents: `SELECT DISTINCT path FROM entries JOIN events ON id = event WHERE ${seq} >= $1 AND ${seq} < $2`,
    newEntries: `SELECT ${entry}, path FROM entries JOIN events ON id = event
      WHERE ${seq} >= $1 AND ${seq} < $2 AND ${among('path', '$3')} ORDER BY ${seq}`,
    lastEvent: 'SELECT coalesce(max(id), 0) FROM events',
    pickByReceipt: `${picks} receipt = $1`,
    pickByPayment: `${picks} payment_id = $1`,
    pickBySeq: `${picks} seq = $1`,
    picksOf: `${picks} event_path = $1 AND seq > $2 ORDER BY seq`,
    committed: `SELECT ${PICK_COLUMNS}, event_path FROM picks
      WHERE ${among('event_path', '$1')} AND seq IS NOT NULL ORDER BY event_path, seq`,
    keepPicks: `INSERT INTO picks (${PICK_COLUMNS}, event_path)
      ${rowsOf('text', 'text', 'text', 'text', 'text', 'bigint', 'text')}`,
    markPayload: `INSERT INTO payloads (raw_sha256, feed, received_at) VALUES ($1, $2, $3)
      ON CONFLICT (raw_sha256) DO NOTHING`,
    hasPayload: 'SELECT 1 FROM payloads WHERE raw_sha256 = $1',
  }
}

/** Where a ledger is read. */
export type LedgerSource = {
  readonly ask: TupleQuery
  readonly sql: ReturnType<typeof ledgerSql>
  /** The head that the last commit stored. */
  readonly head: () => Awaitable<CompactRange>
  /** Lets others run between two slices. */
  readonly pause: () => Promise<void>
}
