/** A move reads and writes these: rows of a store's own tables, in pages, from one engine's statement to the other's. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { toBytes } from './postgres-commit.ts'
import type { PostgresQuery } from './postgres-connection.ts'
import type { PostgresStoreKind } from './postgres-store-kind.ts'
import { askOn } from './sqlite-connection.ts'
import type { SqliteFileKind } from './sqlite-database.ts'
import type { SqliteKind } from './sqlite-journals.ts'
import type { Cell } from './store.ts'

/** Entries or rows per read and per write. */
const ROWS_PER_WRITE = 1_000

/** A row. */
export type Cells = readonly Cell[]

/** A second file, beside the store's; only SQLite has it. */
export type FileBeside = { readonly ending: string; readonly kind: SqliteFileKind }

/** A PostgreSQL table with all columns of the SQLite table. */
type MovedTable = {
  readonly table: string
  /** How PostgreSQL orders the rows as SQLite does, if the order matters. */
  readonly order?: string
  readonly beside?: FileBeside
}

/** Rows that differ between the engines. */
type MovedRows = {
  readonly from: string
  /** Its values are the columns as arrays on PostgreSQL, the cells of one row on SQLite. */
  readonly into: string
  readonly cells?: (row: Cells) => Cells
  readonly beside?: FileBeside
}

/** A move covers this. The service's own rows come before the entries, in this order. */
export type StoreMove<Name extends string> = {
  readonly sqlite: SqliteKind<Name>
  readonly postgres: PostgresStoreKind<Name>
  readonly tables: readonly MovedTable[]
  readonly toPostgres?: readonly MovedRows[]
  readonly toSqlite?: readonly MovedRows[]
  /** Statements that derive counts from the moved rows; they run last. */
  readonly last?: { readonly postgres: string; readonly sqlite: string }
}

const toText = (cell: Cell): Cell =>
  cell instanceof Uint8Array ? Buffer.from(cell).toString() : cell
export const toSqlite = (cell: unknown): SQLInputValue =>
  typeof cell === 'boolean' ? Number(cell) : (cell as SQLInputValue)

/** Rows of a statement on SQLite. */
export function* readPages(database: DatabaseSync, sql: string): Generator<readonly Cells[]> {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  let page: Cells[] = []
  for (const row of statement.iterate()) {
    page.push(row as unknown as Cells)
    if (page.length < ROWS_PER_WRITE) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

let cursors = 0

/** Rows of a statement on PostgreSQL, within a transaction. */
export async function* fetched(
  query: PostgresQuery,
  sql: string,
): AsyncGenerator<readonly Cells[]> {
  // A new name for each cursor, since a prepared statement has the columns of one cursor.
  const cursor = `moved_${(cursors += 1)}`
  await query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`)
  for (;;) {
    const rows = await query<Record<string, Cell>>(`FETCH ${ROWS_PER_WRITE} FROM ${cursor}`)
    if (rows.length > 0) yield rows.map((row) => Object.values(row))
    if (rows.length < ROWS_PER_WRITE) break
  }
  await query(`CLOSE ${cursor}`)
}

type Column = { readonly name: string; readonly type: string; readonly isText: boolean }

/** The columns of a table of SQLite, with PostgreSQL's types. */
async function readColumns(
  query: PostgresQuery,
  database: DatabaseSync,
  [schema, table]: readonly [schema: string, table: string],
): Promise<readonly Column[]> {
  const typed = await query<Pick<Column, 'name' | 'type'>>(
    `SELECT attname::text AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
    [`${schema}.${table}`],
  )
  const known: readonly (readonly [name: string, type: string])[] = askOn(database)(
    'SELECT name, type FROM pragma_table_info($1)',
    [table],
  )
  return known.map(([name, type]) => {
    const found = typed.find((column) => column.name === name)
    if (found === undefined) throw new Error(`PostgreSQL has no ${table}.${name}`)
    return { ...found, isText: type === 'TEXT' }
  })
}

/** Its rows may exist already: whoever opens a store registers the active key. */
const KEYS = 'seal_keys'

/** All rows of a store's own, in the direction of its move. */
export async function readRows<Name extends string>(
  move: StoreMove<Name>,
  {
    direction,
    findFile: openBeside,
    query,
  }: {
    readonly query: PostgresQuery
    readonly findFile: (beside: FileBeside | undefined) => DatabaseSync
    readonly direction: 'toPostgres' | 'toSqlite'
  },
): Promise<readonly MovedRows[]> {
  const { schema, seal } = move.postgres
  const keys: readonly MovedTable[] = seal === undefined ? [] : [{ table: KEYS }]
  const copied: MovedRows[] = []
  for (const { beside, order, table } of [...move.tables, ...keys]) {
    const columns = await readColumns(query, openBeside(beside), [schema, table])
    const names = columns.map(({ name }) => name).join(', ')
    const rows =
      direction === 'toPostgres'
        ? {
            from: `SELECT ${names} FROM ${table} ORDER BY rowid`,
            into: `INSERT INTO ${schema}.${table} (${names}) SELECT * FROM unnest(${columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')})${table === KEYS ? ' ON CONFLICT DO NOTHING' : ''}`,
            cells: (row: Cells) =>
              row.map((cell, at) => (columns[at]?.type === 'bytea' ? toBytes(cell) : cell)),
          }
        : {
            from: `SELECT ${names} FROM ${schema}.${table}${order === undefined ? '' : ` ORDER BY ${order}`}`,
            into: `INSERT ${table === KEYS ? 'OR IGNORE ' : ''}INTO ${table} (${names}) VALUES (${columns.map(() => '?').join(', ')})`,
            cells: (row: Cells) =>
              row.map((cell, at) => (columns[at]?.isText === true ? toText(cell) : cell)),
          }
    copied.push(beside === undefined ? rows : { ...rows, beside })
  }
  return [...copied, ...(move[direction] ?? [])]
}
