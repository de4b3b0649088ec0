/**
 * The appending half of the store on PostgreSQL: each group of writes is one transaction under the lock of the heads. A group
 * whose COMMIT got no answer is looked up by its name, never simply sent again.
 */
import { randomUUID } from 'node:crypto'
import type { CompactRange } from '@tallystick/hashchain'
import { durabilityOf, type Write } from './group-commit.ts'
import { type Awaitable, type Durability, messageOf } from './journal-store.ts'
import { beginPostgres, type PostgresConnection } from './postgres-connection.ts'
import type { PostgresDoor } from './postgres-door.ts'
import {
  type GroupName,
  type HeadRow,
  PostgresGroup,
  type PostgresTransaction,
  rangeOfRow,
} from './postgres-group.ts'
import { isLostConnection, type PostgresLine, sqlCodeOf } from './postgres-line.ts'
import type { PostgresJournalTable, PostgresStoreKind } from './postgres-store-kind.ts'

/** A journal's head as this process last saw it committed. */
export type PostgresHead = {
  readonly name: string
  readonly table: PostgresJournalTable
  committed: CompactRange
}

/** Journals by name, as a COMMIT left them. */
type Ranges = readonly (readonly [name: string, range: CompactRange])[]

/**
 * How long a group is tried anew after it lost a race or its connection, milliseconds; then its writes are refused. As long
 * after a group that was refused, the next ones get one attempt each: nobody waits for several groups before theirs.
 */
const GROUP_MS = 10_000
/** Serialization failure, deadlock, lock timeout. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03'])

const NOTIFY = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`

/** A write of the service threw: its own bug, which affects no other. */
class WriteFailed extends Error {
  readonly write: Write
  constructor(write: Write, cause: unknown) {
    super('a write threw', { cause })
    this.write = write
  }
}

type AppenderOptions = {
  readonly door: PostgresDoor
  readonly kind: PostgresStoreKind<string>
  readonly connection: PostgresConnection
  readonly heads: readonly PostgresHead[]
  /** Runs last in each transaction, for the service. */
  readonly beforeCommit?:
    | ((transaction: PostgresTransaction<string>, durability: Durability) => Awaitable<void>)
    | undefined
  /** Called for each committed group, before its writes resolve. Throws nothing. */
  readonly onCommitted: (grown: readonly PostgresHead[]) => void
  /** Called for each failure in the background. */
  readonly onProblem: (error: unknown) => void
}

/** Settles groups of writes; see openGroupCommit. */
export class PostgresAppender {
  readonly #options: AppenderOptions
  readonly #tables: ReadonlyMap<string, PostgresJournalTable>
  /** Names this opening of the store to other processes, and its groups to itself. */
  readonly writer = randomUUID()
  #attempts = 0
  #refusedAtMs = Number.NEGATIVE_INFINITY
  #group: PostgresGroup | undefined
  /** The attempt whose COMMIT was sent but not answered. */
  #doubt: GroupName | undefined
  /** While a COMMIT awaits its answer, the stored heads may be this process's own. */
  isCommitting = false

  constructor(options: AppenderOptions) {
    this.#options = options
    this.#tables = new Map(options.heads.map(({ name, table }) => [name, table]))
  }

  /** What the writes of the running group run with. */
  transaction(): PostgresTransaction<string> {
    if (this.#group === undefined) throw new Error('no write is running')
    return this.#group.transaction
  }

  readonly writeTogether = async (writes: readonly Write[]): Promise<readonly Write[]> => {
    this.#doubt = undefined
    let losses = 0
    const startMs = performance.now()
    const endMs = startMs - this.#refusedAtMs < GROUP_MS ? startMs : startMs + GROUP_MS
    for (;;) {
      let committed: Ranges | undefined
      try {
        committed = await this.#attempt(writes, losses)
      } catch (error) {
        const isLost = isLostConnection(error)
        if (error instanceof WriteFailed) {
          error.write.reject(error.cause)
          if (!(await this.#isTakenBack())) await this.#options.connection.drop()
          return writes.filter((write) => write !== error.write)
        }
        if (isLost) losses += 1
        const isRefused = error instanceof this.#options.kind.Unavailable
        if (isLost || isRefused || !(await this.#isTakenBack()))
          await this.#options.connection.drop()
        const isHopeless = isRefused || performance.now() > endMs
        if (isHopeless || !(isLost || CONFLICTS.has(sqlCodeOf(error))))
          return this.#fail(writes, error)
      } finally {
        this.#group?.end()
        this.#group = undefined
      }
      if (committed === undefined) continue
      // Behind the COMMIT, nothing that throws makes the group run again (S12).
      this.#options.onCommitted(this.#moveHeads(committed))
      for (const { resolve } of writes) resolve()
      return []
    }
  }

  #fail(writes: readonly Write[], cause: unknown): readonly Write[] {
    const what =
      this.#doubt === undefined ? 'nothing was written' : 'it is not known what was written'
    const { kind, onProblem } = this.#options
    this.#refusedAtMs = performance.now()
    const error = new kind.Unavailable(`${what}: ${messageOf(cause)}`, { cause })
    // Whoever wrote is told, too; but not everybody waits for the answer.
    if (this.#doubt !== undefined) onProblem(error)
    for (const { reject } of writes) reject(error)
    return []
  }

  async #isTakenBack(): Promise<boolean> {
    try {
      await (await this.#options.connection.use()).run('ROLLBACK')
      return true
    } catch {
      return false
    }
  }

  /** Resolves once the group is committed, with the heads that it found or made. */
  async #attempt(writes: readonly Write[], losses: number): Promise<Ranges> {
    const { connection, door, kind } = this.#options
    const line = await connection.use()
    const durability = durabilityOf(writes)
    // One round trip; everything after it is under the lock of the heads. COMMIT goes in another: whoever may still commit a
    // group in doubt has the lock, so that what is found under it is final.
    const heads = await line.run<HeadRow>(
      `${beginPostgres(door, { durability, losses })} SELECT name, size, peaks FROM ${kind.schema}.take_heads()`,
    )
    this.#requireGrowth(heads)
    if (this.#doubt !== undefined && (await this.#isStored(line, this.#doubt))) {
      // The group found here may not have reached the standby. Locking the heads wrote to the log, so that this commit returns
      // only once the standby has it, and everything before it.
      await line.commit()
      this.#doubt = undefined
      this.#notify(line)
      return heads.map((row) => [row.name, rangeOfRow(row)])
    }
    this.#doubt = undefined
    const name = { writer: this.writer, number: (this.#attempts += 1) }
    const { schema } = kind
    const group = new PostgresGroup(line, { schema, name, heads, tables: this.#tables })
    this.#group = group
    await this.#run(writes)
    await this.#finish(group, durability)
    group.end()
    const grown = group.grown()
    this.#doubt = name
    this.isCommitting = true
    try {
      await group.commit(() => {
        if (grown.length > 0) this.#notify(line)
      })
    } catch (error) {
      // The server did not commit what it refused.
      if (!isLostConnection(error)) this.#doubt = undefined
      throw error
    } finally {
      this.isCommitting = false
    }
    this.#doubt = undefined
    return grown.map(([journal, { range }]) => [journal, range])
  }

  /**
   * Wakes other processes in a transaction of its own, since the commit of a NOTIFY takes a server-wide lock. It waits for no
   * disk and no standby: it only says who wrote, and regular looks make up for a lost one.
   */
  #notify(line: PostgresLine): void {
    const { kind, onProblem } = this.#options
    line.ask(NOTIFY, [kind.schema, this.writer]).catch(onProblem)
  }

  /** Committed entries stay: a server that lacks them is not the one that acknowledged them. */
  #requireGrowth(rows: readonly HeadRow[]): void {
    const { heads, kind } = this.#options
    for (const { committed, name, table } of heads) {
      const size = rows.find((row) => row.name === name)?.size ?? 0
      if (size < committed.size)
        throw new kind.Unavailable(
          `${table.noun} went back from ${committed.size} entries to ${size}: this server lacks what was acknowledged`,
        )
    }
  }

  /** After a group that was looked up, another process may have appended, and this one may know it already. */
  #moveHeads(ranges: Ranges): readonly PostgresHead[] {
    const moved = new Map(ranges)
    return this.#options.heads.filter((head) => {
      const range = moved.get(head.name)
      if (range === undefined || range.size <= head.committed.size) return false
      head.committed = range
      return true
    })
  }

  async #run(writes: readonly Write[]): Promise<void> {
    for (const write of writes) {
      try {
        await write.run()
      } catch (error) {
        // The engine refused first: a write that only passes that on is not at fault.
        const failure = this.#group?.failure
        throw failure === undefined ? new WriteFailed(write, error) : failure
      }
    }
  }

  async #finish(group: PostgresGroup, durability: Durability): Promise<void> {
    const { beforeCommit, kind } = this.#options
    try {
      await beforeCommit?.(group.transaction, durability)
    } catch (error) {
      throw group.failure ?? new kind.Unavailable(messageOf(error), { cause: error })
    }
  }

  /** Whether a group is committed. Under the lock of the heads, nobody can still be committing it. */
  async #isStored(line: PostgresLine, { number, writer }: GroupName): Promise<boolean> {
    const { schema } = this.#options.kind
    const text = `SELECT FROM ${schema}.journal_writers WHERE writer = $1 AND last_group = $2`
    return (await line.ask(text, [writer, number])).length > 0
  }
}
