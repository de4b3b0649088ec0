/**
 * The store on SQLite: WAL, synchronous FULL. A group is read and decided (which may await), then written in one synchronous
 * step from BEGIN to COMMIT, so that no transaction is open while others run. Only the queue uses the writing connection; reads
 * have one of their own, and see only what is committed. A store of one process holds a lock file, and keeps the checkpoint
 * files as new as every commit. Where several processes write, a group is decided under the file's own lock, and each process
 * writes its checkpoints at closing.
 */
import { DatabaseSync } from 'node:sqlite'
import {
  type CheckpointFile,
  type CheckpointReading,
  renewGrown,
  requireContinued,
} from './checkpoint-file.ts'
import { eachJournal, eachJournalInTurn, openCommittedJournal } from './journal.ts'
import { besideDatabase, removeLeftDrafts } from './private-file.ts'
import { nameKey, requireKeys } from './seal-keys.ts'
import { SqliteCommit } from './sqlite-commit.ts'
import { askOn, explainSqlite, openSqliteRows, runAtOnce } from './sqlite-connection.ts'
import { openSqliteFile, openSqliteReader, takeSqliteLock } from './sqlite-database.ts'
import {
  keepCheckpoint,
  readCountedHeads,
  readStoredHeads,
  type SqliteKind,
} from './sqlite-journals.ts'
import type { GroupMemory, Rows, Store, StoreReader } from './store.ts'
import { openCheckpointFiles, type StoreOpening } from './store-kind.ts'
import { keepHeads, openWriteQueue } from './write-group.ts'

export type SqliteStoreOpening<Name extends string, Memory, Needs> = StoreOpening & {
  readonly memory: GroupMemory<Name, Memory, Needs>
  /** For tests of slow writes, milliseconds. */
  readonly runMs?: number
}

export type SqliteStore<Name extends string, Memory, Needs> = Store<Name, Memory, Needs> & {
  /** The writing connection; between groups nothing is open on it. */
  readonly database: DatabaseSync
  /** The connection that reads. */
  readonly reading: DatabaseSync
  readonly checkpointFiles: Readonly<Record<Name, CheckpointFile>>
  /** A different text once anything but this store has changed the file. The first call begins to watch. */
  readonly outsideMark: () => string
}

/** Takes the store's lock if its kind has one; throws the service's error at once if another process holds it. */
export const takeStoreLock = (
  kind: Pick<SqliteKind<string>, 'isAlone' | 'Unavailable'>,
  databasePath: string,
) =>
  takeSqliteLock(kind.isAlone ? besideDatabase(databasePath, '.lock') : undefined, kind.Unavailable)

/**
 * Opens a store, and makes it if there is none. Rejects with the service's error if another process has it, the file is
 * damaged, a key is missing, or a journal falls short of its last signed checkpoint.
 */
export async function openSqliteStore<Name extends string, Memory, Needs>(
  kind: SqliteKind<Name>,
  options: SqliteStoreOpening<Name, Memory, Needs>,
): Promise<SqliteStore<Name, Memory, Needs>> {
  const lock = takeStoreLock(kind, options.databasePath)
  let database: DatabaseSync | undefined
  try {
    removeLeftDrafts(options.databasePath)
    database = openSqliteFile(options.databasePath, kind)
    const opened = await openOn(database, kind, options)
    return {
      ...opened,
      close: once(async () => {
        try {
          await opened.close()
        } finally {
          lock.release()
        }
      }),
    }
  } catch (error) {
    if (database?.isOpen === true) database.close()
    lock.release()
    throw explainSqlite(kind.Unavailable)(error)
  }
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => (running ??= run())
}

/**
 * The connection that reads. A file in memory has only the writing one, on which nothing is open between groups; what a group
 * writes and commits in one step is never half seen there either.
 */
function openReading<Name extends string>(
  database: DatabaseSync,
  { cacheKib, Unavailable }: SqliteKind<Name>,
  databasePath: string,
) {
  const isInMemory = besideDatabase(databasePath, '') === undefined
  const reading = isInMemory
    ? database
    : new DatabaseSync(databasePath, { readOnly: true, timeout: READ_TIMEOUT_MS })
  if (cacheKib !== undefined) reading.exec(`PRAGMA cache_size = -${cacheKib}`)
  return {
    database: reading,
    rows: openSqliteRows(reading, Unavailable),
    close: (): void => {
      if (!isInMemory) reading.close()
    },
  }
}

/** In WAL a reader waits for nobody but a recovery. */
const READ_TIMEOUT_MS = 2_000

async function openOn<Name extends string, Memory, Needs>(
  database: DatabaseSync,
  kind: SqliteKind<Name>,
  options: SqliteStoreOpening<Name, Memory, Needs>,
): Promise<SqliteStore<Name, Memory, Needs>> {
  const { isAlone, Unavailable, writesPerCommitMax: writesMax } = kind
  const { onProblem = () => undefined } = options
  const ask = askOn(database)
  if (kind.cacheKib !== undefined) database.exec(`PRAGMA cache_size = -${kind.cacheKib}`)
  await requireKeys(openSqliteRows(database, kind.Unavailable), options.keyRing, kind)
  runAtOnce(database, nameKey(kind, options.keyRing))
  const files = openCheckpointFiles(kind, options)
  const readings = eachJournal(kind, (_, name) => files[name].read())
  const heads = keepHeads(
    isAlone ? readCountedHeads(ask, kind, { readings, files }) : readStoredHeads(ask, kind),
    onProblem,
  )
  const reading = openReading(database, kind, options.databasePath)
  try {
    const writer = new SqliteCommit({ ask, database, heads, kind, opening: options })
    const journals = eachJournal(kind, ({ table }, name) =>
      openCommittedJournal(reading.rows, {
        table,
        head: heads.reader(name),
        file: files[name],
      }),
    )
    await eachJournalInTurn(kind, async ({ noun }, name) => {
      if (isAlone) files[name].write(journals[name])
      else if (options.checkpoint !== 'unchecked')
        await requireContinued(readings[name], { journal: journals[name], noun }, kind)
    })
    if (isAlone) heads.onGrown(renewGrown(files, heads, onProblem))
    const queue = openWriteQueue<Name, Memory, Needs>({
      writesMax,
      Unavailable,
      commit: writer.commit,
    })
    const close = async (): Promise<void> => {
      try {
        await queue.close()
        await writer.catchUp()
        await eachJournalInTurn(kind, (_, name) =>
          isAlone ? files[name].flush() : keepCheckpoint(files[name], journals[name]),
        )
      } finally {
        reading.close()
        database.close()
      }
    }
    return {
      database,
      reading: reading.database,
      journals,
      checkpointFiles: files,
      rows: reading.rows,
      write: queue.write,
      note: queue.note,
      catchUp: writer.catchUp,
      outsideMark: writer.outsideMark,
      onGrown: heads.onGrown,
      close,
    }
  } catch (error) {
    reading.close()
    throw error
  }
}

type SqliteStoreReader<Name extends string> = StoreReader<Name> & {
  readonly database: DatabaseSync
}

/**
 * Opens a store to read, without its lock, as it is at this moment: later appends of a service are not seen. Rejects with the
 * service's error, as opening to write does.
 */
export async function openSqliteStoreReader<Name extends string>(
  kind: SqliteKind<Name>,
  options: Pick<
    StoreOpening,
    'databasePath' | 'checkpointSeed' | 'origin' | 'keyRing' | 'checkpoint'
  >,
): Promise<SqliteStoreReader<Name>> {
  const files = openCheckpointFiles(kind, options)
  // Read before the snapshot, which then holds at least what they count.
  const readings: Readonly<Record<Name, CheckpointReading>> = eachJournal(kind, (_, name) =>
    files[name].read(),
  )
  const database = openSqliteReader(options.databasePath, kind)
  try {
    database.exec('BEGIN')
    const rows: Rows = openSqliteRows(database, kind.Unavailable)
    await requireKeys(rows, options.keyRing, kind)
    const ask = askOn(database)
    const heads = kind.isAlone
      ? readCountedHeads(ask, kind, { readings, files })
      : readStoredHeads(ask, kind)
    const journals = eachJournal(kind, ({ table }, name) =>
      openCommittedJournal(rows, { table, head: () => heads[name], file: files[name] }),
    )
    return {
      database,
      rows,
      journals,
      close: async () => database.close(),
    }
  } catch (error) {
    database.close()
    throw explainSqlite(kind.Unavailable)(error)
  }
}
