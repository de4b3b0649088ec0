/**
 * The journal store on SQLite: WAL, synchronous FULL. This file opens and closes it and joins its parts. A kind whose heads
 * are `counted` belongs to one process, which holds a lock and keeps the checkpoint files as new as every commit. If heads are
 * `stored`, several processes may write: each updates its memory inside its transaction, and writes a checkpoint at closing,
 * only if the journal continues from the existing one.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { type CheckpointFile, type CheckpointReading, requireContinued } from './checkpoint-file.ts'
import { type GroupTransaction, inOneTransaction, openGroupCommit } from './group-commit.ts'
import type { Awaitable, Durability, JournalReader, WriteTransaction } from './journal-store.ts'
import { removeLeftDrafts } from './private-file.ts'
import { registerKey, requireKeys } from './sealed-bodies.ts'
import type { TupleQuery } from './sql-connection.ts'
import { guardedTuples, sqliteTuples } from './sqlite-connection.ts'
import { guardsOf, isOfSqlite, openSqliteFile, prepareQuery } from './sqlite-database.ts'
import { keepCheckpoint, openHeads } from './sqlite-heads.ts'
import { openSqliteJournal, type SqliteJournal, type SqliteJournalTable } from './sqlite-journal.ts'
import { type SqliteStoreKind, takeStoreLock } from './sqlite-store-kind.ts'
import { checkpointFilesOf, eachJournal, type StoreOpening, signedJournals } from './store-kind.ts'

type SqliteStoreOptions = StoreOpening

type SqliteWriterOptions<Name extends string> = SqliteStoreOptions & {
  /** Runs last in each transaction, where the service sends all rows that it gathered. */
  readonly beforeCommit?: (transaction: SqliteTransaction<Name>, durability: Durability) => void
}

/** What a write runs with on SQLite: all of it commits with the group. */
type SqliteTransaction<Name extends string> = WriteTransaction<Name, SQLInputValue> & {
  /** Reads, including what earlier writes of the group have changed. */
  readonly tuples: TupleQuery
  /** Runs a statement. */
  readonly send: (text: string, values: readonly unknown[]) => void
}

type SqliteJournalStore<Name extends string> = JournalReader<Name> & {
  readonly database: DatabaseSync
  /** Rows of a statement. */
  readonly tuples: TupleQuery
  /** As in the port; a run is done when it returns. */
  write<Result>(
    run: (transaction: SqliteTransaction<Name>) => Awaitable<Result>,
    durability?: Durability,
  ): Promise<Result>
  readonly journals: Readonly<Record<Name, SqliteJournal>>
  readonly checkpointFiles: Readonly<Record<Name, CheckpointFile>>
  /** Brings memory up to date if another process has written; SQLite itself says whether one has. */
  catchUp(): void
}

/**
 * Opens a store, and makes it if there is none. Throws the service's error if another process has it, the file is damaged, a
 * key is missing, or a journal falls short of its last signed checkpoint.
 */
export function openSqliteJournalStore<Name extends string>(
  kind: SqliteStoreKind<Name>,
  options: SqliteWriterOptions<Name>,
): SqliteJournalStore<Name> {
  const lock = takeStoreLock(kind, options.databasePath)
  try {
    removeLeftDrafts(options.databasePath)
    const database = openSqliteFile(options.databasePath, kind)
    try {
      return guardsOf(kind.Unavailable).guardedNow(() =>
        openOn(database, { kind, options, release: () => lock.release() }),
      )
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

type Opening<Name extends string> = {
  readonly kind: SqliteStoreKind<Name>
  readonly options: SqliteWriterOptions<Name>
  readonly release: () => void
}

function openOn<Name extends string>(
  database: DatabaseSync,
  { kind, options, release }: Opening<Name>,
): SqliteJournalStore<Name> {
  const { onProblem = () => undefined } = options
  const tuples = sqliteTuples(database)
  void requireKeys((text) => database.prepare(text).all(), options.keyRing, kind)
  void registerKey(kind, options.keyRing, tuples)
  const files = checkpointFilesOf(kind, options)
  const readings = eachJournal(kind, (_, name) => files[name].read())
  const heads = openHeads(database, { kind, readings, files })
  const held = eachJournal(kind, (table, name) => openSqliteJournal(database, table, heads[name]))
  const each = eachJournal(kind, (table, name) => ({
    table,
    journal: held[name],
    file: files[name],
    last: readings[name],
  }))
  const all = Object.values<OpenJournal>(each)
  for (const one of all) {
    if (one.table.head === 'counted') one.file.write(one.journal)
    else if (options.checkpoint !== 'unchecked')
      void requireContinued(one.last, { ...one, noun: one.table.noun }, kind)
  }
  const { Unavailable, writesPerCommitMax } = kind
  const send = (text: string, values: readonly unknown[]): void => void tuples(text, values)
  let running = { journals: held, tuples, send }
  const { transaction, catchUp } = transactionOf(database, {
    journals: all,
    onProblem,
    // A new object for each group, so that the service can tell groups apart by it.
    begun: () => (running = { ...running }),
    ending: (durability) => options.beforeCommit?.(running, durability),
  })
  const writeTogether = inOneTransaction(transaction, { Unavailable, onProblem })
  const queue = openGroupCommit({ writeTogether, writesMax: writesPerCommitMax, Unavailable })
  const close = async (): Promise<void> => {
    try {
      await queue.close()
      for (const { file, journal, table } of all) {
        if (table.head === 'counted') await file.flush()
        else
          guardsOf(Unavailable).guardedNow(() => {
            catchUp()
            keepCheckpoint(file, journal)
          })
      }
    } finally {
      database.close()
      release()
    }
  }
  let closing: Promise<void> | undefined
  return {
    database,
    tuples: guardedTuples(tuples, Unavailable),
    ...signedJournals(held, files),
    write: (run, durability) => queue.write(() => run(running), durability),
    catchUp,
    close: () => (closing ??= close()),
  }
}

type OpenJournal = {
  readonly table: SqliteJournalTable
  readonly journal: ReturnType<typeof openSqliteJournal>
  readonly file: CheckpointFile
  readonly last: CheckpointReading
}

/** The transaction of a store's groups, and how memory keeps up with those of other processes. */
function transactionOf(
  database: DatabaseSync,
  of: {
    readonly journals: readonly OpenJournal[]
    readonly onProblem: (error: unknown) => void
    readonly begun: () => void
    readonly ending: (durability: Durability) => void
  },
): { readonly transaction: GroupTransaction; readonly catchUp: () => void } {
  const { begun, ending, journals, onProblem } = of
  const isShared = journals.some(({ table }) => table.head === 'stored')
  const version = prepareQuery<readonly [number]>(database, 'PRAGMA data_version')
  let seenVersion = version.get()?.[0]
  let isRelaxed = false
  const catchUp = (): void => {
    if (!isShared) return
    const current = version.get()?.[0]
    if (current === seenVersion) return
    for (const { journal } of journals) journal.catchUp()
    seenVersion = current
  }
  /** In WAL the next full commit carries a relaxed one to the disk. */
  const relax = (isTo: boolean): void => {
    if (isRelaxed !== isTo) database.exec(`PRAGMA synchronous = ${isTo ? 'NORMAL' : 'FULL'}`)
    isRelaxed = isTo
  }
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')]
  const rollBack = (): void => {
    if (database.isTransaction) database.exec('ROLLBACK')
  }
  const transaction: GroupTransaction = {
    begin: (durability) => {
      rollBack()
      relax(durability === 'relaxed')
      begin.run()
      catchUp()
      begun()
    },
    commit: (durability) => {
      ending(durability)
      for (const { journal } of journals) if (journal.hasGrown()) journal.save()
      commit.run()
    },
    goBack: () => {
      for (const { journal } of journals) journal.goBack()
      rollBack()
      relax(false)
    },
    committed: () => {
      const grown = journals.filter(({ journal }) => journal.hasGrown())
      for (const { journal } of grown) journal.settle()
      for (const { file, journal, table } of grown)
        if (table.head === 'counted') file.renew(() => journal, onProblem)
      relax(false)
    },
    isOfEngine: isOfSqlite,
  }
  return { transaction, catchUp }
}
