/**
 * The grading store on SQLite: how its file is opened, and where it is read. Several processes may have it open: each write first
 * brings memory up to date inside its transaction, and so does each read after another process wrote. The rest is ledger-store.ts.
 */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextIteration } from 'node:timers/promises'
import {
  guardedTuples,
  openSqliteJournalStore,
  prepareQuery,
  readStoredHead,
  SqliteConnection,
  type StoreOwner,
  sqliteTuples,
  type TupleQuery,
} from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import { type GradingStore, GradingStoreUnavailable } from '../domain/grading-store.ts'
import { isOutdated, recount } from './count-truth.ts'
import { LedgerMemory } from './ledger-memory.ts'
import type { LedgerSource } from './ledger-sql.ts'
import { createLedgerStore } from './ledger-store.ts'
import { LEDGER, reading } from './sqlite-database.ts'
import { fileTeams, SQLITE_SQL, sqliteSearch } from './sqlite-events.ts'

/** Observations in one write, below 15 ms: requests are served during an import, and other processes write. */
const OBSERVATIONS_PER_WRITE = 75
/**
 * The same when nobody waits for this process: each commit rewrites the same index pages. A match costs an import 0.12 ms of
 * CPU in all, so such a write ends within about a tenth of a second. Slices of a payload are combined to about this many
 * observations: two slices of a wide table.
 */
const OBSERVATIONS_PER_IMPORT_WRITE = 1_000
const OBSERVATIONS_GATHERED = 700

/** Page cache: SQLite's default of 2 MB does not hold the indexes of a hundred thousand events. */
const CACHE_KIB = 32_768
/**
 * Bytes logged before they move into the file. Each commit of an import rewrites the same index pages; a service's
 * requests would wait while so many bytes move.
 */
const LOG_BYTES = 4_194_304
const IMPORT_LOG_BYTES = 33_554_432

export type LedgerOpening = {
  readonly clock: Clock
  /** `unchecked` opens even what the last checkpoint refuses, so that it can be verified. */
  readonly checkpoint?: 'checked' | 'unchecked'
  /** Opened only to be filled: nobody waits for its answers. */
  readonly isImport?: boolean
  /** Receives errors from the background. */
  readonly onProblem?: (error: unknown) => void
}

export type SqliteGradingStoreOptions = StoreOwner &
  LedgerOpening & {
    /** How long a write waits for another process's, milliseconds. */
    readonly busyTimeoutMs?: number
  }

/** The ledger's secret, made with the file: it salts payer tags and hidden prices. */
function ledgerSecret(database: DatabaseSync): string {
  const find = database.prepare("SELECT value FROM meta WHERE name = 'payer_secret'")
  // Written once: a write at every start would wait for other writers.
  if (find.get() === undefined)
    database
      .prepare("INSERT OR IGNORE INTO meta (name, value) VALUES ('payer_secret', ?)")
      .run(randomBytes(32).toString('hex'))
  return String(find.get()?.['value'])
}

export const sqliteLedgerSource = (
  database: DatabaseSync,
  ask: TupleQuery = guardedTuples(sqliteTuples(database), GradingStoreUnavailable),
): LedgerSource => ({
  ask,
  sql: SQLITE_SQL,
  head: () => reading(() => readStoredHead(database)),
  pause: nextIteration,
})

/** Recounts an outdated table; nothing else uses the connection yet. */
export async function recountSqliteLedger(database: DatabaseSync): Promise<void> {
  const source = sqliteLedgerSource(database)
  if (!(await isOutdated(source))) return
  const connection = new SqliteConnection(database, GradingStoreUnavailable)
  await connection.transaction(() =>
    recount({ ...source, pause: async () => undefined }, readStoredHead(database).size, source.ask),
  )
}

function openStore(options: SqliteGradingStoreOptions) {
  const { busyTimeoutMs = LEDGER.busyTimeoutMs, isImport = false } = options
  let memory: LedgerMemory | undefined
  const store = openSqliteJournalStore<'ledger'>(
    { ...LEDGER, busyTimeoutMs },
    { ...options, beforeCommit: (transaction) => memory?.send(transaction) },
  )
  const { database } = store
  try {
    return reading(() => {
      database.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
      const pageBytes = prepareQuery<readonly [number]>(database, 'PRAGMA page_size').get()?.[0]
      const logBytes = isImport ? IMPORT_LOG_BYTES : LOG_BYTES
      database.exec(`PRAGMA wal_autocheckpoint = ${logBytes / (pageBytes ?? logBytes)}`)
      memory = new LedgerMemory(SQLITE_SQL, ledgerSecret(database))
      fileTeams(database)
      return { store, memory, search: sqliteSearch(database) }
    })
  } catch (error) {
    database.close()
    throw error
  }
}

/** As openSqliteGradingStore, and recounts an earlier version's table. */
export async function openSqliteLedger(options: SqliteGradingStoreOptions): Promise<GradingStore> {
  const opened = openStore(options)
  try {
    await recountSqliteLedger(opened.store.database)
    return portOf(opened, options)
  } catch (error) {
    await opened.store.close()
    throw error
  }
}

/**
 * Opens the store. Throws GradingStoreUnavailable for a file that cannot be opened or is another program's, and for a ledger
 * that does not extend its last signed checkpoint.
 */
export const openSqliteGradingStore = (options: SqliteGradingStoreOptions): GradingStore =>
  portOf(openStore(options), options)

function portOf(
  { memory, search, store }: ReturnType<typeof openStore>,
  { clock, isImport = false }: SqliteGradingStoreOptions,
): GradingStore {
  let seenMs: number | undefined
  /** Before reads, at most once a millisecond: asking SQLite costs more than a grade. */
  const freshen = (): void => {
    const now = clock.unixMs()
    if (now === seenMs) return
    seenMs = now
    reading(() => store.catchUp())
    if (store.journals.ledger.size !== memory.truth.asOfSeq) void memory.takeUp(store.tuples)
  }
  freshen()
  return createLedgerStore({
    store,
    source: sqliteLedgerSource(store.database, store.tuples),
    memory,
    search,
    observationsGathered: isImport ? OBSERVATIONS_GATHERED : 0,
    observationsPerWrite: isImport ? OBSERVATIONS_PER_IMPORT_WRITE : OBSERVATIONS_PER_WRITE,
    freshen,
  })
}
