/** What a group of writes runs with on PostgreSQL: journals that grow in memory, and statements under the lock of the heads. */
import { type CompactRange, createCompactRange } from '@tallystick/hashchain'
import type { WriteTransaction, WrittenJournal } from './journal-store.ts'
import { completedNode } from './merkle-nodes.ts'
import type { PostgresConnection, PostgresQuery } from './postgres-connection.ts'
import type { PostgresLine } from './postgres-line.ts'
import type { PostgresJournalTable } from './postgres-store-kind.ts'

/** What a row's cell may hold. */
type PostgresCell = string | number | bigint | Uint8Array | null

/** Text is bytes on PostgreSQL where no collation may touch it. */
const toBytes = (cell: PostgresCell): PostgresCell =>
  typeof cell === 'string' ? Buffer.from(cell) : cell

export type HeadRow = { readonly name: string; readonly size: number; readonly peaks: Buffer }

/** The head in a row of `journals`. */
export function rangeOfRow({ peaks, size }: Pick<HeadRow, 'size' | 'peaks'>): CompactRange {
  const hashes = Array.from({ length: peaks.length / 32 }, (_, at) =>
    Buffer.from(peaks.subarray(at * 32, at * 32 + 32)),
  )
  return createCompactRange({ size, peaks: hashes })
}

/** What a write runs with on PostgreSQL: all of it is under the lock of the heads, and commits with the group. */
export type PostgresTransaction<Name extends string> = WriteTransaction<Name, PostgresCell> & {
  /** Reads, including what earlier writes of the group have sent. */
  readonly query: PostgresQuery
  /** The same with rows as arrays. */
  readonly tuples: PostgresConnection['tuples']
  /** Sends a statement without waiting; if it fails, the group fails. Entries are sent after all statements. */
  readonly send: (text: string, values: readonly unknown[]) => void
}

/** A journal, including what the running group has appended. */
type GroupJournal = WrittenJournal<PostgresCell> & {
  readonly table: PostgresJournalTable
  readonly range: CompactRange
  readonly leaves: readonly Uint8Array[]
  readonly nodes: readonly Uint8Array[]
  readonly rows: readonly (readonly PostgresCell[])[]
}

/** A journal that grows in memory from a head. `requireOpen` throws when it may not grow. */
function groupJournal(
  range: CompactRange,
  table: PostgresJournalTable,
  requireOpen: () => void,
): GroupJournal {
  const leaves: Uint8Array[] = []
  const nodes: Uint8Array[] = []
  const rows: (readonly PostgresCell[])[] = []
  return {
    table,
    range,
    leaves,
    nodes,
    rows,
    get size() {
      return range.size
    },
    rootHash: () => range.rootHash(),
    append: (leaf, cells) => {
      requireOpen()
      const at = range.size
      const node = completedNode(range, leaf)
      range.append(leaf)
      leaves.push(leaf)
      rows.push(cells)
      if (node !== undefined) nodes.push(node)
      return at
    },
  }
}

/** The name of one attempt of a group; the writer's row has it once the attempt is committed. */
export type GroupName = {
  /** Random, one for each opening of the store. */
  readonly writer: string
  /** Unique among the writer's attempts. */
  readonly number: number
}

/** One attempt of a group; `line` is in a transaction that has locked the heads. */
export class PostgresGroup {
  readonly #line: PostgresLine
  readonly #schema: string
  readonly #name: GroupName
  readonly #sent: Promise<unknown>[] = []
  readonly #journals: Record<string, GroupJournal> = {}
  #isOpen = true
  /** What the engine refused first. It affects the whole group, whichever write asked. */
  failure: unknown

  constructor(
    line: PostgresLine,
    of: {
      readonly schema: string
      readonly name: GroupName
      readonly heads: readonly HeadRow[]
      readonly tables: ReadonlyMap<string, PostgresJournalTable>
    },
  ) {
    this.#line = line
    this.#schema = of.schema
    this.#name = of.name
    for (const row of of.heads) {
      const table = of.tables.get(row.name)
      if (table !== undefined)
        this.#journals[row.name] = groupJournal(rangeOfRow(row), table, this.#requireOpen)
    }
  }

  readonly #requireOpen = (): void => {
    if (!this.#isOpen) throw new Error('an entry is appended, and a statement sent, within a write')
  }

  readonly #asked = async <Rows>(ask: () => Promise<Rows>): Promise<Rows> => {
    this.#requireOpen()
    try {
      return await ask()
    } catch (error) {
      this.failure ??= error
      throw error
    }
  }

  readonly #ask: PostgresQuery = (text, values = []) =>
    this.#asked(() => this.#line.ask(text, values))

  /** What writes run with. */
  readonly transaction: PostgresTransaction<string> = {
    journals: this.#journals,
    query: this.#ask,
    tuples: <Row extends readonly unknown[]>(text: string, values?: readonly unknown[]) =>
      this.#asked(() => this.#line.tuples<Row>(text, values ?? [])),
    send: (text, values) => {
      this.#requireOpen()
      this.#sent.push(this.#ask(text, values).catch(() => undefined))
    },
  }

  /** The journals that the group appended to, by name. */
  grown(): readonly (readonly [string, GroupJournal])[] {
    return Object.entries(this.#journals).filter(([, { leaves }]) => leaves.length > 0)
  }

  /**
   * Sends the entries, the group's name and COMMIT in one go. Rejects with the first refusal. `behind` runs in the same go,
   * and nothing waits for it.
   */
  async commit(behind: () => void): Promise<void> {
    this.#isOpen = true
    const ends = this.#line.together(() => {
      const sent = this.grown().map(([, journal]) => sendEntries(this.#ask, this.#schema, journal))
      // Sent even if nothing was appended: a transaction that only reads does not wait for the standby.
      sent.push(this.#keepName())
      sent.push(this.#line.commit())
      this.#isOpen = false
      behind()
      return sent
    })
    await Promise.all(this.#sent)
    const settled = await Promise.allSettled(ends)
    if (this.failure !== undefined) throw this.failure
    for (const end of settled) if (end.status === 'rejected') throw end.reason
  }

  /** Takes no more. */
  end(): void {
    this.#isOpen = false
  }

  async #keepName(): Promise<void> {
    const { number, writer } = this.#name
    await this.#ask(`SELECT ${this.#schema}.keep_group($1, $2)`, [writer, number])
  }
}

/** Sends what a journal has gathered. The database refuses it unless its head is where the journal began. */
async function sendEntries(
  query: PostgresQuery,
  schema: string,
  { leaves, nodes, range, rows, table }: GroupJournal,
): Promise<void> {
  const cells = table.columns.map(({ type }, column) =>
    rows.map((row) => (type === 'bytea' ? toBytes(row[column] ?? null) : row[column])),
  )
  const places = [...cells, 0, 0, 0, 0].map((_, at) => `$${at + 1}`).join(', ')
  await query(`SELECT ${schema}.append_${table.table}(${places})`, [
    range.size - leaves.length,
    Buffer.concat(range.state().peaks),
    nodes,
    leaves,
    ...cells,
  ])
}
