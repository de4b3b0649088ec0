// The record store on SQLite. This file joins its halves over the journal store: sqlite-append.ts, sqlite-reads.ts, and what
// both engines share, record-verify.ts and record-export.ts.
import type { DatabaseSync } from 'node:sqlite'
import type { KeyRing } from '@tallystick/hashchain'
import {
  createBodySeal,
  openSqliteJournalReader,
  openSqliteJournalStore,
  type SqliteJournalReader,
  type SqliteStoreOptions,
} from '@tallystick/journal-store'
import type { RecordStore } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import type { AppendOptions } from './record-append.ts'
import { exportRecordLines } from './record-export.ts'
import { verifyAdded, verifyChains } from './record-verify.ts'
import { SqliteAppender } from './sqlite-append.ts'
import { createSqliteReads } from './sqlite-reads.ts'
import { guardedNow, guardedStream, RECORDS } from './sqlite-record-database.ts'
import { prepareStatements, sqliteRows } from './sqlite-statements.ts'
import { watchSqliteFile } from './watch-sqlite-file.ts'

export type SqliteRecordStoreOptions = Pick<
  SqliteStoreOptions,
  'databasePath' | 'checkpointSeed' | 'origin' | 'keyRing' | 'onProblem'
> &
  Omit<AppendOptions, 'seal'> & {
    /** Pages that the database may grow to; tests of a full disk set it. */
    readonly pagesMax?: number
  }

const storedIn = (database: DatabaseSync, keyRing: KeyRing | undefined) => ({
  statements: prepareStatements(database),
  seal: createBodySeal(keyRing),
})

/** Where verification and export read. */
const sourceOf = (
  stored: ReturnType<typeof storedIn>,
  {
    checkpoint,
    checkpointFiles,
    journals,
  }: Omit<SqliteJournalReader<Audience>, 'database' | 'close'>,
) => ({
  rows: sqliteRows(stored.statements),
  seal: stored.seal,
  journalSize: (audience: Audience) => journals[audience].size,
  verifierKey: (audience: Audience) => checkpointFiles[audience].verifierKey,
  checkpoint,
})

/**
 * Opens the store, making it where there is none. Throws RecordStoreUnavailable where another process has it, the file is
 * damaged, a key is missing, or a journal falls short of its last signed checkpoint. A version that was altered does not
 * keep it from opening: it is reported as BROKEN.
 */
export function openSqliteRecordStore(options: SqliteRecordStoreOptions): RecordStore {
  const { clock, keyRing, pagesMax, random } = options
  const store = openSqliteJournalStore<Audience>(RECORDS, {
    ...options,
    beforeCommit: (durability) => {
      if (durability === 'synced') appender.forgetRequests()
      watch.beforeOwnCommit()
    },
  })
  const watch = watchSqliteFile(store.database, options.databasePath)
  if (pagesMax !== undefined) store.database.exec(`PRAGMA max_page_count = ${pagesMax}`)
  const stored = storedIn(store.database, keyRing)
  const appender = new SqliteAppender({
    store,
    ...stored,
    clock,
    random,
    onCommitted: watch.afterOwnCommit,
  })
  const source = sourceOf(stored, store)
  return {
    append: (record, request) => appender.append(record, request),
    noteSubscribers: (request, subscribers) => appender.noteSubscribers(request, subscribers),
    ...createSqliteReads(stored),
    verify: guardedStream((query) => verifyChains(source, query)),
    verifyAdded: guardedStream((query) => verifyAdded(source, query)),
    journalSize: source.journalSize,
    outsideMark: () => guardedNow(watch.mark),
    exportLines: guardedStream((query) => exportRecordLines(source, query)),
    checkpoint: async (audience) => store.checkpoint(audience),
    verifierKey: source.verifierKey,
    sealing: () =>
      keyRing === undefined ? { isSealed: false } : { isSealed: true, keyId: keyRing.activeId },
    close: () => store.close(),
  }
}

/** What can be read beside a running service. */
type SqliteRecordReader = Pick<RecordStore, 'verify' | 'exportLines' | 'close'>

/**
 * Opens a store to read, without its lock, as it is at this moment: what the service appends meanwhile is not seen.
 * Throws RecordStoreUnavailable as opening to write does.
 */
export function openSqliteRecordReader(
  options: Pick<SqliteRecordStoreOptions, 'databasePath' | 'checkpointSeed' | 'origin' | 'keyRing'>,
): SqliteRecordReader {
  const reader = openSqliteJournalReader<Audience>(RECORDS, options)
  const source = sourceOf(storedIn(reader.database, options.keyRing), reader)
  return {
    verify: guardedStream((query) => verifyChains(source, query)),
    exportLines: guardedStream((query) => exportRecordLines(source, query)),
    close: async () => reader.close(),
  }
}
