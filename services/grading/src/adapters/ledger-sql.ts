/** The ledger's statements, in SQL that both engines accept; a dialect has the parts that differ. */
import type { POSTGRES_IMPORTS, Rows, SQLITE_IMPORTS, Statement } from '@tallystick/journal-store'
import type { EventInfo } from '../domain/closes/event-state.ts'
import type { SearchDialect } from './event-search.ts'
import { PICK_COLUMNS } from './stored-rows.ts'

type SqlType = 'text' | 'bigint'

/** A cell of the truth table by its key; null for one that counts nothing any more. */
type KeptCell = readonly [key: string, cell: string | null]

/** Where the engines' SQL for a ledger differs. */
type LedgerDialect = Pick<SearchDialect, 'among' | 'list'> & {
  readonly imports: typeof SQLITE_IMPORTS | typeof POSTGRES_IMPORTS
  /** Rows to insert, from the values that `values` makes of them. */
  readonly unnestRows: (...types: readonly SqlType[]) => string
  /** The values of a statement over rows, of which there is at least one. */
  readonly values: (rows: readonly (readonly unknown[])[]) => readonly unknown[]
  /** Files new events, and those whose day or names changed. */
  readonly file: (
    events: readonly (readonly [id: number, info: EventInfo])[],
  ) => readonly Statement[]
  /** Writes cells of the truth table as of a size of the ledger. */
  readonly keepCells: (cells: readonly KeptCell[], size: number) => readonly Statement[]
}

export function ledgerSql(dialect: LedgerDialect) {
  const { among, unnestRows } = dialect
  const entry = 'at, text, leaf_hash'
  const picks = `SELECT ${PICK_COLUMNS} FROM picks WHERE`
  return {
    ...dialect,
    entry: `SELECT ${entry} FROM entries WHERE at = $1`,
    entries: `SELECT ${entry} FROM entries WHERE at >= $1 AND at < $2 ORDER BY at`,
    /** CROSS JOIN keeps the tables in the order written; the indexes already have the rows in order once paths are sorted. */
    eventEntries: `SELECT ${entry}, path, id FROM events CROSS JOIN entries
      WHERE event = id AND ${among('path', '$1')} ORDER BY path, at`,
    /** The ledger's size and, if it is above $1, the cells changed since; else nulls. */
    changedCells: `SELECT size, key, cell FROM journals LEFT JOIN truth ON as_of > $1 WHERE name = 'ledger'`,
    changedEvents: `SELECT DISTINCT path FROM entries JOIN events ON id = event WHERE at >= $1 AND at < $2`,
    newEntries: `SELECT ${entry}, path FROM entries JOIN events ON id = event
      WHERE at >= $1 AND at < $2 AND ${among('path', '$3')} ORDER BY at`,
    lastEvent: 'SELECT coalesce(max(id), 0) FROM events',
    pickByReceipt: `${picks} receipt = $1`,
    picksByPayment: `${picks} ${among('payment_id', '$1')}`,
    pickBySeq: `${picks} seq = $1`,
    eventPicks: `${picks} event_path = $1 AND seq > $2 ORDER BY seq`,
    committed: `SELECT ${PICK_COLUMNS}, event_path FROM picks
      WHERE ${among('event_path', '$1')} AND seq IS NOT NULL ORDER BY event_path, seq`,
    keepPicks: `INSERT INTO picks (${PICK_COLUMNS}, event_path)
      ${unnestRows('text', 'text', 'text', 'text', 'text', 'bigint', 'text')}`,
    markPayload: `INSERT INTO payloads (raw_sha256, feed, received_at) VALUES ($1, $2, $3)
      ON CONFLICT (raw_sha256) DO NOTHING`,
    hasPayload: 'SELECT 1 FROM payloads WHERE raw_sha256 = $1',
    secret: "SELECT value FROM meta WHERE name = 'payer_secret'",
    head: "SELECT size, peaks FROM journals WHERE name = 'ledger'",
  }
}

export type LedgerSql = ReturnType<typeof ledgerSql>

/** Where a ledger is read. */
export type LedgerSource = {
  readonly rows: Rows
  readonly sql: LedgerSql
}
