// The record store on SQLite: how its file is opened, written to and erased from. The rest is record-engine.ts.

import type { DatabaseSync } from 'node:sqlite'
import {
  openSqliteFile,
  openSqliteRows,
  openSqliteStore,
  openSqliteStoreReader,
  openWritingRows,
  type SqliteStoreOpening,
} from '@tallystick/journal-store'
import { type RecordStore, RecordStoreUnavailable } from '../../domain/record-store.ts'
import type { Audience } from '../../wire/audience.ts'
import { guarded, RECORDS } from '../schemas/sqlite-record-database.ts'
import { type MarkedStore, reconcileErasures } from './chain-erasure.ts'
import {
  createRecordReader,
  createRecordStore,
  type KeptKeys,
  openWithKeys,
  type RecordReader,
} from './record-engine.ts'
import { type RecordSource, sqliteSource } from './record-sql.ts'
import { rememberRecords, type WriterOptions } from './record-writer.ts'

export type SqliteRecordStoreOptions = Pick<
  SqliteStoreOpening<Audience, unknown, unknown>,
  'databasePath' | 'checkpointSeed' | 'origin' | 'keyRing' | 'onProblem'
> &
  Omit<WriterOptions, 'seals'> &
  KeptKeys & {
    /** Pages that the database may grow to; tests of a full disk set it. */
    readonly pagesMax?: number
  }

/** Runs statements in one transaction on a connection that nobody else uses. */
async function inTransaction<Result>(
  database: DatabaseSync,
  run: (source: RecordSource) => Promise<Result>,
): Promise<Result> {
  const rows = openWritingRows(database, RecordStoreUnavailable)
  await rows('BEGIN IMMEDIATE')
  try {
    const result = await run(sqliteSource(rows))
    await rows('COMMIT')
    return result
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK')
  }
}

/**
 * Opens or creates the store. Rejects with RecordStoreUnavailable if another process has it, the file is damaged, a key is
 * missing, or a journal falls short of its last signed checkpoint. An altered version does not keep the store from opening: it
 * is reported as BROKEN.
 */
export const openSqliteRecordStore = (options: SqliteRecordStoreOptions): Promise<RecordStore> =>
  openWithKeys(options, async (keys) => {
    const { clock, pagesMax, random } = options
    const store = await openSqliteStore(RECORDS, {
      ...options,
      keyRing: keys?.ownRing,
      memory: rememberRecords(sqliteSource, clock),
    })
    const { database } = store
    const source = sqliteSource(store.rows)
    if (keys !== undefined) {
      await keys.rewrap()
      await reconcileErasures(keys.place, {
        source,
        transaction: (run) => inTransaction(database, run),
      })
    }
    if (pagesMax !== undefined) database.exec(`PRAGMA max_page_count = ${pagesMax}`)
    return createRecordStore({ ...store, source, writing: { clock, random } }, keys)
  })

/**
 * Opens a store to read, without its lock, as it is at this moment: it does not show what the service appends meanwhile.
 * Throws RecordStoreUnavailable as opening to write does.
 */
export const openSqliteRecordReader = (
  options: KeptKeys & Pick<SqliteRecordStoreOptions, 'checkpointSeed' | 'origin'>,
): Promise<RecordReader> =>
  openWithKeys(options, async (keys) => {
    const reader = await openSqliteStoreReader(RECORDS, { ...options, keyRing: keys?.ownRing })
    return createRecordReader({ ...reader, source: sqliteSource(reader.rows) }, keys)
  })

/** Runs an operator's work on the records in a file, even of a running service. Rejects with RecordStoreUnavailable. */
export const withSqliteRecords = guarded(
  async <Result>(
    databasePath: string,
    run: (records: MarkedStore) => Promise<Result>,
  ): Promise<Result> => {
    const database = openSqliteFile(databasePath, RECORDS, 'exist')
    try {
      database.exec('PRAGMA secure_delete = ON')
      return await run({
        source: sqliteSource(openSqliteRows(database, RecordStoreUnavailable)),
        transaction: async (work) => {
          const result = await inTransaction(database, work)
          database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
          return result
        },
      })
    } finally {
      database.close()
    }
  },
)
