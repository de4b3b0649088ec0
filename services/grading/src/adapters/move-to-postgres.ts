/**
 * Moving a ledger with its picks and payments from SQLite to PostgreSQL: rows are copied, no text is hashed and no event is
 * counted anew, so that head, exports and the truth table are the same behind it. Into an empty schema only, all of it or
 * nothing, while no service runs. The way back is move-to-sqlite.ts.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { createCompactRange, type TreeHead } from '@tallystick/hashchain'
import { prepareQuery, type StoreOwner } from '@tallystick/journal-store'
import { PostgresConnection, type PostgresQuery } from '@tallystick/journal-store/postgres'
import { type Secret, systemClock } from '@tallystick/service-kit'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { serverOf } from './open-stores.ts'
import { FILE_EVENTS, filedText } from './postgres-events.ts'
import { openGradingDatabase, openReservationDatabase } from './sqlite-database.ts'
import { openSqliteGradingStore } from './sqlite-grading-store.ts'
import { RESERVATION_CELLS } from './stored-reservation.ts'
import { PICK_COLUMNS } from './stored-rows.ts'

/** Rows copied at once. */
export const ROWS_PER_COPY = 1_000

export type Row = readonly SQLInputValue[]

/** Pages of a table's rows, joined with another's. */
function* pagesOf(
  database: DatabaseSync,
  of: { readonly table: string; readonly join?: string; readonly columns: string },
): Generator<readonly Row[]> {
  const { columns, join = '', table } = of
  const query = prepareQuery<readonly [number, ...SQLInputValue[]]>(
    database,
    `SELECT ${table}.rowid, ${columns} FROM ${table} ${join} WHERE ${table}.rowid > ? ORDER BY 1 LIMIT ${ROWS_PER_COPY}`,
  )
  for (let last = -1; ; ) {
    const rows = query.all(last)
    if (rows.length > 0) yield rows.map(([, ...row]) => row)
    if (rows.length < ROWS_PER_COPY) return
    last = rows.at(-1)?.[0] ?? last
  }
}

const columnsOf = (rows: readonly Row[]): SQLInputValue[][] =>
  (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] ?? null))

const textOf = (cell: SQLInputValue | undefined): string => (typeof cell === 'string' ? cell : '')

type Copy = {
  readonly table: string
  readonly columns: string
  /** Its values are the columns as arrays. */
  readonly into: string
}

export const PAYMENT_COLUMNS = `${RESERVATION_CELLS}, answer, is_delivered`

const COPIES: readonly Copy[] = [
  {
    table: 'tree_nodes',
    columns: 'place, hash',
    into: 'INSERT INTO grading.entries_nodes (place, hash) SELECT * FROM unnest($1::bigint[], $2::bytea[])',
  },
  {
    table: 'picks',
    columns: `event_path, ${PICK_COLUMNS}`,
    into: `INSERT INTO grading.picks (event_path, ${PICK_COLUMNS})
      SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])`,
  },
  {
    table: 'truth',
    columns: 'key, cell',
    into: `INSERT INTO grading.truth (key, cell, as_of)
      SELECT key, cell, size FROM unnest($1::text[], $2::text[]) AS moved (key, cell), grading.journals`,
  },
  {
    table: 'payloads',
    columns: 'raw_sha256, feed, received_at',
    into: `INSERT INTO grading.payloads (raw_sha256, feed, received_at)
      SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])`,
  },
]

const PUT_PAYMENTS = `INSERT INTO grading.reservations (${PAYMENT_COLUMNS})
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::text[],
    $7::double precision[], $8::text[], $9::text[], $10::text[], $11::text[], $12::boolean[])`

const PUT_ENTRIES = `INSERT INTO grading.entries (at, event, text, leaf_hash)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[])`

const PUT_HEAD = "UPDATE grading.journals SET size = $1, peaks = $2 WHERE name = 'ledger'"

const IN_USE = `SELECT FROM grading.journals WHERE size > 0 UNION ALL SELECT FROM grading.picks
  UNION ALL SELECT FROM grading.reservations LIMIT 1`

const ENTRIES = { table: 'entries', columns: 'seq, event, text, hash' }
const EVENTS = {
  table: 'events',
  join: 'JOIN event_teams USING (id)',
  columns: 'id, path, sport, events.start_at, words, home, away',
}
const PAYMENTS = { table: 'reservations', columns: PAYMENT_COLUMNS }

async function copyEntries(database: DatabaseSync, query: PostgresQuery): Promise<TreeHead> {
  const range = createCompactRange()
  for (const rows of pagesOf(database, ENTRIES)) {
    for (const [seq, , , hash] of rows) {
      if (seq !== range.size || !(hash instanceof Uint8Array))
        throw new GradingStoreUnavailable(`the ledger has a gap: entry ${range.size} is gone`)
      range.append(hash)
    }
    await query(
      PUT_ENTRIES,
      columnsOf(
        rows.map(([seq, event, text, hash]) => [
          seq ?? null,
          event ?? null,
          Buffer.from(textOf(text)),
          hash ?? null,
        ]),
      ),
    )
  }
  await query(PUT_HEAD, [range.size, Buffer.concat(range.state().peaks)])
  return { size: range.size, rootHash: range.rootHash() }
}

async function copyEvents(database: DatabaseSync, query: PostgresQuery): Promise<void> {
  for (const rows of pagesOf(database, EVENTS)) {
    const filed = rows.map(([, , sport, , words]) => filedText(textOf(sport), textOf(words)))
    const [id, path, sport, start, words, home, away] = columnsOf(rows)
    await query(FILE_EVENTS, [id, path, sport, start, words, filed, home, away])
  }
}

/**
 * Copies the ledger of a file, and the payments beside it, into a migrated database that has none, as its owner. Rejects
 * with GradingStoreUnavailable, having changed nothing; also for a ledger that its last checkpoint refuses.
 */
export async function moveToPostgres(owner: StoreOwner, url: Secret): Promise<TreeHead> {
  // Checks it, and files what an earlier version left unfiled.
  const store = openSqliteGradingStore({ ...owner, clock: systemClock })
  const head = await store.head()
  await store.close()
  const [database, payments] = [
    openGradingDatabase(owner.databasePath),
    openReservationDatabase(owner.databasePath),
  ]
  const connection = new PostgresConnection({
    ...serverOf(url),
    Unavailable: GradingStoreUnavailable,
  })
  try {
    return await connection.transaction(async (query) => {
      if ((await query(IN_USE)).length > 0)
        throw new GradingStoreUnavailable('the database has a ledger already')
      const moved = await copyEntries(database, query)
      if (moved.size !== head.size || Buffer.compare(moved.rootHash, head.rootHash) !== 0)
        throw new GradingStoreUnavailable(
          'the ledger was written meanwhile, or its head is not its own',
        )
      await copyEvents(database, query)
      for (const copy of COPIES)
        for (const rows of pagesOf(database, copy)) await query(copy.into, columnsOf(rows))
      for (const rows of pagesOf(payments, PAYMENTS)) await query(PUT_PAYMENTS, columnsOf(rows))
      const secret = prepareQuery<readonly [string]>(
        database,
        "SELECT value FROM meta WHERE name = 'payer_secret'",
      )
      await query("UPDATE grading.meta SET value = $1 WHERE name = 'payer_secret'", [
        secret.get()?.[0],
      ])
      return moved
    })
  } finally {
    await connection.end()
    database.close()
    payments.close()
  }
}
