/**
 * The grading store on SQLite. Several processes may have one file open: each write brings its memory up to date inside its
 * transaction, and each read does where another process has written. What happens to an event is the domain's matter.
 */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { openSqliteJournalStore, type StoreOwner } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import { addIngested, NOTHING_INGESTED } from '../domain/advance-event.ts'
import type { GradingStore } from '../domain/grading-store.ts'
import { recountSqliteLedger } from './count-truth.ts'
import { openEventSearch } from './event-search.ts'
import { openLedgerReads } from './ledger-reads.ts'
import { sqliteLedgerSource } from './ledger-source.ts'
import { ingestSlice, keepPick } from './ledger-writes.ts'
import { LEDGER, nextIteration, reading } from './sqlite-database.ts'
import { openEventReader, sqliteSearch } from './sqlite-events.ts'
import { openPickTable, openTruthTable } from './sqlite-ledger.ts'

/** Observations in one write, some 15 ms: requests are served during an import, and other processes write. */
const OBSERVATIONS_PER_WRITE = 150
/** The same where nobody waits for this process, some 60 ms: each commit writes the same pages of indexes again. */
const OBSERVATIONS_PER_IMPORT_WRITE = 500

/** What a connection reads again and again: SQLite's own 2 MB do not hold the indexes of a hundred thousand events. */
const CACHE_KIB = 32_768
/**
 * Pages of 4 KiB that an import writes before they are moved into the file. An import writes the same pages of indexes in
 * each of its commits; a service, whose requests would wait for so many, moves a thousand.
 */
const IMPORT_PAGES = 8_000
/** Searches in one iteration of the event loop, some 5 ms where their words are common: an audit may ask for a thousand names. */
const SEARCHES_PER_ITERATION = 3

export type SqliteGradingStoreOptions = StoreOwner & {
  readonly clock: Clock
  /** `unchecked` opens also what its last checkpoint refuses: for verifying it. */
  readonly checkpoint?: 'checked' | 'unchecked'
  /** How long a write waits for another process's, milliseconds. */
  readonly busyTimeoutMs?: number
  /** Whether the store is opened to be filled, and nobody waits for its answers. */
  readonly isImport?: boolean
}

/** The ledger's secret, made with the file: payer tags and hidden prices are salted with it. */
function ledgerSecret(database: DatabaseSync): string {
  const find = database.prepare("SELECT value FROM meta WHERE name = 'payer_secret'")
  // Written once: a write at every start would wait for other writers.
  if (find.get() === undefined)
    database
      .prepare("INSERT OR IGNORE INTO meta (name, value) VALUES ('payer_secret', ?)")
      .run(randomBytes(32).toString('hex'))
  return String(find.get()?.['value'])
}

/** What is read from the ledger's file and kept in memory. */
function partsOf(database: DatabaseSync, size: () => number) {
  return {
    database,
    events: openEventReader(database),
    picks: openPickTable(database),
    table: openTruthTable(database, size),
    /** Keys of the truth table that a write has changed. */
    dirty: new Set<string>(),
    secret: ledgerSecret(database),
  }
}

function openParts(options: SqliteGradingStoreOptions) {
  const { busyTimeoutMs = LEDGER.busyTimeoutMs, clock, isImport = false } = options
  const store = openSqliteJournalStore<'ledger'>(
    { ...LEDGER, busyTimeoutMs },
    {
      ...options,
      beforeCommit: () => {
        parts.table.save(parts.dirty)
        parts.dirty.clear()
      },
      onReload: () => {
        parts.dirty.clear()
        parts.events.forget()
        parts.table.reload()
      },
    },
  )
  const { database } = store
  const { ledger } = store.journals
  let parts: ReturnType<typeof partsOf>
  try {
    parts = reading(() => {
      database.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
      if (isImport) database.exec(`PRAGMA wal_autocheckpoint = ${IMPORT_PAGES}`)
      return partsOf(database, () => ledger.size)
    })
  } catch (error) {
    database.close()
    throw error
  }
  let seenMs = 0
  return {
    ...parts,
    store,
    ledger,
    perWrite: isImport ? OBSERVATIONS_PER_IMPORT_WRITE : OBSERVATIONS_PER_WRITE,
    /** For reads, at most once a millisecond: asking SQLite costs more than a grade. */
    freshen: () => {
      const now = clock.unixMs()
      if (now === seenMs) return
      seenMs = now
      reading(() => store.catchUp())
    },
  }
}

/** Opens the store as openSqliteGradingStore does, and counts a table of an earlier version again. */
export async function openSqliteLedger(options: SqliteGradingStoreOptions): Promise<GradingStore> {
  const parts = openParts(options)
  try {
    if (await recountSqliteLedger(parts.database)) parts.table.reload()
    return portOf(parts)
  } catch (error) {
    await parts.store.close()
    throw error
  }
}

/**
 * Opens the store. Throws GradingStoreUnavailable for a file that cannot be opened or is another program's, and for a ledger
 * that does not go on from its last signed checkpoint.
 */
export const openSqliteGradingStore = (options: SqliteGradingStoreOptions): GradingStore =>
  portOf(openParts(options))

function portOf(parts: ReturnType<typeof openParts>): GradingStore {
  const { database, events, freshen, perWrite, secret, store, table } = parts
  const markPayload = database.prepare(
    'INSERT OR IGNORE INTO payloads (raw_sha256, feed, received_at) VALUES (?, ?, ?)',
  )
  const look = async <Result>(run: () => Result | Promise<Result>): Promise<Result> => {
    freshen()
    return reading(run)
  }
  const stored = sqliteLedgerSource(database)
  const source: typeof stored = {
    ...stored,
    read: async (text, values) => {
      freshen()
      return stored.read(text, values)
    },
  }
  const find = openEventSearch(sqliteSearch(database), {
    paths: (text, values) => look(() => events.paths(text, values)),
    pause: nextIteration,
  })
  let searches = 0

  return {
    ...openLedgerReads(source, { store, secret, look }),
    events: (paths) => look(() => paths.map((path) => events.read(path))),
    searchEvents: async (search) => {
      searches += 1
      if (searches % SEARCHES_PER_ITERATION === 0) await nextIteration()
      const paths = await find(search)
      return look(() => events.infos(paths))
    },
    ingest: async ({ observations, ...batch }) => {
      let outcome = NOTHING_INGESTED
      for (let from = 0; from < observations.length; from += perWrite) {
        const slice = observations.slice(from, from + perWrite)
        const added = await store.write(() => ingestSlice(parts, batch, slice))
        outcome = addIngested(outcome, added)
      }
      return outcome
    },
    markPayload: ({ rawSha256, feed, receivedAtSeconds }) =>
      store.write(() => {
        markPayload.run(rawSha256, feed, Math.floor(receivedAtSeconds))
      }),
    keepPick: (pick, commit) => store.write(() => keepPick(parts, pick, commit)),
    truth: () => look(() => table.truth),
    close: () => store.close(),
  }
}
