/** Heads of journals on PostgreSQL: read at opening, held against the last signed checkpoints, and roots and proofs below them. */
import { type CompactRange, createCompactRange } from '@tallystick/hashchain'
import {
  type CheckpointFile,
  type CheckpointReading,
  checkpointFile,
  refuseJournal,
  type StoreOwner,
} from './checkpoint-file.ts'
import type { Journal } from './journal-store.ts'
import { consistencyRanges, partsOfRange, proofRanges, rootOfParts } from './merkle-nodes.ts'
import type { PostgresQuery } from './postgres-connection.ts'
import { type HeadRow, rangeOfRow } from './postgres-group.ts'
import {
  migrationsOf,
  type PostgresJournalTable,
  type PostgresStoreKind,
} from './postgres-store-kind.ts'

/** Leaf hashes read at once. */
const LEAVES_PER_READ = 10_000

/** Where a store's schema is read. */
export type PostgresSource = {
  readonly kind: PostgresStoreKind<string>
  readonly read: PostgresQuery
}

/** The value of a name; a bug where there is none. */
export function one<Value>(all: ReadonlyMap<string, Value>, name: string): Value {
  const found = all.get(name)
  if (found === undefined) throw new Error(`there is no journal ${name}`)
  return found
}

/** The heads as they are committed, by name. */
export async function readHeads({
  kind,
  read,
}: PostgresSource): Promise<ReadonlyMap<string, CompactRange>> {
  const rows = await read<HeadRow>(`SELECT name, size, peaks FROM ${kind.schema}.journals`)
  return new Map(rows.map((row) => [row.name, rangeOfRow(row)]))
}

/** Rejects with the service's error for a schema of another version. */
export async function requireSchema({ kind, read }: PostgresSource): Promise<void> {
  const [row] = await read<{ readonly value: string }>(
    `SELECT value FROM ${kind.schema}.meta WHERE name = 'schema_version'`,
  )
  const [found, known] = [Number(row?.value ?? 0), migrationsOf(kind).length]
  if (found !== known)
    throw new kind.Unavailable(`its schema is ${found}, that of this program ${known}: migrate it`)
}

/** The checkpoint files of this replica, by journal. */
export function postgresFilesOf(
  { Unavailable, journals }: PostgresStoreKind<string>,
  owner: StoreOwner,
): ReadonlyMap<string, CheckpointFile> {
  return new Map(
    Object.entries(journals).map(([name, table]) => [
      name,
      checkpointFile({ ...table, owner, Unavailable }),
    ]),
  )
}

/** A journal as its service sees it; `head` is as it was last seen committed. */
export function committedJournal(
  { kind, read }: PostgresSource,
  of: { readonly table: PostgresJournalTable; readonly head: () => CompactRange },
): Journal {
  const table = `${kind.schema}.${of.table.table}`
  const hashes = async (what: string, [from, to]: readonly [number, number]) =>
    to <= from
      ? []
      : (await read<{ readonly hash: Buffer }>(what, [from, to])).map(({ hash }) => hash)
  const rangeRoot = async (from: number, to: number): Promise<Uint8Array> => {
    const { leaves, nodes } = partsOfRange(from, to)
    const [above, behind] = await Promise.all([
      hashes(
        `SELECT hash FROM ${table}_nodes WHERE place >= $1 AND place < $2 ORDER BY place`,
        nodes,
      ),
      hashes(
        `SELECT leaf_hash AS hash FROM ${table} WHERE at >= $1 AND at < $2 ORDER BY at`,
        leaves,
      ),
    ])
    return rootOfParts(above, behind)
  }
  return {
    get size() {
      return of.head().size
    },
    rootHash: () => of.head().rootHash(),
    rootAt: (size) => rangeRoot(0, size),
    inclusionProof: async (index, size) => {
      const ranges = proofRanges({ index, size }, of.head().size)
      return Promise.all(ranges.map((range) => rangeRoot(...range)))
    },
    consistencyProof: async (oldSize, size) => {
      const ranges = consistencyRanges({ oldSize, size }, of.head().size)
      return Promise.all(ranges.map((range) => rangeRoot(...range)))
    },
  }
}

/** Throws the service's error for a journal that does not go on from the checkpoint that this replica signed last. */
export async function requireSigned(
  kind: PostgresStoreKind<string>,
  of: {
    readonly journal: Journal
    readonly last: CheckpointReading
    readonly table: PostgresJournalTable
  },
): Promise<void> {
  const { journal, last, table } = of
  if (last.kind === 'absent') return
  if (last.kind === 'checkpoint') {
    const { rootHash, size } = last.checkpoint
    const isHere = size <= journal.size
    if (isHere && Buffer.compare(await journal.rootAt(size), rootHash) === 0) return
  }
  refuseJournal(last, { noun: table.noun, size: journal.size }, kind)
}

/** Counts all leaves of a journal; rejects with the service's error unless they are there without gaps. */
export async function countLeaves(
  { kind, read }: PostgresSource,
  { noun, table }: PostgresJournalTable,
): Promise<CompactRange> {
  const range = createCompactRange()
  for (;;) {
    const rows = await read<{ readonly at: number; readonly leaf_hash: Buffer }>(
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
