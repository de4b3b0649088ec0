/**
 * Statements on an open SQLite file: each text is prepared once per connection, and answers at once. What SQLite throws becomes
 * the service's own error here.
 */
import { randomUUID } from 'node:crypto'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { SqlConnection, SqlQuery } from './sql-connection.ts'
import type { Durability, Rows, Statement } from './store.ts'
import type { UnavailableError } from './unavailable.ts'

/** Rows of a statement, of whatever shape the caller says. Throws what SQLite throws. */
export type Ask = (text: string, values?: readonly unknown[]) => readonly never[]

/** Statements by their texts, which are few and all in code; `admit` sees each once. Rows are arrays, or objects where `as` says so. */
export function askOn(
  database: DatabaseSync,
  {
    admit,
    as = 'arrays',
  }: {
    readonly admit?: ((statement: StatementSync, text: string) => void) | undefined
    readonly as?: 'arrays' | 'objects'
  } = {},
): Ask {
  const statements = new Map<string, StatementSync>()
  return (text, values = []) => {
    let statement = statements.get(text)
    if (statement === undefined) {
      // For node:sqlite `$1` is a name. SQLite 3.54 plans a statement anew for each value that it sees in a bare `?`, which takes
      // two thirds of a read's time; the plus hides it. Needless once node:sqlite can ask for stable plans (SQLITE_DBCONFIG_ENABLE_QPSG).
      statement = database.prepare(text.replaceAll(/\$(?=\d)/g, '+?'))
      admit?.(statement, text)
      statement.setReturnArrays(as === 'arrays')
      statements.set(text, statement)
    }
    return statement.all(...(values as readonly SQLInputValue[])) as unknown as readonly never[]
  }
}

/** Refuses statements that return no columns: on the writing connection they would write at once. */
const requireReading = (statement: StatementSync, text: string): void => {
  if (statement.columns().length === 0) throw new TypeError(`not a read: ${text}`)
}

/** Turns what SQLite throws into the service's own error; anything else stays as it is. */
export const explainSqlite =
  (Unavailable: UnavailableError) =>
  (error: unknown): unknown =>
    isOfSqlite(error)
      ? new Unavailable(`the store cannot be used: ${error.message}`, { cause: error })
      : error

function rowsOn(
  database: DatabaseSync,
  Unavailable: UnavailableError,
  admit?: typeof requireReading,
): Rows {
  const ask = askOn(database, { admit })
  const explain = explainSqlite(Unavailable)
  return async (text, values) => {
    try {
      return ask(text, values)
    } catch (error) {
      throw explain(error)
    }
  }
}

/** Rows of statements that only read. Rejects with the service's error. */
export const openSqliteRows = (database: DatabaseSync, Unavailable: UnavailableError): Rows =>
  rowsOn(database, Unavailable, requireReading)

/** Rows of any statements, on a connection that nobody else uses meanwhile. Rejects with the service's error. */
export const openWritingRows = (database: DatabaseSync, Unavailable: UnavailableError): Rows =>
  rowsOn(database, Unavailable)

/** Runs statements in one transaction and one step, on a connection with none open. Throws what SQLite throws. */
export function runAtOnce(database: DatabaseSync, statements: readonly Statement[]): void {
  // The lock may be another's, and is not needed for nothing.
  if (statements.length === 0) return
  const ask = askOn(database)
  ask('BEGIN IMMEDIATE')
  try {
    for (const { text, values } of statements) ask(text, values)
    ask('COMMIT')
  } finally {
    if (database.isTransaction) ask('ROLLBACK')
  }
}

/** Whether SQLite threw it, because of the outside world; anything else is a bug. */
export const isOfSqlite = (error: unknown): error is Error =>
  error instanceof Error && 'errcode' in error

/** Runs steps on a database, with what SQLite throws as the service's own error. */
export function createGuards(Unavailable: UnavailableError) {
  const explain = explainSqlite(Unavailable)
  return {
    guardedNow: <Result>(run: () => Result): Result => {
      try {
        return run()
      } catch (error) {
        throw explain(error)
      }
    },
    /** The same function, with failures as the service's error. */
    guarded:
      <Values extends readonly unknown[], Result>(
        run: (...values: Values) => Result | Promise<Result>,
      ): ((...values: Values) => Promise<Result>) =>
      async (...values) => {
        try {
          return await run(...values)
        } catch (error) {
          throw explain(error)
        }
      },
  }
}

/**
 * This process asked each file this last: everything there runs one after another. A transaction may be between two
 * statements when another wants to begin; on a second connection to the file, BEGIN would block the whole process until it gave
 * up.
 */
const lastByPath = new Map<string, Promise<unknown>>()

/** SqlConnection on SQLite: a run waits only for its own statements. */
export class SqliteConnection implements SqlConnection {
  readonly engine = 'sqlite'
  readonly #database: DatabaseSync
  readonly #Unavailable: UnavailableError
  readonly #ask: Ask
  /** Of its file; a file in memory is this connection's alone. */
  readonly #path: string
  #durability: Durability = 'synced'

  /** Takes over an open file that is in WAL mode with synchronous FULL. */
  constructor(database: DatabaseSync, Unavailable: UnavailableError) {
    this.#database = database
    this.#ask = askOn(database, { as: 'objects' })
    this.#path = database.location() ?? `memory ${randomUUID()}`
    this.#Unavailable = Unavailable
  }

  readonly textCell = (text: string): string => text

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
    const { guarded } = createGuards(this.#Unavailable)
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
