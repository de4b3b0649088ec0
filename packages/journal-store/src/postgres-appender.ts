/**
 * The appending half of the store on PostgreSQL: a group of writes in one transaction under the lock of the heads. A group
 * whose COMMIT was not answered is looked for in the journal, never simply sent again.
 */
import { type CompactRange, createCompactRange } from '@tallystick/hashchain'
import type { Client, QueryResult } from 'pg'
import { durabilityOf, type Write } from './group-commit.ts'
import { messageOf } from './journal-store.ts'
import { completedNode } from './merkle-nodes.ts'
import { isLostConnection, type openPostgresConnection } from './postgres-connection.ts'
import type { PostgresJournalTable, PostgresStoreKind } from './postgres-store-kind.ts'

/** What a row's cell may hold. */
export type PostgresCell = string | number | bigint | Uint8Array | null

/** A journal's head in this process. */
export type PostgresHead = {
  readonly name: string
  readonly table: PostgresJournalTable
  /** As it was last seen committed. */
  committed: CompactRange
  /** With what the running group has appended. */
  pending: CompactRange
  leaves: Uint8Array[]
  nodes: Uint8Array[]
  rows: (readonly PostgresCell[])[]
}

/** Groups that lost a race or their connection are tried again so often; each connection is looked for during seconds. */
const TRIES_MAX = 20
/** Serialization failure, deadlock, lock timeout. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03'])

type HeadRow = { readonly name: string; readonly size: number; readonly peaks: Buffer }

/** The head that a row of `journals` says. */
export function rangeOfRow({ peaks, size }: Pick<HeadRow, 'size' | 'peaks'>): CompactRange {
  const hashes = Array.from({ length: peaks.length / 32 }, (_, at) =>
    Buffer.from(peaks.subarray(at * 32, at * 32 + 32)),
  )
  return createCompactRange({ size, peaks: hashes })
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/** A write of the service threw: a bug of its own, which concerns no other. */
class WriteFailed extends Error {
  readonly write: Write
  constructor(write: Write, cause: unknown) {
    super('a write threw', { cause })
    this.write = write
  }
}

/** What a group sent and nobody answered. */
type Doubt = readonly {
  readonly table: string
  readonly size: number
  readonly leaves: Uint8Array[]
}[]

type AppenderOptions = {
  readonly kind: PostgresStoreKind<string>
  readonly connection: ReturnType<typeof openPostgresConnection>
  readonly heads: readonly PostgresHead[]
  /** Told of a committed group before its writers are. */
  readonly onCommitted: (grown: readonly PostgresHead[]) => void
}

/** Settles groups of writes; see openGroupCommit. */
export class PostgresAppender {
  readonly #options: AppenderOptions
  readonly #byName: ReadonlyMap<string, PostgresHead>
  #isRunning = false
  #doubt: Doubt | undefined

  constructor(options: AppenderOptions) {
    this.#options = options
    this.#byName = new Map(options.heads.map((head) => [head.name, head]))
  }

  /** The head that is true now: inside a write, with what it has appended. */
  headOf(head: PostgresHead): CompactRange {
    return this.#isRunning ? head.pending : head.committed
  }

  append(head: PostgresHead, leaf: Uint8Array, cells: readonly PostgresCell[]): number {
    if (!this.#isRunning) throw new Error('an entry is appended within a write')
    const at = head.pending.size
    const node = completedNode(head.pending, leaf)
    head.pending.append(leaf)
    head.leaves.push(leaf)
    head.rows.push(cells)
    if (node !== undefined) head.nodes.push(node)
    return at
  }

  readonly writeTogether = async (writes: readonly Write[]): Promise<readonly Write[]> => {
    this.#doubt = undefined
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#attempt(writes)
        for (const { resolve } of writes) resolve()
        return []
      } catch (error) {
        const isLost = isLostConnection(error)
        if (error instanceof WriteFailed) {
          error.write.reject(error.cause)
          if (!(await this.#isTakenBack())) await this.#options.connection.drop()
          return writes.filter((write) => write !== error.write)
        }
        if (isLost || !(await this.#isTakenBack())) await this.#options.connection.drop()
        const isHopeless = error instanceof this.#options.kind.Unavailable || tries >= TRIES_MAX
        if (isHopeless || !(isLost || CONFLICTS.has(codeOf(error))))
          return this.#fail(writes, error)
      }
    }
  }

  #fail(writes: readonly Write[], cause: unknown): readonly Write[] {
    const what =
      this.#doubt === undefined ? 'nothing was written' : 'it is not known what was written'
    const { Unavailable } = this.#options.kind
    const error = new Unavailable(`${what}: ${messageOf(cause)}`, { cause })
    for (const { reject } of writes) reject(error)
    return []
  }

  async #isTakenBack(): Promise<boolean> {
    try {
      await (await this.#options.connection.use()).query('ROLLBACK')
      return true
    } catch {
      return false
    }
  }

  async #attempt(writes: readonly Write[]): Promise<void> {
    const { connection, kind, heads, onCommitted } = this.#options
    const client = await connection.use()
    const isRelaxed = durabilityOf(writes) === 'relaxed'
    // One round trip; everything that follows is under the lock of the heads.
    const begun = (await client.query(
      `BEGIN ISOLATION LEVEL READ COMMITTED;${isRelaxed ? ' SET LOCAL synchronous_commit = off;' : ''}
       SELECT name, size, peaks FROM ${kind.schema}.take_heads()`,
    )) as unknown as readonly QueryResult<HeadRow>[]
    const rows = begun.at(-1)?.rows ?? []
    if (this.#doubt !== undefined && (await this.#isStored(client, this.#doubt))) {
      // What is found may not have reached the standby; a commit of our own does not return before it has.
      await client.query(`SELECT pg_logical_emit_message(true, '${kind.schema}', '')`)
      await this.#commit(client)
    } else {
      this.#doubt = undefined
      this.#takeUp(rows)
      this.#run(writes)
      const grown = heads.filter(({ leaves }) => leaves.length > 0)
      for (const head of grown) await this.#send(client, head)
      if (grown.length > 0) this.#doubt = doubtOf(grown)
      await this.#commit(client)
    }
    this.#doubt = undefined
    const grown = heads.filter((head) => head.leaves.length > 0)
    // Behind a group that was found another process may have appended, and been heard of.
    for (const head of heads)
      if (head.pending.size > head.committed.size) head.committed = head.pending
    onCommitted(grown)
  }

  #takeUp(rows: readonly HeadRow[]): void {
    for (const row of rows) {
      const head = this.#byName.get(row.name)
      if (head !== undefined)
        Object.assign(head, { pending: rangeOfRow(row), leaves: [], nodes: [], rows: [] })
    }
  }

  #run(writes: readonly Write[]): void {
    this.#isRunning = true
    try {
      for (const write of writes) {
        try {
          write.run()
        } catch (error) {
          throw new WriteFailed(write, error)
        }
      }
    } finally {
      this.#isRunning = false
    }
  }

  async #send(client: Client, head: PostgresHead): Promise<void> {
    const { leaves, nodes, pending, rows, table } = head
    const cells = table.columns.map((_, column) => rows.map((row) => cellOf(row[column])))
    const places = [...cells, 0, 0, 0, 0].map((_, at) => `$${at + 1}`).join(', ')
    await client.query(`SELECT ${this.#options.kind.schema}.append_${table.table}(${places})`, [
      pending.size - leaves.length,
      Buffer.concat(pending.state().peaks),
      nodes.map(cellOf),
      leaves.map(cellOf),
      ...cells,
    ])
  }

  async #commit(client: Client): Promise<void> {
    let isWarned = false
    // A COMMIT whose wait for the standby was cancelled is answered as done, with a warning.
    const warn = ({ severity }: { readonly severity: string | undefined }): void => {
      isWarned ||= severity === 'WARNING'
    }
    client.on('notice', warn)
    try {
      const { command } = await client.query('COMMIT')
      // COMMIT of a failed transaction is no error: its answer says ROLLBACK.
      if (command !== 'COMMIT' || isWarned) throw new Error('the commit was not confirmed')
    } finally {
      client.off('notice', warn)
    }
  }

  /** Whether all entries of a group are where they were to be: that effect was wanted, whoever wrote it. */
  async #isStored(client: Client, doubt: Doubt): Promise<boolean> {
    for (const { leaves, size, table } of doubt) {
      const { rows } = await client.query<{ readonly leaf_hash: Buffer }>(
        `SELECT leaf_hash FROM ${this.#options.kind.schema}.${table} WHERE at >= $1 AND at < $2 ORDER BY at`,
        [size, size + leaves.length],
      )
      const isSame = rows.every(({ leaf_hash: leaf }, at) =>
        leaf.equals(leaves[at] ?? leaf.subarray(1)),
      )
      if (rows.length !== leaves.length || !isSame) return false
    }
    return true
  }
}

const doubtOf = (grown: readonly PostgresHead[]): Doubt =>
  grown.map(({ leaves, pending, table }) => ({
    table: table.table,
    size: pending.size - leaves.length,
    leaves,
  }))

/** pg takes bytes as Buffers only. */
const cellOf = (cell: PostgresCell | undefined): unknown =>
  cell instanceof Uint8Array ? Buffer.from(cell) : cell
