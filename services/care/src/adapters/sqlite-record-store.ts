// The record store on SQLite: how its file is opened, written to and erased from. The rest is record-engine.ts.
import type { DatabaseSync } from 'node:sqlite'
import {
  openSqliteFile,
  openSqliteJournalReader,
  openSqliteJournalStore,
  type SqliteStoreOptions,
  sqliteAtOnce,
  sqliteTuples,
} from '@tallystick/journal-store'
import type { DoneBy, KeptFree, RecordStore } from '../domain/record-store.ts'
import type { ChainSlot, NamedChain } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import type { AppendOptions } from './append-outcome.ts'
import {
  type ErasedChain,
  eraseChainOf,
  type MarkedStore,
  reconcileErasures,
} from './chain-erasure.ts'
import { type FreedChain, freeChainOf, freesIn } from './chain-freeing.ts'
import type { ChainKeys } from './chain-keys.ts'
import { RecordAppender } from './record-append.ts'
import {
  createRecordReader,
  createRecordStore,
  type KeptKeys,
  openWithKeys,
  type RecordReader,
  sealsOf,
} from './record-engine.ts'
import { type RecordSource, sqliteSource } from './record-sql.ts'
import { guarded, guardedNow, RECORDS } from './sqlite-record-database.ts'
import { watchSqliteFile } from './watch-sqlite-file.ts'

export type SqliteRecordStoreOptions = Pick<
  SqliteStoreOptions,
  'databasePath' | 'checkpointSeed' | 'origin' | 'keyRing' | 'onProblem'
> &
  Omit<AppendOptions, 'seals'> &
  KeptKeys & {
    /** Pages that the database may grow to; tests of a full disk set it. */
    readonly pagesMax?: number
  }

/** Pages that a connection keeps: a page of a list reads two hundred, all over a large file. */
const CACHE_KIB = 16_384

/** Runs statements in one transaction. */
const atOnce = <Result>(database: DatabaseSync, run: (source: RecordSource) => Result): Result =>
  sqliteAtOnce(database, (ask) => run(sqliteSource(ask)))

/**
 * Opens or creates the store. Throws RecordStoreUnavailable if another process has it, the file is damaged, a key is missing,
 * or a journal falls short of its last signed checkpoint. An altered version does not keep the store from opening: it is
 * reported as BROKEN.
 */
export const openSqliteRecordStore = (options: SqliteRecordStoreOptions): RecordStore =>
  openWithKeys(options, (keys) => {
    const { clock, pagesMax, random } = options
    const appender = new RecordAppender({
      sourceOf: sqliteSource,
      seals: sealsOf(keys),
      clock,
      random,
    })
    const store = openSqliteJournalStore<Audience>(RECORDS, {
      ...options,
      keyRing: keys?.ownRing,
      beforeCommit: (transaction) => {
        appender.finish(transaction)
        watch.beforeOwnCommit()
      },
    })
    const { database } = store
    const source = sqliteSource(store.tuples)
    if (keys !== undefined) {
      void keys.rewrap()
      void reconcileErasures(keys.place, { source, atOnce: (run) => atOnce(database, run) })
    }
    database.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
    const watch = watchSqliteFile(database, options.databasePath)
    if (pagesMax !== undefined) database.exec(`PRAGMA max_page_count = ${pagesMax}`)
    const write: typeof store.write = async (run, durability) => {
      const result = await store.write(run, durability)
      watch.afterOwnCommit()
      return result
    }
    const engine = {
      ...store,
      source,
      appender,
      write,
      note: (text: string, values: readonly unknown[]) =>
        write(({ send }) => send(text, values), 'relaxed'),
      outsideMark: () => guardedNow(watch.mark),
    }
    return createRecordStore(engine, keys)
  })

/**
 * Opens a store to read, without its lock, as it is at this moment: it does not show what the service appends meanwhile.
 * Throws RecordStoreUnavailable as opening to write does.
 */
export const openSqliteRecordReader = (
  options: KeptKeys & Pick<SqliteRecordStoreOptions, 'checkpointSeed' | 'origin'>,
): RecordReader =>
  openWithKeys(options, (keys) => {
    const reader = openSqliteJournalReader<Audience>(RECORDS, {
      ...options,
      keyRing: keys?.ownRing,
    })
    return createRecordReader({ ...reader, source: sqliteSource(reader.tuples) }, keys)
  })

/** Runs an operator's work on the records in a file, even of a running service. Rejects with RecordStoreUnavailable. */
const besideService = guarded(
  async <Result>(
    databasePath: string,
    run: (records: MarkedStore) => Promise<Result>,
  ): Promise<Result> => {
    const database = openSqliteFile(databasePath, RECORDS, 'exist')
    try {
      database.exec('PRAGMA secure_delete = ON')
      return await run({
        source: sqliteSource(sqliteTuples(database)),
        atOnce: async (work) => {
          await atOnce(database, work)
          database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
        },
      })
    } finally {
      database.close()
    }
  },
)

/** Erases a chain. */
export const eraseSqliteChain = (
  chain: NamedChain,
  by: DoneBy,
  { databasePath, keys }: { readonly databasePath: string; readonly keys: ChainKeys },
): Promise<ErasedChain> =>
  besideService(databasePath, (records) => eraseChainOf(chain, by, { ...records, keys }))

/** Moves a topic's chain aside. */
export const freeSqliteChain = (
  slot: ChainSlot,
  by: DoneBy,
  { databasePath }: { readonly databasePath: string },
): Promise<FreedChain> => besideService(databasePath, (records) => freeChainOf(slot, by, records))

export const listSqliteFrees = (databasePath: string): Promise<readonly KeptFree[]> =>
  besideService(databasePath, ({ source }) => freesIn(source))
