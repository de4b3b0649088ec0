/**
 * SqlConnection on SQLite. Each statement is prepared once, and done within the iteration of the event loop that asks for it:
 * a run waits only for its own statements.
 */
import { randomUUID } from 'node:crypto'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { SqlConnection, SqlQuery } from './sql-connection.ts'
import { guardsOf } from './sqlite-database.ts'
import type { Durability } from './store.ts'
import type { UnavailableError } from './unavailable.ts'

/**
 * What this process asked last of each file: everything there runs one after another. A transaction may be between two
 * statements when another wants to begin; on a second connection to the file, BEGIN would block the whole process until it gave
 * up.
 */
const lastByPath = new Map<string, Promise<unknown>>()

/** Statements by their texts, which are few and all in code: each is prepared once. */
function openStatements(database: DatabaseSync) {
  const statements = new Map<string, StatementSync>()
  /** Rows of any shape: the caller says which. */
  return (text: string, values: readonly unknown[] = []): readonly never[] => {
    let statement = statements.get(text)
    if (statement === undefined) {
      statement = database.prepare(text.replaceAll(/\$(?=\d)/g, '?'))
      statements.set(text, statement)
    }
    return statement.all(...(values as readonly SQLInputValue[])) as unknown as readonly never[]
  }
}

export class SqliteConnection implements SqlConnection {
  readonly #database: DatabaseSync
  readonly #Unavailable: UnavailableError
  readonly #ask: ReturnType<typeof openStatements>
  /** Of its file; a file in memory is this connection's alone. */
  readonly #path: string
  #durability: Durability = 'synced'

  /** Takes over an open file that is in WAL mode with synchronous FULL. */
  constructor(database: DatabaseSync, Unavailable: UnavailableError) {
    this.#database = database
    this.#ask = openStatements(database)
    this.#path = database.location() ?? `memory ${randomUUID()}`
    this.#Unavailable = Unavailable
  }

  readonly read: SqlQuery = (text, values = []) => this.#behindOthers(() => this.#ask(text, values))

  transaction<Result>(
    run: (query: SqlQuery) => Promise<Result>,
    durability: Durability = 'synced',
  ): Promise<Result> {
    return this.#behindOthers(() => this.#inTransaction(run, durability))
  }

  async end(): Promise<void> {
    await lastByPath.get(this.#path)
    if (this.#database.isOpen) this.#database.close()
  }

  #behindOthers<Result>(run: () => Promise<Result> | Result): Promise<Result> {
    const { guarded } = guardsOf(this.#Unavailable)
    const before = lastByPath.get(this.#path) ?? Promise.resolve()
    const running = before.then(
      guarded(() => {
        if (!this.#database.isOpen) throw new this.#Unavailable('the store is closed')
        return run()
      }),
    )
    const ended = running.catch(() => undefined)
    lastByPath.set(this.#path, ended)
    const forget = (): void => {
      if (lastByPath.get(this.#path) === ended) lastByPath.delete(this.#path)
    }
    ended.then(forget, forget)
    return running
  }

  async #inTransaction<Result>(
    run: (query: SqlQuery) => Promise<Result>,
    durability: Durability,
  ): Promise<Result> {
    let isOpen = true
    const query: SqlQuery = async (text, values = []) => {
      if (!isOpen) throw new Error('a statement is asked within its transaction')
      return this.#ask(text, values)
    }
    // In WAL the next synced commit carries a relaxed one to the disk.
    if (this.#durability !== durability)
      this.#database.exec(`PRAGMA synchronous = ${durability === 'relaxed' ? 'NORMAL' : 'FULL'}`)
    this.#durability = durability
    try {
      this.#ask('BEGIN IMMEDIATE')
      const result = await run(query)
      this.#ask('COMMIT')
      return result
    } catch (error) {
      if (this.#database.isTransaction) this.#ask('ROLLBACK')
      throw error
    } finally {
      isOpen = false
    }
  }
}
