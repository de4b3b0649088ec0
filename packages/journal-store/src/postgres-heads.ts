/** Heads of journals on PostgreSQL, compared at opening with the last signed checkpoints; roots and proofs below them. */
import type { CompactRange } from '@tallystick/hashchain'
import type { Journal } from './journal-store.ts'
import { proofsOf } from './merkle-nodes.ts'
import type { PostgresQuery } from './postgres-connection.ts'
import { type HeadRow, rangeOfRow } from './postgres-group.ts'
import {
  migrationsOf,
  type PostgresJournalTable,
  type PostgresStoreKind,
} from './postgres-store-kind.ts'

/** Where a store's schema is read. */
type PostgresSource = {
  readonly kind: PostgresStoreKind<string>
  readonly read: PostgresQuery
}

/** The value of a name; throws if there is none, which is a bug. */
export function one<Value>(all: ReadonlyMap<string, Value>, name: string): Value {
  const found = all.get(name)
  if (found === undefined) throw new Error(`there is no journal ${name}`)
  return found
}

/** The committed heads, by name. */
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

/** A journal as its service sees it; `head` is the one last seen committed. */
export function committedJournal(
  { kind, read }: PostgresSource,
  of: { readonly table: PostgresJournalTable; readonly head: () => CompactRange },
): Journal {
  const table = `${kind.schema}.${of.table.table}`
  const hashes = async (what: string, [from, to]: readonly [number, number]) =>
    to <= from
      ? []
      : (await read<{ readonly hash: Buffer }>(what, [from, to])).map(({ hash }) => hash)
  const size = (): number => of.head().size
  return {
    get size() {
      return size()
    },
    rootHash: () => of.head().rootHash(),
    ...proofsOf({
      size,
      leaves: (...range) =>
        hashes(
          `SELECT leaf_hash AS hash FROM ${table} WHERE at >= $1 AND at < $2 ORDER BY at`,
          range,
        ),
      nodes: (...range) =>
        hashes(
          `SELECT hash FROM ${table}_nodes WHERE place >= $1 AND place < $2 ORDER BY place`,
          range,
        ),
    }),
  }
}
