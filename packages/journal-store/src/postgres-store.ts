/**
 * The store on PostgreSQL, for several processes. Each journal has one head row, which whoever appends locks; postgres-commit.ts
 * does that. Reads, wake-ups and the service's own rows have connections of their own. The owner makes the schema with
 * migratePostgresStore.
 */
import { type CompactRange, createCompactRange } from '@tallystick/hashchain'
import { type CheckpointFile, renewGrown, requireContinued } from './checkpoint-file.ts'
import { eachJournal, eachJournalInTurn, LEAVES_PER_READ, openCommittedJournal } from './journal.ts'
import { PostgresCommit } from './postgres-commit.ts'
import { PostgresConnection, type PostgresQuery, type PostgresRun } from './postgres-connection.ts'
import { PostgresDoor, type PostgresOptions } from './postgres-door.ts'
import { UPKEEP_ANSWER_MS } from './postgres-line.ts'
import {
  findSchemaFault,
  type PostgresJournalTable,
  type PostgresStoreKind,
} from './postgres-store-kind.ts'
import { removeLeftDrafts } from './private-file.ts'
import { nameKey, requireKeys } from './seal-keys.ts'
import type { Durability, GroupMemory, Rows, Store, StoreReader } from './store.ts'
import { openCheckpointFiles, type StoreOpening } from './store-kind.ts'
import { watchPostgres } from './watch-postgres.ts'
import { type Heads, headsInRows, keepHeads, openWriteQueue } from './write-group.ts'

export type PostgresReaderOptions = Omit<PostgresOptions, 'Unavailable'> & StoreOpening

export type PostgresOpening<Name extends string, Memory, Needs> = PostgresReaderOptions & {
  readonly memory: GroupMemory<Name, Memory, Needs>
  /** The door that other connections of the process use, too; by default one of its own. */
  readonly door?: PostgresDoor
  /** For tests of slow writes, milliseconds. */
  readonly runMs?: number
}

export type PostgresStoreReader<Name extends string> = StoreReader<Name> & {
  readonly checkpointFiles: Readonly<Record<Name, CheckpointFile>>
  /** The rows of one statement, as objects. */
  readonly read: PostgresQuery
}

export type PostgresStore<Name extends string, Memory, Needs> = Store<Name, Memory, Needs> &
  PostgresStoreReader<Name> & {
    /**
     * Writes the service's own rows in transactions without the heads, one after another. A run may happen twice if only the
     * answer of its COMMIT was lost.
     */
    writeRows<Result>(run: PostgresRun<Result>, durability?: Durability): Promise<Result>
  }

/** Where a store's schema is read. */
type PostgresSource<Name extends string> = {
  readonly kind: PostgresStoreKind<Name>
  readonly rows: Rows
}

/** The committed heads. Rejects with the service's error if one is missing. */
export async function readHeads<Name extends string>({
  kind,
  rows,
}: PostgresSource<Name>): Promise<Heads<Name>> {
  const found = await rows<readonly [string, number, Uint8Array]>(
    `SELECT name, size, peaks FROM ${kind.schema}.journals`,
  )
  return headsInRows(kind, found)
}

/** Rejects with the service's error for a schema that is not the program's. */
async function requireSchema({ kind, rows }: PostgresSource<string>): Promise<void> {
  const fault = await findSchemaFault(rows, kind)
  if (fault !== undefined) throw new kind.Unavailable(fault)
}

/** Counts all leaves of a journal; rejects with the service's error if any are missing. */
export async function countLeaves(
  { kind, rows }: PostgresSource<string>,
  { noun, table }: PostgresJournalTable,
): Promise<CompactRange> {
  const range = createCompactRange()
  for (;;) {
    const found = await rows<readonly [number, Uint8Array]>(
      `SELECT at, leaf_hash FROM ${kind.schema}.${table} WHERE at >= $1 ORDER BY at LIMIT ${LEAVES_PER_READ}`,
      [range.size],
    )
    for (const [at, leaf] of found) {
      if (at !== range.size)
        throw new kind.Unavailable(`${noun} has gaps: entry ${range.size} is gone`)
      range.append(leaf)
    }
    if (found.length < LEAVES_PER_READ) return range
  }
}

/** Reads the heads of a store and compares them with this replica's checkpoints. */
async function openReader<Name extends string>(
  kind: PostgresStoreKind<Name>,
  options: PostgresReaderOptions & { readonly door?: PostgresDoor },
) {
  const { schema, Unavailable } = kind
  const { door = new PostgresDoor({ ...options, Unavailable }) } = options
  const connections: PostgresConnection[] = []
  const connect = (): PostgresConnection => {
    const made = new PostgresConnection(door, { schema })
    connections.push(made)
    return made
  }
  const end = async (): Promise<void> => {
    await Promise.all(connections.map((connection) => connection.end()))
  }
  const { read, tuples: rows } = connect()
  try {
    await requireSchema({ kind, rows })
    await requireKeys(rows, options.keyRing, kind)
    const files = openCheckpointFiles(kind, options)
    // Before the heads: another process may append and sign in between.
    const readings = eachJournal(kind, (_, name) => files[name].read())
    const heads = keepHeads(await readHeads({ kind, rows }), options.onProblem)
    const journals = eachJournal(kind, ({ table }, name) =>
      openCommittedJournal(rows, {
        table: `${schema}.${table}`,
        head: heads.reader(name),
        file: files[name],
      }),
    )
    if (options.checkpoint !== 'unchecked')
      await eachJournalInTurn(kind, ({ noun }, name) =>
        requireContinued(readings[name], { journal: journals[name], noun }, kind),
      )
    const reader = { journals, checkpointFiles: files, read, rows }
    return { heads, reader, connect, door, end }
  } catch (error) {
    await end()
    throw error
  }
}

/**
 * Opens a store to read as it is at this moment, even beside running services. Rejects with the service's error, as opening to
 * write does.
 */
export async function openPostgresStoreReader<Name extends string>(
  kind: PostgresStoreKind<Name>,
  options: PostgresReaderOptions,
): Promise<PostgresStoreReader<Name>> {
  const { end, reader } = await openReader(kind, { answerMs: UPKEEP_ANSWER_MS, ...options })
  return { ...reader, close: end }
}

/**
 * Opens a store whose schema exists. Rejects with the service's error if no server takes writes, the schema has another
 * version, a seal key is missing, or a journal falls short of the last checkpoint that this replica signed.
 */
export async function openPostgresStore<Name extends string, Memory, Needs>(
  kind: PostgresStoreKind<Name>,
  options: PostgresOpening<Name, Memory, Needs>,
): Promise<PostgresStore<Name, Memory, Needs>> {
  removeLeftDrafts(options.databasePath)
  const opened = await openReader(kind, options)
  try {
    for (const { text, values } of nameKey(kind, options.keyRing))
      await opened.reader.rows(text, values)
    return await openWriter(kind, options, opened)
  } catch (error) {
    await opened.end()
    throw error
  }
}

async function openWriter<Name extends string, Memory, Needs>(
  kind: PostgresStoreKind<Name>,
  options: PostgresOpening<Name, Memory, Needs>,
  { connect, door, end, heads, reader }: Awaited<ReturnType<typeof openReader<Name>>>,
): Promise<PostgresStore<Name, Memory, Needs>> {
  const { onProblem = () => undefined } = options
  const { schema, Unavailable, writesPerCommitMax: writesMax } = kind
  /** Heads only grow: a look and a commit may cross. */
  const takeNewer = (found: Heads<Name>): readonly Name[] => {
    const known = heads.now()
    return heads.take(
      eachJournal(kind, (_, name) => (found[name].size > known[name].size ? found : known)[name]),
    )
  }
  const renew = renewGrown(reader.checkpointFiles, heads, onProblem)
  const commit = new PostgresCommit<Name, Memory, Needs>({
    kind,
    connection: connect(),
    memory: options.memory,
    runMs: options.runMs,
    heads: heads.now,
    onCommitted: (found, adopt) => {
      const grown = takeNewer(found)
      renew(grown)
      heads.attempt(adopt)
      heads.tell(grown)
    },
    onProblem,
  })
  const ownRows = connect()
  const catchUp = async (rows = reader.rows, isLook = false): Promise<void> => {
    const now = await readHeads({ kind, rows })
    // The answer to our COMMIT will report our entries, and what others committed before them. The next look sees the rest.
    if (isLook && commit.isCommitting) return
    heads.tell(takeNewer(now))
  }
  const watch = await watchPostgres(door, {
    channel: schema,
    ownName: commit.writer,
    onProblem,
    look: ({ tuples }) => catchUp(tuples, true),
  })
  const queue = openWriteQueue<Name, Memory, Needs>({
    writesMax,
    Unavailable,
    commit: commit.commit,
  })
  const close = async (): Promise<void> => {
    await queue.close()
    await eachJournalInTurn(kind, (_, name) => reader.checkpointFiles[name].flush())
    await Promise.all([watch.end(), end()])
  }
  let closing: Promise<void> | undefined
  return {
    ...reader,
    write: queue.write,
    writeRows: (run, durability) => ownRows.transaction(run, durability),
    note: async (text, values) => {
      await ownRows.transaction((query) => query(text, values), 'relaxed')
    },
    catchUp: () => catchUp(),
    onGrown: heads.onGrown,
    close: () => (closing ??= close()),
  }
}
