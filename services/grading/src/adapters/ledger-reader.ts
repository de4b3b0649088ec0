/**
 * A connection of its own to the ledger, for the thread of long work: it reads what is committed and can write nothing. One
 * job asks at a time, so one connection is enough on PostgreSQL, too.
 */
import { openSqliteReader, openSqliteRows, type Rows } from '@tallystick/journal-store'
import { reachServer, Secret } from '@tallystick/service-kit'
import { GradingStoreUnavailable, type LedgerReader } from '../domain/closes/grading-store.ts'
import type { SearchDialect } from './event-search.ts'
import { cardSource, LedgerMemory } from './ledger-memory.ts'
import type { LedgerSource } from './ledger-sql.ts'
import { LEDGER } from './sqlite-database.ts'
import { SQLITE_SQL, sqliteSearch } from './sqlite-grading-store.ts'

/** Where a ledger is, as a value that can be sent to a thread. */
export type LedgerPlace = {
  readonly databasePath: string
  /** PostgreSQL's connection string, if the ledger is there. */
  readonly databaseUrl?: string | undefined
}

type OpenLedgerReader = {
  readonly store: LedgerReader
  /** Brings memory up to date with what others committed. */
  readonly refresh: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Events kept in memory, some 5 kB each: those of a few audits. */
const CACHED_EVENTS_MAX = 5_000

type Opened = {
  readonly rows: Rows
  readonly sql: LedgerSource['sql']
  readonly search: SearchDialect
  readonly close: () => void | Promise<void>
}

function openFile(databasePath: string): Opened {
  const database = openSqliteReader(databasePath, LEDGER)
  return {
    rows: openSqliteRows(database, GradingStoreUnavailable),
    sql: SQLITE_SQL,
    search: sqliteSearch(database),
    close: () => database.close(),
  }
}

async function openDatabase(databasePath: string, databaseUrl: string): Promise<Opened> {
  const [{ PostgresConnection, PostgresDoor }, { POSTGRES_SEARCH, POSTGRES_SQL }] =
    await Promise.all([
      import('@tallystick/journal-store/postgres'),
      import('./postgres-events.ts'),
    ])
  const server = { ...reachServer(new Secret(databaseUrl)), databasePath }
  const door = new PostgresDoor({ ...server, Unavailable: GradingStoreUnavailable })
  const connection = new PostgresConnection(door, {
    schema: 'grading',
    onConnected: async (line) => void (await line.ask('SET default_transaction_read_only = on')),
  })
  return {
    rows: connection.tuples,
    sql: POSTGRES_SQL,
    search: POSTGRES_SEARCH,
    close: () => connection.end(),
  }
}

/** Opens a ledger that exists. Rejects with GradingStoreUnavailable. */
export async function openLedgerReader({
  databasePath,
  databaseUrl,
}: LedgerPlace): Promise<OpenLedgerReader> {
  const { close, rows, search, sql } =
    databaseUrl === undefined
      ? openFile(databasePath)
      : await openDatabase(databasePath, databaseUrl)
  try {
    const memory = new LedgerMemory(sql, CACHED_EVENTS_MAX)
    await memory.load(rows)
    return {
      store: cardSource({ memory, search, source: { rows } }, async () => undefined),
      refresh: () => memory.takeUp(rows),
      close: async () => close(),
    }
  } catch (error) {
    await close()
    throw error
  }
}
