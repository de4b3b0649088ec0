/**
 * The journal store on PostgreSQL, for several processes: one head row for each journal, locked by whoever appends; reads and
 * wake-ups on connections of their own. Its schema is made by migratePostgresStore, as the owner.
 */
import { type CompactRange, createCompactRange } from '@tallystick/hashchain'
import {
  type CheckpointFile,
  type CheckpointReading,
  checkpointFile,
  type StoreOwner,
} from './checkpoint-file.ts'
import { openGroupCommit } from './group-commit.ts'
import type { Journal, JournalStore } from './journal-store.ts'
import { partsOfRange, proofRanges, rootOfParts } from './merkle-nodes.ts'
import {
  PostgresAppender,
  type PostgresCell,
  type PostgresHead,
  rangeOfRow,
} from './postgres-appender.ts'
import { openPostgresConnection, type PostgresOptions } from './postgres-connection.ts'
import {
  migrationsOf,
  type PostgresJournalTable,
  type PostgresStoreKind,
} from './postgres-store-kind.ts'
import { watchPostgres } from './watch-postgres.ts'

/** Leaf hashes read at once. */
const LEAVES_PER_READ = 10_000

type PostgresStoreOptions = Omit<PostgresOptions, 'Unavailable'> &
  StoreOwner & {
    /** Told of what goes wrong in the background: a checkpoint file that cannot be written, heads that cannot be read. */
    readonly onProblem?: (error: unknown) => void
  }

export { migratePostgresStore, type PostgresStoreKind } from './postgres-store-kind.ts'

export type PostgresJournalStore<Name extends string> = JournalStore<Name, PostgresCell> & {
  /** Brings the heads up to date with what others committed. */
  catchUp(): Promise<void>
  /** Tells of journals that grew, by whoever's hand; returns how to end that. */
  onGrown(listener: () => void): () => void
}

type Reader = ReturnType<typeof openPostgresConnection>
type HeadRow = { readonly name: string; readonly size: number; readonly peaks: Buffer }

async function readHeads(reader: Reader, { schema }: PostgresStoreKind<string>) {
  const rows = await reader.read<HeadRow>(`SELECT name, size, peaks FROM ${schema}.journals`)
  return new Map(rows.map((row) => [row.name, rangeOfRow(row)]))
}

async function requireSchema(reader: Reader, kind: PostgresStoreKind<string>): Promise<void> {
  const [row] = await reader.read<{ readonly value: string }>(
    `SELECT value FROM ${kind.schema}.meta WHERE name = 'schema_version'`,
  )
  const [found, known] = [Number(row?.value ?? 0), migrationsOf(kind).length]
  if (found !== known)
    throw new kind.Unavailable(`its schema is ${found}, that of this program ${known}: migrate it`)
}

type Opened = {
  readonly kind: PostgresStoreKind<string>
  readonly reader: Reader
  readonly appender: PostgresAppender
}

/** A journal as its service sees it. */
function journalOf(head: PostgresHead, { appender, kind, reader }: Opened): Journal<PostgresCell> {
  const table = `${kind.schema}.${head.table.table}`
  const hashes = async (what: string, [from, to]: readonly [number, number]) =>
    to <= from
      ? []
      : (await reader.read<{ readonly hash: Buffer }>(what, [from, to])).map(({ hash }) => hash)
  const rangeRoot = async (from: number, to: number): Promise<Uint8Array> => {
    const { leaves, nodes } = partsOfRange(from, to)
    return rootOfParts(
      await hashes(
        `SELECT hash FROM ${table}_nodes WHERE place >= $1 AND place < $2 ORDER BY place`,
        nodes,
      ),
      await hashes(
        `SELECT leaf_hash AS hash FROM ${table} WHERE at >= $1 AND at < $2 ORDER BY at`,
        leaves,
      ),
    )
  }
  return {
    get size() {
      return appender.headOf(head).size
    },
    rootHash: () => appender.headOf(head).rootHash(),
    append: (leaf, cells) => appender.append(head, leaf, cells),
    rootAt: (size) => rangeRoot(0, size),
    inclusionProof: async (index, size) => {
      const ranges = proofRanges({ index, size }, head.committed.size)
      return Promise.all(ranges.map((range) => rangeRoot(...range)))
    },
  }
}

/** Throws the service's error for a journal that does not go on from the checkpoint that this replica signed last. */
async function requireContinued(
  journal: Journal<PostgresCell>,
  last: CheckpointReading,
  { kind, table }: { kind: PostgresStoreKind<string>; table: PostgresJournalTable },
): Promise<void> {
  if (last.kind === 'absent') return
  let reason = 'its last checkpoint is not signed by its checkpoint key, or was altered'
  if (last.kind === 'checkpoint') {
    const { rootHash, size } = last.checkpoint
    const isHere = size <= journal.size
    if (isHere && Buffer.compare(await journal.rootAt(size), rootHash) === 0) return
    reason = isHere
      ? `its entries do not hash to its last signed checkpoint, of ${size}`
      : `its last signed checkpoint counts ${size} entries, ${journal.size} of them are here`
  }
  throw new kind.Unavailable(
    `${table.noun} is refused: ${reason}. If a backup was restored on purpose, run "${kind.acceptCommand}"`,
  )
}

function filesOf<Name extends string>(
  kind: PostgresStoreKind<Name>,
  owner: StoreOwner,
): ReadonlyMap<string, CheckpointFile> {
  const { Unavailable } = kind
  const tables = Object.entries<PostgresJournalTable>(kind.journals)
  return new Map(
    tables.map(([name, table]) => [name, checkpointFile({ ...table, owner, Unavailable })]),
  )
}

/**
 * Opens a store whose schema is there. Rejects with the service's error where no server takes writes, the schema is another
 * version, or a journal falls short of the checkpoint that this replica signed last.
 */
export async function openPostgresJournalStore<Name extends string>(
  kind: PostgresStoreKind<Name>,
  options: PostgresStoreOptions,
): Promise<PostgresJournalStore<Name>> {
  const { Unavailable } = kind
  const reader = openPostgresConnection({ ...options, Unavailable })
  const connection = openPostgresConnection({ ...options, Unavailable })
  try {
    await requireSchema(reader, kind)
    const files = filesOf(kind, options)
    const readings = new Map([...files].map(([name, file]) => [name, file.read()]))
    const found = await readHeads(reader, kind)
    const heads = Object.entries<PostgresJournalTable>(kind.journals).map(([name, table]) =>
      headOf(name, { table, committed: one(found, name) }),
    )
    const store = storeOf<Name>({ kind, options, reader, connection, files, heads })
    for (const { name, table } of heads) {
      const last = one(readings, name)
      await requireContinued(one(store.journals, name), last, { kind, table })
    }
    return store.open()
  } catch (error) {
    await Promise.all([reader.end(), connection.end()])
    throw error
  }
}

type Parts<Name extends string> = {
  readonly kind: PostgresStoreKind<Name>
  readonly options: PostgresStoreOptions
  readonly reader: Reader
  readonly connection: Reader
  readonly files: ReadonlyMap<string, CheckpointFile>
  readonly heads: readonly PostgresHead[]
}

/** The journals of a store, and the store itself once they were found to go on. */
function storeOf<Name extends string>(parts: Parts<Name>) {
  const { connection, files, heads, kind, options, reader } = parts
  const { onProblem = () => undefined } = options
  const listeners = new Set<() => void>()
  const tell = (): void => {
    for (const listener of listeners) listener()
  }
  const onCommitted = (grown: readonly PostgresHead[]): void => {
    if (grown.length === 0) return
    for (const head of grown) one(files, head.name).renew(() => head.committed, onProblem)
    tell()
    // In a transaction of its own: a NOTIFY takes a lock of the whole server at its commit.
    reader.read('SELECT pg_notify($1, $2)', [kind.schema, '']).catch(onProblem)
  }
  const appender = new PostgresAppender({ kind, connection, heads, onCommitted })
  const journals = new Map(
    heads.map((head) => [head.name, journalOf(head, { kind, reader, appender })]),
  )
  const catchUp = async (): Promise<void> => {
    const now = await readHeads(reader, kind)
    const grown = heads.filter(({ committed, name }) => one(now, name).size > committed.size)
    for (const head of grown) head.committed = one(now, head.name)
    if (grown.length > 0) tell()
  }
  const open = (): PostgresJournalStore<Name> => {
    const { schema, Unavailable, writesPerCommitMax: writesMax } = kind
    const watch = watchPostgres({
      ...options,
      channel: schema,
      Unavailable,
      look: catchUp,
      onProblem,
    })
    const queue = openGroupCommit({ writeTogether: appender.writeTogether, writesMax, Unavailable })
    const close = async (): Promise<void> => {
      await queue.close()
      await Promise.all([...files.values()].map((file) => file.flush()))
      await Promise.all([watch.end(), reader.end(), connection.end()])
    }
    let closing: Promise<void> | undefined
    return {
      journals: Object.fromEntries(journals) as Readonly<Record<Name, Journal<PostgresCell>>>,
      write: queue.write,
      checkpoint: (name) => one(files, name).sign(headNamed(heads, name).committed),
      verifierKey: (name) => one(files, name).verifierKey,
      catchUp,
      onGrown: (listener) => {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
      close: () => (closing ??= close()),
    }
  }
  return { journals, open }
}

function one<Value>(all: ReadonlyMap<string, Value>, name: string): Value {
  const found = all.get(name)
  if (found === undefined) throw new Error(`there is no journal ${name}`)
  return found
}

const headNamed = (heads: readonly PostgresHead[], name: string): PostgresHead =>
  one(new Map(heads.map((head) => [head.name, head])), name)

function headOf(
  name: string,
  { table, committed }: { table: PostgresJournalTable; committed: CompactRange },
): PostgresHead {
  return { name, table, committed, pending: committed, leaves: [], nodes: [], rows: [] }
}

/**
 * Signs the journals as they are found, so that a restored backup opens again on this replica. Entries must be there without gaps
 * and come to the stored head. Rejects with the service's error.
 */
export async function acceptPostgresBackup<Name extends string>(
  kind: PostgresStoreKind<Name>,
  options: PostgresStoreOptions,
): Promise<
  ReadonlyMap<string, { readonly size: number; readonly signedSize: number | undefined }>
> {
  const { Unavailable } = kind
  const reader = openPostgresConnection({ ...options, Unavailable })
  try {
    const heads = await readHeads(reader, kind)
    const files = filesOf(kind, options)
    const accepted = new Map<string, { size: number; signedSize: number | undefined }>()
    for (const [name, table] of Object.entries<PostgresJournalTable>(kind.journals)) {
      const range = await countLeaves(reader, kind, table)
      const head = one(heads, name)
      if (range.size !== head.size || Buffer.compare(range.rootHash(), head.rootHash()) !== 0)
        throw new Unavailable(`${table.noun} has gaps: its entries do not come to its head`)
      const last = one(files, name).read()
      one(files, name).write(range)
      const signedSize = last.kind === 'checkpoint' ? last.checkpoint.size : undefined
      accepted.set(name, { size: range.size, signedSize })
    }
    return accepted
  } finally {
    await reader.end()
  }
}

/** Reads all leaves of a journal, which must be there without gaps. */
async function countLeaves(
  reader: Reader,
  kind: PostgresStoreKind<string>,
  { noun, table }: PostgresJournalTable,
): Promise<CompactRange> {
  const range = createCompactRange()
  for (;;) {
    const rows = await reader.read<{ readonly at: number; readonly leaf_hash: Buffer }>(
      `SELECT at, leaf_hash FROM ${kind.schema}.${table} WHERE at >= $1 ORDER BY at LIMIT ${LEAVES_PER_READ}`,
      [range.size],
    )
    for (const { at, leaf_hash: leaf } of rows) {
      if (at !== range.size)
        throw new kind.Unavailable(`${noun} has gaps: entry ${range.size} is gone`)
      range.append(leaf)
    }
    if (rows.length < LEAVES_PER_READ) return range
  }
}
