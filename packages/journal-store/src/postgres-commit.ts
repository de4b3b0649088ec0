/**
 * The appending half of the store on PostgreSQL: each group of writes is one transaction under the lock of the heads. It takes
 * two flights: one takes the lock and reads what the group asks for, the other writes and commits. A group whose COMMIT got no
 * answer is looked up by its name, under the lock, and never simply sent again.
 */
import { randomUUID } from 'node:crypto'
import type { CompactRange } from '@tallystick/hashchain'
import { eachJournal, type GrowingJournal, headOfRow, joinPeaks } from './journal.ts'
import { beginPostgres, type PostgresConnection } from './postgres-connection.ts'
import { isLostConnection, type PostgresLine, sqlCode } from './postgres-line.ts'
import {
  findSchemaFault,
  type PostgresJournalTable,
  type PostgresStoreKind,
} from './postgres-store-kind.ts'
import type { Cell, GroupMemory, Rows } from './store.ts'
import { errorMessage } from './unavailable.ts'
import {
  chooseDurability,
  decideGroup,
  type Group,
  type Heads,
  measureJournals,
  type Write,
  WriteRefused,
} from './write-group.ts'

/**
 * How long a group is tried anew after it lost a race or its connection, milliseconds; then its writes are refused. As long
 * after a group that was refused, the next ones get one attempt each: nobody waits for several groups before theirs.
 */
const GROUP_MS = 10_000
/** Serialization failure, deadlock, lock timeout. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03'])

const NOTIFY = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`

/** Text is bytes on PostgreSQL where no collation may touch it. */
export const toBytes = (cell: Cell): Cell => (typeof cell === 'string' ? Buffer.from(cell) : cell)

/**
 * The statement that stores what was appended to a journal. The database refuses it unless its head is where the journal began.
 */
export function appendStatement(
  schema: string,
  { columns, table }: PostgresJournalTable,
  { from, leaves, nodes, range, rows }: GrowingJournal,
): readonly [text: string, values: readonly unknown[]] {
  const cells = columns.map(({ type }, column) =>
    rows.map((row) => (type === 'bytea' ? toBytes(row[column] ?? null) : row[column])),
  )
  const places = [...cells, 0, 0, 0, 0].map((_, at) => `$${at + 1}`).join(', ')
  return [
    `SELECT ${schema}.append_${table}(${places})`,
    [from, joinPeaks(range), nodes, leaves, ...cells],
  ]
}

type HeadRow = { readonly name: string; readonly size: number; readonly peaks: Buffer }

/** The name of one attempt of a group; the writer's row has it once the attempt is committed. */
type GroupName = { readonly writer: string; readonly number: number }

type PostgresCommitOptions<Name extends string, Memory, Needs> = {
  readonly kind: PostgresStoreKind<Name>
  readonly connection: PostgresConnection
  readonly memory: GroupMemory<Name, Memory, Needs>
  readonly runMs?: number | undefined
  /** The heads as this process last saw them committed. */
  readonly heads: () => Heads<Name>
  /** Called behind each COMMIT, before the group's writes resolve. Throws nothing. */
  readonly onCommitted: (heads: Heads<Name>, adopt: () => void) => void
  /** Called for each failure in the background. */
  readonly onProblem: (error: unknown) => void
}

/** Commits groups of writes; see openWriteQueue. */
export class PostgresCommit<Name extends string, Memory, Needs> {
  readonly #options: PostgresCommitOptions<Name, Memory, Needs>
  /** Names this opening of the store to other processes, and its groups to itself. */
  readonly writer = randomUUID()
  #attempts = 0
  #refusedAtMs = Number.NEGATIVE_INFINITY
  /** The attempt whose COMMIT was sent but not answered, and what it decided. */
  #doubt: { readonly name: GroupName; readonly group: Group<Name, Memory, Needs> } | undefined
  /** While a COMMIT awaits its answer, the stored heads may be this process's own. */
  isCommitting = false

  constructor(options: PostgresCommitOptions<Name, Memory, Needs>) {
    this.#options = options
  }

  /** Settles a group; never rejects. */
  readonly commit = async (writes: readonly Write<Name, Memory, Needs>[]): Promise<void> => {
    this.#doubt = undefined
    let losses = 0
    const startMs = performance.now()
    const endMs = startMs - this.#refusedAtMs < GROUP_MS ? startMs : startMs + GROUP_MS
    for (;;) {
      try {
        await this.#attempt(writes, losses)
        return
      } catch (error) {
        const isOfWrite = error instanceof WriteRefused
        const isLost = !isOfWrite && isLostConnection(error)
        if (isLost) losses += 1
        const isRefused = error instanceof this.#options.kind.Unavailable
        if (isLost || isRefused || !(await this.#isTakenBack()))
          await this.#options.connection.drop()
        if (isOfWrite) error.write.reject(this.#explain(error.cause))
        const isRepeated = isOfWrite || isLost || CONFLICTS.has(sqlCode(error))
        if (isRefused || !isRepeated || (!isOfWrite && performance.now() > endMs)) {
          this.#refuse(writes, error)
          return
        }
      }
    }
  }

  /** Explains what the server said of a statement; a bug of the service stays as it is. */
  readonly #explain = (error: unknown): unknown => {
    const { kind } = this.#options
    return sqlCode(error) === ''
      ? error
      : new kind.Unavailable(`nothing was written: ${errorMessage(error)}`, { cause: error })
  }

  #refuse(writes: readonly Write<Name, Memory, Needs>[], cause: unknown): void {
    const what =
      this.#doubt === undefined ? 'nothing was written' : 'it is not known what was written'
    const { kind, onProblem } = this.#options
    this.#refusedAtMs = performance.now()
    const error = new kind.Unavailable(`${what}: ${errorMessage(cause)}`, { cause })
    // Whoever wrote is told, too; but not everybody waits for the answer.
    if (this.#doubt !== undefined) onProblem(error)
    for (const { isRejected, reject } of writes) if (!isRejected) reject(error)
  }

  async #isTakenBack(): Promise<boolean> {
    try {
      await (await this.#options.connection.use()).run('ROLLBACK')
      return true
    } catch {
      return false
    }
  }

  /** Resolves once the group is settled. */
  async #attempt(writes: readonly Write<Name, Memory, Needs>[], losses: number): Promise<void> {
    const { connection, kind } = this.#options
    const line = await connection.use()
    const durability = chooseDurability(writes)
    const begin = `${beginPostgres({ durability, losses })} SELECT name, size, peaks FROM ${kind.schema}.take_heads()`
    if (this.#doubt !== undefined) {
      // Whoever may still commit a group in doubt has the lock, so that what is found under it is final.
      const heads = this.#requireGrowth(await line.run<HeadRow>(begin))
      const { group, name } = this.#doubt
      if (await this.#isStored(line, name)) {
        // It may not have reached the standby. Locking the heads wrote to the log, so that this commit returns only once the
        // standby has it, and everything before it.
        await line.commit()
        this.#doubt = undefined
        this.#notify(line)
        this.#settle(group, heads)
        return
      }
      this.#doubt = undefined
      await line.run('ROLLBACK')
    }
    const { group, heads } = await this.#decide(line, { writes, begin })
    if (group.decided.length === 0) {
      await line.run('ROLLBACK')
      return
    }
    await this.#save(line, group)
    this.#settle(
      group,
      eachJournal(kind, (_, name) =>
        group.journals[name].leaves.length > 0 ? group.journals[name].range : heads[name],
      ),
    )
  }

  /** Takes the lock and reads in one flight; everything after it is under the lock of the heads. */
  async #decide(
    line: PostgresLine,
    {
      begin,
      writes,
    }: { readonly begin: string; readonly writes: readonly Write<Name, Memory, Needs>[] },
  ): Promise<{ readonly group: Group<Name, Memory, Needs>; readonly heads: Heads<Name> }> {
    const { kind, memory: groupMemory, runMs } = this.#options
    const running = writes.filter(({ isRejected }) => !isRejected)
    const needs = running.flatMap((write) => (write.needs === undefined ? [] : [write.needs]))
    let refusal: { readonly error: unknown } | undefined
    const rows: Rows = async (text, values) => {
      try {
        return await line.tuples(text, values)
      } catch (error) {
        refusal ??= { error }
        throw error
      }
    }
    const [taken, schema, memory] = await Promise.allSettled([
      line.run<HeadRow>(begin),
      // Under the lock: a process that slept while the schema was contracted writes nothing when it wakes (C44).
      findSchemaFault((text) => line.tuples(text), kind),
      (async () => groupMemory.read(rows, needs))(),
    ])
    if (taken.status === 'rejected') throw taken.reason
    if (schema.status === 'rejected') throw schema.reason
    if (schema.value !== undefined) throw new kind.Unavailable(schema.value)
    if (memory.status === 'rejected')
      throw refusal === undefined ? wrapBug(memory.reason, kind) : refusal.error
    const heads = this.#requireGrowth(taken.value)
    const group = await decideGroup({
      writes: running,
      heads,
      memory: memory.value as Memory,
      rows,
      endsGroup: true,
      explain: this.#explain,
      runMs,
    }).catch((error: unknown) => {
      // A lost connection or a lost race is nobody's fault.
      const cause = error instanceof WriteRefused ? error.cause : undefined
      const isOfGroup = isLostConnection(cause) || CONFLICTS.has(sqlCode(cause))
      throw cause !== undefined && isOfGroup ? cause : error
    })
    return { group, heads }
  }

  /** Sends everything and COMMIT in one flight. Throws the first refusal. */
  async #save(line: PostgresLine, group: Group<Name, Memory, Needs>): Promise<void> {
    const { kind, memory: groupMemory } = this.#options
    const name = { writer: this.writer, number: (this.#attempts += 1) }
    const { schema } = kind
    const grown = (Object.keys(kind.journals) as Name[]).filter(
      (journal) => group.journals[journal].leaves.length > 0,
    )
    const saved = groupMemory.save(group.memory, measureJournals(group.journals))
    this.#doubt = { name, group }
    this.isCommitting = true
    try {
      const sent: Promise<unknown>[] = []
      for (const { text, values } of saved) sent.push(line.ask(text, values))
      for (const { text, values, write } of group.statements)
        sent.push(
          line.ask(text, values).catch((error: unknown) => {
            throw isLostConnection(error) || CONFLICTS.has(sqlCode(error)) || isBehindAnother(error)
              ? error
              : new WriteRefused(write, error)
          }),
        )
      for (const journal of grown)
        sent.push(
          line.ask(...appendStatement(schema, kind.journals[journal], group.journals[journal])),
        )
      // Sent even if nothing was appended: a transaction that only reads does not wait for the standby.
      sent.push(line.ask(`SELECT ${schema}.keep_group($1, $2)`, [name.writer, name.number]))
      sent.push(line.commit())
      if (grown.length > 0) this.#notify(line)
      for (const settled of await Promise.allSettled(sent))
        if (settled.status === 'rejected') throw settled.reason
    } catch (error) {
      // The server did not commit what it refused.
      if (!isLostConnection(error)) this.#doubt = undefined
      throw error
    } finally {
      this.isCommitting = false
    }
    this.#doubt = undefined
  }

  /** Behind the COMMIT, nothing that throws makes the group run again (S12). */
  #settle(group: Group<Name, Memory, Needs>, heads: Heads<Name>): void {
    const { memory: groupMemory, onCommitted } = this.#options
    onCommitted(heads, () => groupMemory.adopt?.(group.memory, measureJournals(group.journals)))
    for (const { resolve } of group.decided) resolve()
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
  #requireGrowth(rows: readonly HeadRow[]): Heads<Name> {
    const { heads, kind } = this.#options
    const known = heads()
    return eachJournal(kind, ({ noun }, name): CompactRange => {
      const row = rows.find((each) => each.name === name)
      const size = row?.size ?? 0
      if (row === undefined || size < known[name].size)
        throw new kind.Unavailable(
          `${noun} went back from ${known[name].size} entries to ${size}: this server lacks what was acknowledged`,
        )
      return headOfRow(size, row.peaks)
    })
  }

  /** Whether a group is committed. Under the lock of the heads, nobody can still be committing it. */
  async #isStored(line: PostgresLine, { number, writer }: GroupName): Promise<boolean> {
    const { schema } = this.#options.kind
    const text = `SELECT FROM ${schema}.journal_writers WHERE writer = $1 AND last_group = $2`
    return (await line.ask(text, [writer, number])).length > 0
  }
}

/** A bug of the service's memory fails its group, and is no lost connection. */
const wrapBug = (error: unknown, { Unavailable }: Pick<PostgresStoreKind<string>, 'Unavailable'>) =>
  new Unavailable(errorMessage(error), { cause: error })

/** The statement was refused because one before it was. */
const isBehindAnother = (error: unknown): boolean => sqlCode(error) === '25P02'
