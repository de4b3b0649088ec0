/**
 * The grading store on SQLite: how its file is opened, and where it is read. Several processes may have it open: each write first
 * brings memory up to date inside its transaction, and so does each read after another process wrote. The rest is ledger-store.ts.
 */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { openSqliteStore, type StoreOwner } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import type { GradingStore } from '../domain/grading-store.ts'
import { LedgerMemory } from './ledger-memory.ts'
import { createLedgerStore } from './ledger-store.ts'
import { guardedNow, LEDGER } from './sqlite-database.ts'
import { SQLITE_SQL, sqliteSearch } from './sqlite-events.ts'

/** Observations in one write, below 15 ms: requests are served during an import, and other processes write. */
const OBSERVATIONS_PER_WRITE = 75
/**
 * The same when nobody waits for this process: each commit rewrites the same index pages. A match costs an import 0.12 ms of
 * CPU in all, so such a write ends within about a tenth of a second. Slices of a payload are combined to about this many
 * observations: two slices of a wide table.
 */
const OBSERVATIONS_PER_IMPORT_WRITE = 1_000
const OBSERVATIONS_GATHERED = 700

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

/** Makes the ledger's secret, which salts payer tags and hidden prices, if there is none. */
function keepSecret(database: DatabaseSync): void {
  // Written once: a write at every start would wait for other writers.
  if (database.prepare(SQLITE_SQL.secret).get() === undefined)
    database
      .prepare("INSERT OR IGNORE INTO meta (name, value) VALUES ('payer_secret', ?)")
      .run(randomBytes(32).toString('hex'))
}

/**
 * Opens the store. Rejects with GradingStoreUnavailable for a file that cannot be opened or is another program's, and for a
 * ledger that does not extend its last signed checkpoint.
 */
export async function openSqliteGradingStore(
  options: SqliteGradingStoreOptions,
): Promise<GradingStore> {
  const { busyTimeoutMs = LEDGER.busyTimeoutMs, clock, isImport = false } = options
  const memory = new LedgerMemory(SQLITE_SQL)
  const store = await openSqliteStore(
    { ...LEDGER, busyTimeoutMs },
    { ...options, memory: memory.groups },
  )
  const { database, reading, rows } = store
  try {
    guardedNow(() => {
      const pageBytes = Number(Object.values(database.prepare('PRAGMA page_size').get() ?? {})[0])
      const logBytes = isImport ? IMPORT_LOG_BYTES : LOG_BYTES
      database.exec(`PRAGMA wal_autocheckpoint = ${logBytes / pageBytes}`)
      keepSecret(database)
    })
    await memory.load(rows)
    let seenMs: number | undefined
    return createLedgerStore({
      store,
      source: { rows, sql: SQLITE_SQL },
      memory,
      search: guardedNow(() => sqliteSearch(reading)),
      observationsGathered: isImport ? OBSERVATIONS_GATHERED : 0,
      observationsPerWrite: isImport ? OBSERVATIONS_PER_IMPORT_WRITE : OBSERVATIONS_PER_WRITE,
      /** At most once a millisecond: asking SQLite costs more than a grade. */
      freshen: async () => {
        const now = clock.unixMs()
        if (now === seenMs) return
        seenMs = now
        await store.catchUp()
        if (store.journals.ledger.size !== memory.truth.asOfSeq) await memory.takeUp(rows)
      },
    })
  } catch (error) {
    await store.close()
    throw error
  }
}
