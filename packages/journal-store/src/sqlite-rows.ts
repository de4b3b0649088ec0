/** Statements on an open SQLite file: each text is prepared once per connection, and answers at once. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { isOfSqlite } from './sqlite-database.ts'
import type { Rows, Statement } from './store.ts'
import type { UnavailableError } from './unavailable.ts'

/** Rows of a statement, as arrays, of whatever shape the caller says. Throws what SQLite throws. */
export type Ask = (text: string, values?: readonly unknown[]) => readonly never[]

/** Statements by their texts, which are few and all in code. `admit` sees each statement once. */
export function askOn(
  database: DatabaseSync,
  admit: (statement: StatementSync, text: string) => void = () => undefined,
): Ask {
  const statements = new Map<string, StatementSync>()
  return (text, values = []) => {
    let statement = statements.get(text)
    if (statement === undefined) {
      // For node:sqlite `$1` is a name.
      statement = database.prepare(text.replaceAll(/\$(?=\d)/g, '?'))
      admit(statement, text)
      statement.setReturnArrays(true)
      statements.set(text, statement)
    }
    return statement.all(...(values as readonly SQLInputValue[])) as unknown as readonly never[]
  }
}

/** Refuses statements that return no columns: on the writing connection they would write at once. */
const requireReading = (statement: StatementSync, text: string): void => {
  if (statement.columns().length === 0) throw new TypeError(`not a read: ${text}`)
}

/** What SQLite throws, as the service's own error; anything else stays as it is. */
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
  const ask = askOn(database, admit)
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
