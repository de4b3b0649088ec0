/**
 * The journal store on PostgreSQL, for several processes. Each journal has one head row, which an appender locks. Reads,
 * wake-ups and the service's own rows have connections of their own. The owner makes the schema with migratePostgresStore.
 */
import { type CheckpointFile, requireContinued } from './checkpoint-file.ts'
import { openGroupCommit } from './group-commit.ts'
import type { Awaitable, Durability, JournalReader } from './journal-store.ts'
import { PostgresAppender, type PostgresHead } from './postgres-appender.ts'
import { PostgresConnection, type PostgresQuery } from './postgres-connection.ts'
import { PostgresDoor, type PostgresOptions } from './postgres-door.ts'
import type { PostgresTransaction } from './postgres-group.ts'
import { committedJournal, one, readHeads, requireSchema } from './postgres-heads.ts'
import { UPKEEP_ANSWER_MS } from './postgres-line.ts'
import type { PostgresStoreKind } from './postgres-store-kind.ts'
import { removeLeftDrafts } from './private-file.ts'
import { registerKey, requireKeys } from './sealed-bodies.ts'
import {
  checkpointFilesOf,
  eachJournal,
  eachJournalInTurn,
  type StoreOpening,
  signedJournals,
} from './store-kind.ts'
import { watchPostgres } from './watch-postgres.ts'

export type PostgresStoreOptions = Omit<PostgresOptions, 'Unavailable'> & StoreOpening

type PostgresWriterOptions<Name extends string> = PostgresStoreOptions & {
  /** For a service of one process: while it runs, another that opens the store this way is refused. */
  readonly isAlone?: boolean
  /** The door that other connections of the process use, too; by default one of its own. */
  readonly door?: PostgresDoor
  /** Runs last in each transaction, where the service sends all rows that it gathered. */
  readonly beforeCommit?: (
    transaction: PostgresTransaction<Name>,
    durability: Durability,
  ) => Awaitable<void>
}

/** What can be read of a store: committed journals, and whatever the service's role may read. */
export type PostgresJournalReader<Name extends string> = JournalReader<Name> & {
  readonly checkpointFiles: Readonly<Record<Name, CheckpointFile>>
  /** Rows of a statement, with everything that a committed head counts. */
  readonly read: PostgresQuery
  /** The same with rows as arrays. */
  readonly tuples: PostgresConnection['tuples']
}

export type PostgresJournalStore<Name extends string> = PostgresJournalReader<Name> & {
  /** As in the port; a run may also wait for what it reads under the lock of the heads. */
  write<Result>(
    run: (transaction: PostgresTransaction<Name>) => Awaitable<Result>,
    durability?: Durability,
  ): Promise<Result>
  /**
   * Writes the service's own rows in transactions without the heads, one after another. A run may happen twice if only the
   * answer of its COMMIT was lost.
   */
  writeRows<Result>(
    run: (query: PostgresQuery) => Promise<Result>,
    durability?: Durability,
  ): Promise<Result>
  /** Brings the heads up to date with what others committed. */
  catchUp(): Promise<void>
  /** Calls the listener when journals have grown, whoever wrote; what it throws goes to `onProblem`. Returns what stops it. */
  onGrown(listener: () => void): () => void
}

type Opened<Name extends string> = Awaited<ReturnType<typeof openReader<Name>>>

/** Reads the heads of a store and compares them with this replica's checkpoints. */
async function openReader<Name extends string>(
  kind: PostgresStoreKind<Name>,
  options: PostgresStoreOptions & { readonly door?: PostgresDoor },
) {
  const { schema, Unavailable } = kind
  const { door = new PostgresDoor({ ...options, Unavailable }) } = options
  const connections: PostgresConnection[] = []
  const connect = () => {
    const made = new PostgresConnection(door, { schema })
    connections.push(made)
    return made
  }
  const end = async (): Promise<void> => {
    await Promise.all(connections.map((connection) => connection.end()))
  }
  const { read, tuples } = connect()
  const source = { kind, read }
  try {
    await requireSchema(source)
    await requireKeys(source.read, options.keyRing, kind)
    const files = checkpointFilesOf(kind, options)
    // Before the heads: another process may append and sign in between.
    const readings = eachJournal(kind, (_, name) => files[name].read())
    const found = await readHeads(source)
    const held = eachJournal(kind, (table, name) => {
      const head: PostgresHead = { name, table, committed: one(found, name) }
      return { head, journal: committedJournal(source, { table, head: () => head.committed }) }
    })
    const journals = eachJournal(kind, (_, name) => held[name].journal)
    const heads = Object.values<{ readonly head: PostgresHead }>(held).map(({ head }) => head)
    if (options.checkpoint !== 'unchecked')
      await eachJournalInTurn(kind, ({ noun }, name) =>
        requireContinued(readings[name], { journal: journals[name], noun }, kind),
      )
    const reader = { ...signedJournals(journals, files), read, tuples }
    return { source, heads, reader, connect, door, end }
  } catch (error) {
    await end()
    throw error
  }
}

/**
 * Opens a store to read as it is at this moment, even beside running services. Rejects with the service's error, as opening to
 * write does.
 */
export async function openPostgresJournalReader<Name extends string>(
  kind: PostgresStoreKind<Name>,
  options: PostgresStoreOptions,
): Promise<PostgresJournalReader<Name>> {
  const { end, reader } = await openReader(kind, { answerMs: UPKEEP_ANSWER_MS, ...options })
  return { ...reader, close: end }
}

/**
 * Opens a store whose schema exists. Rejects with the service's error if no server takes writes, the schema has another
 * version, a seal key is missing, or a journal falls short of the last checkpoint that this replica signed.
 */
export async function openPostgresJournalStore<Name extends string>(
  kind: PostgresStoreKind<Name>,
  options: PostgresWriterOptions<Name>,
): Promise<PostgresJournalStore<Name>> {
  removeLeftDrafts(options.databasePath)
  const opened = await openReader(kind, options)
  try {
    await registerKey(kind, options.keyRing, opened.source.read)
    return await writerOf(opened, { kind, options })
  } catch (error) {
    await opened.end()
    throw error
  }
}

async function writerOf<Name extends string>(
  { connect, door, end, heads, reader, source }: Opened<Name>,
  of: {
    readonly kind: PostgresStoreKind<Name>
    readonly options: PostgresWriterOptions<Name>
  },
): Promise<PostgresJournalStore<Name>> {
  const { kind, options } = of
  const { onProblem = () => undefined } = options
  const { schema, Unavailable, writesPerCommitMax: writesMax } = kind
  const files: Readonly<Record<string, CheckpointFile>> = reader.checkpointFiles
  const listeners = new Set<() => void>()
  /** What a listener throws is its own bug: the journals have grown all the same (S12). */
  const tellGrown = (): void => {
    for (const listener of listeners)
      try {
        listener()
      } catch (error) {
        onProblem(error)
      }
  }
  const onCommitted = (grown: readonly PostgresHead[]): void => {
    if (grown.length === 0) return
    for (const head of grown) files[head.name]?.renew(() => head.committed, onProblem)
    tellGrown()
  }
  const appender = new PostgresAppender({
    door,
    kind,
    connection: connect(),
    heads,
    onCommitted,
    onProblem,
    beforeCommit: options.beforeCommit,
  })
  const rows = connect()
  const catchUp = async (read = source.read, isLook = false): Promise<void> => {
    const now = await readHeads({ kind, read })
    // The answer to our COMMIT will report our entries, and what others committed before them. The next look sees the rest.
    if (isLook && appender.isCommitting) return
    const grown = heads.filter(({ committed, name }) => one(now, name).size > committed.size)
    for (const head of grown) head.committed = one(now, head.name)
    if (grown.length > 0) tellGrown()
  }
  const ownName = appender.writer
  const watched = { channel: schema, ownName, isAlone: options.isAlone, onProblem }
  const watch = await watchPostgres(door, { ...watched, look: ({ read }) => catchUp(read, true) })
  const queue = openGroupCommit({ writeTogether: appender.writeTogether, writesMax, Unavailable })
  const close = async (): Promise<void> => {
    await queue.close()
    await Promise.all(Object.values(files).map((file) => file.flush()))
    await Promise.all([watch.end(), end()])
  }
  let closing: Promise<void> | undefined
  return {
    ...reader,
    write: (run, durability) => queue.write(() => run(appender.transaction()), durability),
    writeRows: (run, durability) => rows.transaction(run, durability),
    catchUp: () => catchUp(),
    onGrown: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: () => (closing ??= close()),
  }
}
