/**
 * Journals in a SQLite file. Each is a table `at INTEGER PRIMARY KEY, leaf_hash BLOB` with the columns of its cells, and a table
 * of the same name with `_nodes (place, hash)`; `journals (name, size, peaks)` has the heads.
 */
import {
  type CompactRange,
  createCompactRange,
  HASH_BYTES,
  type TreeHead,
} from '@tallystick/hashchain'
import { type CheckpointFile, type CheckpointReading, isContinued } from './checkpoint-file.ts'
import { completedNode, eachJournal, joinPeaks, LEAVES_PER_READ } from './journal.ts'
import type { Ask } from './sqlite-connection.ts'
import type { SqliteFileKind } from './sqlite-database.ts'
import type { Journal } from './store.ts'
import type { JournalTable, StoreKind } from './store-kind.ts'
import { type Heads, headsInRows } from './write-group.ts'

type SqliteTable = JournalTable & {
  /** The columns besides `at` and `leaf_hash`, in the order of an entry's cells. */
  readonly columns: readonly string[]
}

/** Describes one kind of store on SQLite: its file, its journals, and the files beside it. */
export type SqliteKind<Name extends string> = SqliteFileKind &
  StoreKind<Name, SqliteTable> & {
    /** Whether one process at a time may have it. It then holds a lock, and counts every leaf at opening. */
    readonly isAlone: boolean
  }

const isHash = (cell: unknown): cell is Uint8Array =>
  cell instanceof Uint8Array && cell.length === HASH_BYTES

/** Stored leaf hashes in order; stops at the first that is missing or is no hash. */
function* leavesInOrder(ask: Ask, table: string): Generator<Uint8Array> {
  for (let next = 0; ; ) {
    const rows: readonly (readonly [number, unknown])[] = ask(
      `SELECT at, leaf_hash FROM ${table} WHERE at >= $1 ORDER BY at LIMIT ${LEAVES_PER_READ}`,
      [next],
    )
    for (const [at, leaf] of rows) {
      if (at !== next || !isHash(leaf)) return
      yield leaf
      next += 1
    }
    if (rows.length < LEAVES_PER_READ) return
  }
}

/** Adds up a journal's stored leaf hashes. */
type JournalReading =
  | { readonly kind: 'read'; readonly range: CompactRange; readonly nodes: readonly Uint8Array[] }
  | { readonly kind: 'refused'; readonly reason: string }

const refuse = (reason: string): JournalReading => ({ kind: 'refused', reason })

/**
 * Reads all leaves of a journal and compares them with its last signed checkpoint. Without one (undefined), the journal must
 * be empty; `unchecked` takes whatever is in order.
 */
export function readLeaves(
  ask: Ask,
  { table }: Pick<SqliteTable, 'table'>,
  checkpoint: TreeHead | undefined | 'unchecked',
): JournalReading {
  const counted: readonly (readonly [number])[] = ask(`SELECT count(*) FROM ${table}`)
  const stored = counted[0]?.[0] ?? 0
  const range = createCompactRange()
  const nodes: Uint8Array[] = []
  const checkpointSize = typeof checkpoint === 'object' ? checkpoint.size : undefined
  let rootAtCheckpoint = range.rootHash()
  for (const leaf of leavesInOrder(ask, table)) {
    const node = completedNode(range, leaf)
    if (node !== undefined) nodes.push(node)
    range.append(leaf)
    if (range.size === checkpointSize) rootAtCheckpoint = range.rootHash()
  }
  if (checkpoint === undefined)
    return stored === 0
      ? { kind: 'read', range, nodes }
      : refuse(`it has ${stored} entries and there is no checkpoint of it`)
  if (checkpoint !== 'unchecked' && range.size < checkpoint.size)
    return refuse(
      `its last signed checkpoint counts ${checkpoint.size} entries, ${range.size} of them are stored in order`,
    )
  if (checkpoint !== 'unchecked' && Buffer.compare(rootAtCheckpoint, checkpoint.rootHash) !== 0)
    return refuse(`its entries do not hash to its last signed checkpoint at ${checkpoint.size}`)
  if (range.size !== stored)
    return refuse(`it has ${stored} entries, of which the first ${range.size} are in order`)
  return { kind: 'read', range, nodes }
}

/** The heads that the last commit stored. */
export function readStoredHeads<Name extends string>(
  ask: Ask,
  kind: SqliteKind<Name>,
): Heads<Name> {
  const rows: readonly (readonly [string, number, Uint8Array])[] = ask(
    'SELECT name, size, peaks FROM journals',
  )
  return headsInRows(kind, rows)
}

/** Whether the stored roots of 256 leaves are those of the leaves. */
const hasNodes = (ask: Ask, table: string, nodes: readonly Uint8Array[]): boolean => {
  const stored: readonly (readonly [number, unknown])[] = ask(
    `SELECT place, hash FROM ${table}_nodes ORDER BY place`,
  )
  return (
    stored.length === nodes.length &&
    stored.every(
      ([place, hash], at) =>
        place === at && isHash(hash) && Buffer.compare(hash, nodes[at] ?? hash) === 0,
    )
  )
}

/** The heads of a store's journals, counted from their leaves and compared with their last signed checkpoints. */
export function readCountedHeads<Name extends string>(
  ask: Ask,
  kind: SqliteKind<Name>,
  {
    files,
    readings,
  }: {
    /** Read before the heads: another process may append and sign in between. */
    readonly readings: Readonly<Record<Name, CheckpointReading>>
    readonly files: Readonly<Record<Name, CheckpointFile>>
  },
): Heads<Name> {
  const storedHeads = readStoredHeads(ask, kind)
  return eachJournal(kind, (table, name) => {
    const { Behind = kind.Unavailable } = kind
    const last = readings[name]
    if (last.kind === 'refused')
      throw new Behind(
        `${files[name].path} is not signed by this store’s checkpoint key, or was altered; if that is intended, run "${kind.acceptCommand}"`,
      )
    const checkpoint = last.kind === 'checkpoint' ? last.checkpoint : undefined
    const reading = readLeaves(ask, table, checkpoint)
    const refused = (reason: string): Error =>
      new Behind(
        `${table.noun} is refused: ${reason}. If a backup was restored on purpose, run "${kind.acceptCommand}"`,
      )
    if (reading.kind === 'refused') throw refused(reading.reason)
    const { nodes, range } = reading
    const stored = storedHeads[name]
    if (
      stored.size !== range.size ||
      Buffer.compare(joinPeaks(stored), joinPeaks(range)) !== 0 ||
      !hasNodes(ask, table.table, nodes)
    )
      throw refused('its entries do not come to its stored head')
    return range
  })
}

/** Signs a journal's head. A checkpoint that the journal does not continue from stays: it proves what was lost. */
export async function keepCheckpoint(file: CheckpointFile, journal: Journal): Promise<void> {
  if (journal.size === 0) return
  const last = file.read()
  if (last.kind === 'refused') return
  if (last.kind === 'absent' || (await isContinued(journal, last.checkpoint))) file.write(journal)
}
