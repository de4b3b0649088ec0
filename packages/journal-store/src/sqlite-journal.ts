/**
 * A table of SQLite as a journal: its rows in order are the leaves. A store of one process counts its leaves at opening and
 * continues in memory. If several processes write, every commit stores the head and the roots of whole subtrees of 256 leaves:
 * a proof in a journal of a million entries then reads only a few thousand hashes.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { type CompactRange, createCompactRange, type TreeHead } from '@tallystick/hashchain'
import type { Journal, WrittenJournal } from './journal-store.ts'
import { completedNode, LEAVES_PER_NODE, proofsOf } from './merkle-nodes.ts'
import { prepareQuery } from './sqlite-database.ts'
import { addUpLeaves } from './sqlite-journals.ts'
import type { JournalTable } from './store-kind.ts'

/** Where a journal is stored. */
export type SqliteJournalTable = JournalTable & {
  /** Column of the index from 0, and primary key. */
  readonly index: string
  /** Column of the leaf hash, and what it holds: lower-case hex or 32 bytes. */
  readonly hash: string
  readonly hashForm: 'hex' | 'bytes'
  /** The other columns, in the order of an appended entry's cells. */
  readonly columns: readonly string[]
  /**
   * `counted`: for one process, which holds the store's lock. `stored`: for several; `meta (name, value)` has the head as
   * JSON under `tree`, `tree_nodes (place, hash)` the roots of 256 leaves.
   */
  readonly head: 'counted' | 'stored'
}

/** Leaf hashes read at once. */
const LEAVES_PER_READ = 10_000

const HASH_BYTES = 32
const HEX_HASH = /^[0-9a-f]{64}$/

function leafOf(cell: unknown): Uint8Array | undefined {
  if (typeof cell === 'string') return HEX_HASH.test(cell) ? Buffer.from(cell, 'hex') : undefined
  return cell instanceof Uint8Array && cell.length === HASH_BYTES ? cell : undefined
}

function requireLeaf(cell: unknown): Uint8Array {
  const leaf = leafOf(cell)
  if (leaf === undefined) throw new RangeError('a stored leaf is no hash')
  return leaf
}

/** A hash to keep in memory. A fresh one is a view of eight kilobytes, which it would keep alive. */
const kept = (node: Uint8Array): Uint8Array => new Uint8Array(node)

/** Stored leaf hashes in order; stops at the first that is missing or is no hash. */
function* leavesInOrder(database: DatabaseSync, of: SqliteJournalTable): Generator<Uint8Array> {
  const { hash, index, table } = of
  const read = prepareQuery<readonly [number, unknown]>(
    database,
    `SELECT ${index}, ${hash} FROM ${table} WHERE ${index} >= ? ORDER BY ${index} LIMIT ${LEAVES_PER_READ}`,
  )
  for (let next = 0; ; ) {
    const rows = read.all(next)
    for (const [at, cell] of rows) {
      const leaf = leafOf(cell)
      if (at !== next || leaf === undefined) return
      yield leaf
      next += 1
    }
    if (rows.length < LEAVES_PER_READ) return
  }
}

/** A journal's head, and the roots of 256 leaves below it that are kept in memory; none for a stored head. */
export type JournalHead = { readonly range: CompactRange; readonly nodes: readonly Uint8Array[] }

/** Reads all leaves of a journal; see addUpLeaves. */
export function readLeaves(
  database: DatabaseSync,
  of: SqliteJournalTable,
  checkpoint: TreeHead | undefined | 'unchecked',
): ReturnType<typeof addUpLeaves> {
  const counted = prepareQuery<readonly [number]>(database, `SELECT count(*) FROM ${of.table}`)
  return addUpLeaves(leavesInOrder(database, of), counted.get()?.[0] ?? 0, checkpoint)
}

type StoredHead = { readonly size: number; readonly peaks: readonly string[] }

/** The head that the last commit stored. */
export function readStoredHead(database: DatabaseSync): CompactRange {
  const row = database.prepare("SELECT value FROM meta WHERE name = 'tree'").get()
  if (row === undefined) return createCompactRange()
  const { size, peaks } = JSON.parse(String(row['value'])) as StoredHead
  return createCompactRange({ size, peaks: peaks.map((peak) => Buffer.from(peak, 'hex')) })
}

function prepareStoredHead(database: DatabaseSync) {
  const insertNode = database.prepare('INSERT INTO tree_nodes (place, hash) VALUES (?, ?)')
  const nodes = prepareQuery<readonly [Uint8Array]>(
    database,
    'SELECT hash FROM tree_nodes WHERE place >= ? AND place < ? ORDER BY place',
  )
  const save = database.prepare(
    "INSERT INTO meta (name, value) VALUES ('tree', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
  )
  return {
    addNode: (place: number, hash: Uint8Array) => insertNode.run(place, hash),
    nodesOf: (from: number, to: number) => nodes.all(from, to).map(([hash]) => hash),
    save: (range: CompactRange): void => {
      const { size, peaks } = range.state()
      save.run(
        JSON.stringify({ size, peaks: peaks.map((peak) => Buffer.from(peak).toString('hex')) }),
      )
    },
  }
}

/** A journal of one connection, and what the store does with it around a transaction. */
export type SqliteJournal = Journal & WrittenJournal<SQLInputValue>
type HeldJournal = SqliteJournal & {
  /** Stores the head, if the kind stores heads. */
  save(): void
  /** Whether it has grown since it was last settled. */
  hasGrown(): boolean
  /** What it holds is committed. */
  settle(): void
  /** Goes back to what is committed; reads nothing. */
  goBack(): void
  /** Takes up a stored head that another process has moved. */
  catchUp(): void
}

/** Opens a journal on a connection, with the head from its leaves. */
export function openSqliteJournal(
  database: DatabaseSync,
  of: SqliteJournalTable,
  head: JournalHead,
): HeldJournal {
  const { columns, hash, hashForm, index, table } = of
  const names = [index, hash, ...columns]
  const insert = database.prepare(
    `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
  )
  const leaves = prepareQuery<readonly [string | Uint8Array]>(
    database,
    `SELECT ${hash} FROM ${table} WHERE ${index} >= ? AND ${index} < ? ORDER BY ${index}`,
  )
  const stored = of.head === 'stored' ? prepareStoredHead(database) : undefined
  const leavesOf = (from: number, to: number): readonly Uint8Array[] =>
    leaves.all(from, to).map(([cell]) => requireLeaf(cell))
  let { range } = head
  const held = [...head.nodes]
  let committed = range.state()

  const proofs = proofsOf({
    size: () => range.size,
    leaves: leavesOf,
    nodes: (from, to) => stored?.nodesOf(from, to) ?? held.slice(from, to),
  })

  return {
    get size() {
      return range.size
    },
    rootHash: () => range.rootHash(),
    append: (leaf, cells) => {
      const at = range.size
      insert.run(at, hashForm === 'hex' ? Buffer.from(leaf).toString('hex') : leaf, ...cells)
      const node = completedNode(range, leaf)
      range.append(leaf)
      if (node !== undefined && stored === undefined) held.push(kept(node))
      else if (node !== undefined) stored?.addNode(range.size / LEAVES_PER_NODE - 1, node)
      return at
    },
    ...proofs,
    save: () => stored?.save(range),
    hasGrown: () => range.size > committed.size,
    settle: () => {
      committed = range.state()
    },
    goBack: () => {
      range = createCompactRange(committed)
      held.length = Math.min(held.length, Math.floor(range.size / LEAVES_PER_NODE))
    },
    catchUp: () => {
      if (stored === undefined) return
      range = readStoredHead(database)
      committed = range.state()
    },
  }
}
