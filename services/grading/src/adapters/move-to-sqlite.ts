/** Moving a ledger with its picks and payments from PostgreSQL back to SQLite's files, as move-to-postgres.ts does it there. */
import { existsSync, rmSync } from 'node:fs'
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { TreeHead } from '@tallystick/hashchain'
import { openSqliteJournalStore, type StoreOwner } from '@tallystick/journal-store'
import {
  PostgresConnection,
  type PostgresQuery,
  readHeads,
} from '@tallystick/journal-store/postgres'
import type { Secret } from '@tallystick/service-kit'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { PAYMENT_COLUMNS, ROWS_PER_COPY, type Row } from './move-to-postgres.ts'
import { serverOf } from './open-stores.ts'
import { POSTGRES_LEDGER } from './postgres-schema.ts'
import { FILE_WORDS, LEDGER, openReservationDatabase } from './sqlite-database.ts'
import { PICK_COLUMNS } from './stored-rows.ts'

/** Rows of a query in pages, each a list of its cells; within a transaction of one snapshot. */
async function* fetched(
  query: PostgresQuery,
  name: string,
  select: string,
): AsyncGenerator<readonly Row[]> {
  await query(`DECLARE ${name} NO SCROLL CURSOR FOR ${select}`)
  for (;;) {
    const rows = await query<Record<string, SQLInputValue | boolean>>(
      `FETCH ${ROWS_PER_COPY} FROM ${name}`,
    )
    if (rows.length > 0)
      yield rows.map((row) =>
        Object.values(row).map((cell) => (typeof cell === 'boolean' ? Number(cell) : cell)),
      )
    if (rows.length < ROWS_PER_COPY) return
  }
}

async function fill(
  database: DatabaseSync,
  into: string,
  pages: AsyncIterable<readonly Row[]>,
): Promise<void> {
  for await (const rows of pages) {
    const places = (rows[0] ?? []).map(() => '?').join(', ')
    const insert = database.prepare(`INSERT INTO ${into} VALUES (${places})`)
    for (const row of rows) insert.run(...row)
  }
}

/** Tables whose columns are the same in both. */
const COPIED = [
  ['picks', `event_path, ${PICK_COLUMNS}`],
  ['payloads', 'raw_sha256, feed, received_at'],
] as const

type Target = Pick<ReturnType<typeof openSqliteJournalStore<'ledger'>>, 'database' | 'write'>

async function copyBack({ database, write }: Target, query: PostgresQuery): Promise<void> {
  const entries = fetched(
    query,
    'entries',
    'SELECT event, text, leaf_hash FROM grading.entries ORDER BY at',
  )
  for await (const rows of entries)
    await write(({ journals }) => {
      for (const [event, text, hash] of rows)
        journals.ledger.append(hash as Uint8Array, [event ?? null, (text as Buffer).toString()])
    })
  database.exec('BEGIN IMMEDIATE')
  const [row] = await query<{ value: string }>(
    "SELECT value FROM grading.meta WHERE name = 'payer_secret'",
  )
  database
    .prepare("INSERT INTO meta (name, value) VALUES ('payer_secret', ?)")
    .run(row?.value ?? null)
  await fill(
    database,
    'events (id, path, sport, start_at, words)',
    fetched(
      query,
      'events',
      'SELECT id, path, sport, start_at, words FROM grading.events ORDER BY id',
    ),
  )
  await fill(
    database,
    'event_teams (id, home, away, start_at)',
    fetched(query, 'teams', 'SELECT id, home, away, start_at FROM grading.events ORDER BY id'),
  )
  database.exec(FILE_WORDS)
  await fill(
    database,
    'truth (key, cell)',
    fetched(query, 'truth', 'SELECT key, cell FROM grading.truth WHERE cell IS NOT NULL'),
  )
  for (const [table, columns] of COPIED)
    await fill(
      database,
      `${table} (${columns})`,
      fetched(query, table, `SELECT ${columns} FROM grading.${table}`),
    )
  database.exec('COMMIT')
}

/**
 * Copies a database's ledger and payments into files that are not there yet. Rejects with GradingStoreUnavailable and leaves
 * no file behind.
 */
export async function moveToSqlite(owner: StoreOwner, url: Secret): Promise<TreeHead> {
  const { databasePath } = owner
  const paths = [databasePath, `${databasePath}.payments`]
  for (const path of paths)
    if (existsSync(path)) throw new GradingStoreUnavailable(`${path} exists already`)
  const connection = new PostgresConnection({
    ...serverOf(url),
    Unavailable: GradingStoreUnavailable,
  })
  try {
    return await connection.transaction(async (query) => {
      await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
      const head = (await readHeads({ kind: POSTGRES_LEDGER, read: query })).get('ledger')
      // Its last checkpoint is of the whole ledger; the file is empty yet.
      const store = openSqliteJournalStore<'ledger'>(LEDGER, { ...owner, checkpoint: 'unchecked' })
      const payments = openReservationDatabase(databasePath)
      try {
        await copyBack(store, query)
        payments.exec('BEGIN IMMEDIATE')
        await fill(
          payments,
          `reservations (${PAYMENT_COLUMNS})`,
          fetched(
            query,
            'payments',
            `SELECT ${PAYMENT_COLUMNS} FROM grading.reservations ORDER BY serial`,
          ),
        )
        payments.exec('COMMIT')
      } finally {
        payments.close()
        await store.close()
      }
      const { ledger } = store.journals
      const moved = { size: ledger.size, rootHash: ledger.rootHash() }
      if (head === undefined || Buffer.compare(head.rootHash(), moved.rootHash) !== 0)
        throw new GradingStoreUnavailable('the entries do not come to the stored head')
      return moved
    })
  } catch (error) {
    for (const path of paths)
      for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
    throw error
  } finally {
    await connection.end()
  }
}
