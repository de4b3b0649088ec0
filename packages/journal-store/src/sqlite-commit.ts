/**
 * The appending half of the store on SQLite. A group is read and decided without a lock, then written in one synchronous step;
 * if another connection has committed meanwhile, it is decided again under the file's lock. Where several processes write all
 * the time, it is decided under the lock at once. Who commits here also knows which changes of the file are not its own.
 */
import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { eachJournal, type GrowingJournal, joinPeaks, LEAVES_PER_NODE } from './journal.ts'
import { type Ask, explainSqlite, isOfSqlite, openSqliteRows } from './sqlite-connection.ts'
import { readStoredHeads, type SqliteKind } from './sqlite-journals.ts'
import type { GroupMemory, Rows } from './store.ts'
import { errorMessage } from './unavailable.ts'
import {
  chooseDurability,
  decideGroup,
  type Group,
  type KnownHeads,
  measureJournals,
  type Write,
  WriteRefused,
} from './write-group.ts'

/** Another connection has committed since the group was read: an operator's command, say. */
class Overtaken extends Error {}

type SqliteCommitOptions<Name extends string, Memory, Needs> = {
  /** Statements on the writing connection, on which nothing is open between groups. */
  readonly ask: Ask
  readonly database: DatabaseSync
  readonly kind: SqliteKind<Name>
  readonly heads: KnownHeads<Name>
  readonly opening: {
    readonly memory: GroupMemory<Name, Memory, Needs>
    readonly runMs?: number
    readonly onProblem?: ((error: unknown) => void) | undefined
  }
}

/** Commits groups of writes; see openWriteQueue. */
export class SqliteCommit<Name extends string, Memory, Needs> {
  readonly #options: SqliteCommitOptions<Name, Memory, Needs>
  readonly #rows: Rows
  readonly #heads: KnownHeads<Name>
  /** SQLite's count of other connections' commits. */
  #seenVersion: number | undefined
  #isRelaxed = false
  /** How the file was at the last look or own commit; undefined while nobody asks. */
  #outline: string | undefined
  #outsideChanges = 0

  constructor(options: SqliteCommitOptions<Name, Memory, Needs>) {
    this.#options = options
    this.#rows = openSqliteRows(options.database, options.kind.Unavailable)
    this.#heads = options.heads
    this.#seenVersion = this.#readVersion()
  }

  /** Notices what another process has committed. */
  readonly catchUp = async (): Promise<void> => this.#takeUp()

  /** A different text once anything but the commits made here has changed the file. The first call begins to watch. */
  readonly outsideMark = (): string => {
    try {
      this.#lookOutside()
    } catch (error) {
      throw this.#explain(error)
    }
    return String(this.#outsideChanges)
  }

  #takeUp(): void {
    const version = this.#readVersion()
    if (version === this.#seenVersion) return
    const heads = readStoredHeads(this.#options.ask, this.#options.kind)
    this.#seenVersion = version
    this.#heads.tell(this.#heads.take(heads))
  }

  /** Settles a group; never rejects. */
  readonly commit = async (writes: readonly Write<Name, Memory, Needs>[]): Promise<void> => {
    this.#rollBack()
    for (let isLocked = !this.#options.kind.isAlone; ; ) {
      try {
        await this.#attempt(writes, isLocked)
        return
      } catch (error) {
        this.#rollBack()
        this.#heads.attempt(() => this.#setRelaxed(false))
        if (error instanceof Overtaken) isLocked = true
        else if (error instanceof WriteRefused) error.write.reject(this.#explain(error.cause))
        else {
          this.#refuse(writes, error)
          return
        }
      }
    }
  }

  async #attempt(writes: readonly Write<Name, Memory, Needs>[], isLocked: boolean): Promise<void> {
    const { memory } = this.#options.opening
    if (isLocked) this.#begin(writes)
    const group = await this.#decide(writes)
    if (!isLocked) {
      if (group.decided.length === 0) return
      this.#begin(group.decided)
      if (this.#readVersion() !== this.#seenVersion) throw new Overtaken()
    }
    this.#save(group)
    this.#commitNow()
    this.#setRelaxed(false)
    // Only now is it so, for this process too.
    this.#heads.attempt(() => memory.adopt?.(group.memory, measureJournals(group.journals)))
    const { kind } = this.#options
    this.#heads.tell(this.#heads.take(eachJournal(kind, (_, name) => group.journals[name].range)))
    for (const { resolve } of group.decided) resolve()
  }

  async #decide(
    writes: readonly Write<Name, Memory, Needs>[],
  ): Promise<Group<Name, Memory, Needs>> {
    this.#takeUp()
    const { memory: groupMemory, runMs } = this.#options.opening
    const running = writes.filter(({ isRejected }) => !isRejected)
    const needs = running.flatMap((write) => (write.needs === undefined ? [] : [write.needs]))
    const memory = (await groupMemory.read(this.#rows, needs)) as Memory
    return decideGroup({
      writes: running,
      heads: this.#heads.now(),
      memory,
      rows: this.#rows,
      endsGroup: false,
      explain: this.#explain,
      runMs,
    })
  }

  #save({ journals, memory, statements }: Group<Name, Memory, Needs>): void {
    const { ask, database, kind, opening } = this.#options
    for (const { text, values } of opening.memory.save(memory, measureJournals(journals)))
      ask(text, values)
    eachJournal(kind, (table, name) => saveEntries(ask, { name, table, journal: journals[name] }))
    for (const { text, values, write } of statements) {
      try {
        ask(text, values)
      } catch (error) {
        // After some errors (disk full, I/O) SQLite has rolled back by itself: they are not of this write.
        throw database.isTransaction && isOfSqlite(error) ? new WriteRefused(write, error) : error
      }
    }
  }

  #begin(writes: readonly Write<Name, Memory, Needs>[]): void {
    this.#setRelaxed(chooseDurability(writes) === 'relaxed')
    this.#options.ask('BEGIN IMMEDIATE')
  }

  /** In WAL the next full commit carries a relaxed one to the disk. */
  #setRelaxed(isRelaxed: boolean): void {
    if (this.#isRelaxed === isRelaxed) return
    this.#options.database.exec(`PRAGMA synchronous = ${isRelaxed ? 'NORMAL' : 'FULL'}`)
    this.#isRelaxed = isRelaxed
  }

  #commitNow(): void {
    const isWatched = this.#outline !== undefined
    // What others changed before is not this commit's, nor what they commit right behind it.
    if (isWatched) this.#lookOutside()
    const version = this.#readVersion()
    this.#options.ask('COMMIT')
    // If it cannot be read, the next look finds a change: what is committed is acknowledged (S12).
    if (isWatched) this.#heads.attempt(() => void (this.#outline = this.#readOutline(version)))
  }

  #lookOutside(): void {
    const outline = this.#readOutline()
    if (this.#outline !== undefined && outline !== this.#outline) this.#outsideChanges += 1
    this.#outline = outline
  }

  #readOutline(version = this.#readVersion()): string {
    const path = this.#options.database.location()
    const files = path === null ? [] : [path, `${path}-wal`]
    return [version, ...files.map(outlineFile)].join()
  }

  #rollBack(): void {
    try {
      if (this.#options.database.isTransaction) this.#options.ask('ROLLBACK')
    } catch (error) {
      // The next group begins with it.
      this.#options.opening.onProblem?.(error)
    }
  }

  #refuse(writes: readonly Write<Name, Memory, Needs>[], cause: unknown): void {
    const reason = `nothing was written: ${errorMessage(cause)}`
    const error = new this.#options.kind.Unavailable(reason, { cause })
    for (const { isRejected, reject } of writes) if (!isRejected) reject(error)
  }

  readonly #explain = (error: unknown): unknown =>
    explainSqlite(this.#options.kind.Unavailable)(error)

  #readVersion(): number | undefined {
    const rows: readonly (readonly [number])[] = this.#options.ask('PRAGMA data_version')
    return rows[0]?.[0]
  }
}

/** A file's size and times; times of change cannot be set back, times of writing can. */
function outlineFile(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? '-' : `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`
}

/** Stores what a group appended to a journal, and its head. */
function saveEntries(
  ask: Ask,
  {
    journal: { from, leaves, nodes, range, rows },
    name,
    table: { columns, table },
  }: {
    readonly name: string
    readonly table: { readonly columns: readonly string[]; readonly table: string }
    readonly journal: GrowingJournal
  },
): void {
  if (leaves.length === 0) return
  const names = ['at', 'leaf_hash', ...columns]
  const places = names.map((_, at) => `$${at + 1}`)
  const insert = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${places.join(', ')})`
  for (const [nth, leaf] of leaves.entries()) ask(insert, [from + nth, leaf, ...(rows[nth] ?? [])])
  const place = Math.floor(from / LEAVES_PER_NODE)
  for (const [nth, node] of nodes.entries())
    ask(`INSERT INTO ${table}_nodes (place, hash) VALUES ($1, $2)`, [place + nth, node])
  ask('UPDATE journals SET size = $1, peaks = $2 WHERE name = $3', [
    range.size,
    joinPeaks(range),
    name,
  ])
}
