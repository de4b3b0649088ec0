/**
 * SqlConnection on SQLite. Each statement is prepared once, and done within the iteration of the event loop that asks for it:
 * a run waits only for its own statements.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Awaitable, Durability, UnavailableError } from './journal-store.ts'
import type { SqlConnection, SqlQuery, TupleQuery } from './sql-connection.ts'
import { guardsOf } from './sqlite-database.ts'

/**
 * What this process asked last, of any file: everything runs one after another. A transaction may be between two statements
 * when another wants to begin; on a second connection to the same file, BEGIN would block the whole process until it gave up.
 */
let last: Promise<unknown> = Promise.resolve()

/** Statements by their texts, which are few and all in code: each is prepared once. */
function statementsOf(database: DatabaseSync, isTuples: boolean) {
  const statements = new Map<string, StatementSync>()
  /** Rows of any shape: the caller says which. */
  return (text: string, values: readonly unknown[] = []): readonly never[] => {
    let statement = statements.get(text)
    if (statement === undefined) {
      statement = database.prepare(text.replaceAll(/\$(?=\d)/g, '?'))
      statement.setReturnArrays(isTuples)
      statements.set(text, statement)
    }
    return statement.all(...(values as readonly SQLInputValue[])) as unknown as readonly never[]
  }
}

/** TupleQuery on SQLite, which answers at once, in the connection's transaction if there is one. Throws what SQLite throws. */
export const sqliteTuples = (database: DatabaseSync): TupleQuery => statementsOf(database, true)

/** The same with failures as the service's error: for use outside a group of writes. */
export function guardedTuples(tuples: TupleQuery, Unavailable: UnavailableError): TupleQuery {
  const { guardedNow } = guardsOf(Unavailable)
  return (text, values) => guardedNow(() => tuples(text, values))
}

/** Runs statements that answer at once in one transaction. Throws what SQLite throws. */
export function sqliteAtOnce<Result>(
  database: DatabaseSync,
  run: (ask: TupleQuery) => Result,
): Result {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = run(sqliteTuples(database))
    database.exec('COMMIT')
    return result
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK')
  }
}

export class SqliteConnection implements SqlConnection {
  readonly #database: DatabaseSync
  readonly #Unavailable: UnavailableError
  readonly #ask: ReturnType<typeof statementsOf>
  #durability: Durability = 'synced'

  /** Takes over an open file that is in WAL mode with synchronous FULL. */
  constructor(database: DatabaseSync, Unavailable: UnavailableError) {
    this.#database = database
    this.#ask = statementsOf(database, false)
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
    await last
    if (this.#database.isOpen) this.#database.close()
  }

  #behindOthers<Result>(run: () => Awaitable<Result>): Promise<Result> {
    const { guarded } = guardsOf(this.#Unavailable)
    const running = last.then(
      guarded(() => {
        if (!this.#database.isOpen) throw new this.#Unavailable('the store is closed')
        return run()
      }),
    )
    last = running.catch(() => undefined)
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
