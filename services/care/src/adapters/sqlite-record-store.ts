// The record store on SQLite. This file joins its halves over the journal store: sqlite-append.ts, sqlite-reads.ts, and what
// both engines share, record-verify.ts and record-export.ts.
import type { DatabaseSync } from 'node:sqlite'
import {
  createBodySeal,
  openSqliteJournalReader,
  openSqliteJournalStore,
  type SqliteJournalReader,
  type SqliteStoreOptions,
  sealReceipt,
} from '@tallystick/journal-store'
import type { RecordStore } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { reconcileSqliteErasures } from './chain-erasure.ts'
import { type ChainKeys, openChainKeys } from './chain-keys.ts'
import { createJournalProofs } from './journal-proofs.ts'
import type { AppendOptions } from './record-append.ts'
import { exportRecordLines } from './record-export.ts'
import { verifyAdded, verifyChains } from './record-verify.ts'
import { SqliteAppender } from './sqlite-append.ts'
import { createSqliteReads } from './sqlite-reads.ts'
import {
  chainKeysPath,
  guarded,
  guardedNow,
  guardedStream,
  RECORDS,
} from './sqlite-record-database.ts'
import { prepareStatements, sqliteRows } from './sqlite-statements.ts'
import { watchSqliteFile } from './watch-sqlite-file.ts'
import { createSqliteOutbox } from './write-outbox.ts'

export type SqliteRecordStoreOptions = Pick<
  SqliteStoreOptions,
  'databasePath' | 'checkpointSeed' | 'origin' | 'keyRing' | 'onProblem'
> &
  Omit<AppendOptions, 'seal'> & {
    /** Where the keys of chains are; beside the database unless it says otherwise. */
    readonly chainKeysPath?: string | undefined
    /** Pages that the database may grow to; tests of a full disk set it. */
    readonly pagesMax?: number
  }

const storedIn = (database: DatabaseSync, keys: ChainKeys | undefined) => ({
  statements: prepareStatements(database),
  seal: keys?.seal ?? createBodySeal(undefined),
  receipt: (body: unknown) => keys?.receipt(body) ?? sealReceipt(body),
})

/** The keys of a store's chains; undefined for one in the clear. */
function keysOf({
  chainKeysPath: path,
  databasePath,
  keyRing,
}: Pick<SqliteRecordStoreOptions, 'chainKeysPath' | 'databasePath' | 'keyRing'>) {
  return keyRing === undefined
    ? undefined
    : openChainKeys(path ?? chainKeysPath(databasePath), keyRing)
}

/** Where verification and export read. */
/** Pages that a connection keeps: a page of a list reads two hundred, all over a large file. */
const CACHE_KIB = 16_384

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
  receipt: stored.receipt,
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
  const keys = keysOf(options)
  const store = openWith(keys, () =>
    openSqliteJournalStore<Audience>(RECORDS, {
      ...options,
      keyRing: keys?.ring,
      neededKeys: keys === undefined ? [] : [keys.fileKeyId],
      beforeCommit: (durability) => {
        if (durability === 'synced') appender.forgetRequests()
        // A version is never without its key.
        keys?.commit()
        watch.beforeOwnCommit()
      },
    }),
  )
  if (keys !== undefined) reconcileSqliteErasures(store.database, keys)
  store.database.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
  const watch = watchSqliteFile(store.database, options.databasePath)
  if (pagesMax !== undefined) store.database.exec(`PRAGMA max_page_count = ${pagesMax}`)
  const stored = storedIn(store.database, keys)
  const { writesAfter, writeBounds } = createSqliteOutbox(store.database)
  const appender = new SqliteAppender({
    store,
    ...stored,
    clock,
    random,
    onCommitted: watch.afterOwnCommit,
  })
  const source = sourceOf(stored, store)
  const proofs = createJournalProofs(source.rows, store.journals)
  return {
    append: (record, request, expectedVersion) =>
      appender.append({ record, request, expectedVersion }),
    noteSubscribers: (request, subscribers) => appender.noteSubscribers(request, subscribers),
    ...createSqliteReads(stored),
    writesAfter,
    writeBounds,
    verify: guardedStream((query) => verifyChains(source, query)),
    verifyAdded: guardedStream((query) => verifyAdded(source, query)),
    rootAt: guarded(proofs.rootAt),
    inclusionProof: guarded(proofs.inclusionProof),
    consistencyProof: guarded(proofs.consistencyProof),
    leaf: guarded(proofs.leaf),
    journalSize: source.journalSize,
    outsideMark: () => guardedNow(watch.mark),
    exportLines: guardedStream((query) => exportRecordLines(source, query)),
    checkpoint: async (audience) => store.checkpoint(audience),
    verifierKey: source.verifierKey,
    sealing: () =>
      keyRing === undefined ? { isSealed: false } : { isSealed: true, keyId: keyRing.activeId },
    close: async () => {
      await store.close()
      keys?.close()
    },
  }
}

/** Opens what needs the keys of chains; they are closed where that fails. */
function openWith<Opened>(keys: ChainKeys | undefined, open: () => Opened): Opened {
  try {
    return open()
  } catch (error) {
    keys?.close()
    throw error
  }
}

/** What can be read beside a running service. */
type SqliteRecordReader = Pick<RecordStore, 'verify' | 'exportLines' | 'close'>

/**
 * Opens a store to read, without its lock, as it is at this moment: what the service appends meanwhile is not seen.
 * Throws RecordStoreUnavailable as opening to write does.
 */
export function openSqliteRecordReader(
  options: Pick<
    SqliteRecordStoreOptions,
    'databasePath' | 'checkpointSeed' | 'origin' | 'keyRing' | 'chainKeysPath'
  >,
): SqliteRecordReader {
  const keys = keysOf(options)
  const reader = openWith(keys, () =>
    openSqliteJournalReader<Audience>(RECORDS, { ...options, keyRing: keys?.ring }),
  )
  const source = sourceOf(storedIn(reader.database, keys), reader)
  return {
    verify: guardedStream((query) => verifyChains(source, query)),
    exportLines: guardedStream((query) => exportRecordLines(source, query)),
    close: async () => {
      reader.close()
      keys?.close()
    },
  }
}
