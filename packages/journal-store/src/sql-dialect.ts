/** Statements over rows of values, which the engines word differently, and how to continue with their answers. */
import type { Awaitable } from './journal-store.ts'

type SqlType = 'text' | 'bigint'

export type SqlDialect = {
  /** The rows to insert, from values of these types. */
  readonly rowsOf: (...types: readonly SqlType[]) => string
  /** Whether columns of these types are those of one of the rows. */
  readonly isOneOf: (columns: Readonly<Record<string, SqlType>>) => string
  /** The values of each statement over rows: one for each row, or one for all of them, by columns. */
  readonly batches: (rows: readonly (readonly unknown[])[]) => readonly (readonly unknown[])[]
}

export const SQLITE_DIALECT: SqlDialect = {
  rowsOf: (...types) => `VALUES (${types.map((_, at) => `$${at + 1}`).join(', ')})`,
  isOneOf: (columns) =>
    Object.keys(columns)
      .map((column, at) => `${column} = $${at + 1}`)
      .join(' AND '),
  batches: (rows) => rows,
}

const unnested = (types: readonly SqlType[]): string =>
  `SELECT * FROM unnest(${types.map((type, at) => `$${at + 1}::${type}[]`).join(', ')})`

export const POSTGRES_DIALECT: SqlDialect = {
  rowsOf: (...types) => unnested(types),
  isOneOf: (columns) =>
    `(${Object.keys(columns).join(', ')}) IN (${unnested(Object.values(columns))})`,
  batches: (rows) => {
    const [first = []] = rows
    return rows.length === 0 ? [] : [first.map((_, column) => rows.map((row) => row[column]))]
  },
}

/** Continues with the answers, at once unless one is a promise: a write on an embedded engine must not wait. */
export function whenAnswered<const Asked extends readonly unknown[], Result>(
  asked: Asked,
  run: (answers: { -readonly [At in keyof Asked]: Awaited<Asked[At]> }) => Awaitable<Result>,
): Awaitable<Result> {
  for (const each of asked) if (each instanceof Promise) return Promise.all(asked).then(run)
  return run(asked as { -readonly [At in keyof Asked]: Awaited<Asked[At]> })
}
