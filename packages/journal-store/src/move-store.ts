/**
 * Moving a store from one engine to the other: entries are appended again in their order, with the leaf hashes that are stored,
 * and rows of the service's own are copied before them. Both journals must come to the same root.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { type Awaitable, type Journal, type UnavailableError } from './journal-store.ts'
import type { PostgresCell } from './postgres-group.ts'
import type { PostgresJournalStore } from './postgres-journal-store.ts'
import type { PostgresJournalTable, PostgresStoreKind } from './postgres-store-kind.ts'
import { bodyOfBytes } from './sealed-bodies.ts'
import type { SqliteJournalStore } from './sqlite-journal-store.ts'
import type { SqliteStoreKind } from './sqlite-store-kind.ts'

/** Entries or rows in one read and one write. */
const ROWS_PER_WRITE = 1_000

type Column = PostgresJournalTable['columns'][number]
type Cells = readonly PostgresCell[]
type Entry = { readonly leafHash: Uint8Array; readonly cells: Cells }

/** A table of the service's own, in the same columns on both engines; the first is its key. */
export type MovedTable = { readonly table: string; readonly columns: readonly Column[] }

/** A store that is moved from or to. */
type Place<Name extends string> = {
  readonly journals: Readonly<Record<Name, Pick<Journal, 'size' | 'rootHash'>>>
  /** Entries from an index on, in order. */
  entries(name: Name, from: number): Awaitable<readonly Entry[]>
  append(name: Name, entries: readonly Entry[]): Promise<unknown>
  /** Rows behind a key, in its order; all from the first without one. */
  rows(of: MovedTable, after: PostgresCell | undefined): Awaitable<readonly Cells[]>
  insert(of: MovedTable, rows: readonly Cells[]): Promise<unknown>
}

const namesOf = ({ columns }: Pick<MovedTable, 'columns'>): string =>
  columns.map(({ name }) => name).join(', ')

/** Bytes on PostgreSQL are text or sealed bytes on SQLite. */
const toSqlite = (cells: Cells, { columns }: Pick<MovedTable, 'columns'>): SQLInputValue[] =>
  cells.map((cell, at) =>
    columns[at]?.type === 'bytea' && cell instanceof Uint8Array ? bodyOfBytes(cell) : cell,
  )

const toPostgres = (cells: Cells, { columns }: Pick<MovedTable, 'columns'>): Cells =>
  cells.map((cell, at) =>
    columns[at]?.type === 'bytea' && typeof cell === 'string' ? Buffer.from(cell) : cell,
  )

type Kinds<Name extends string> = {
  readonly sqlite: SqliteStoreKind<Name>
  readonly postgres: PostgresStoreKind<Name>
}

function readArrays(database: DatabaseSync, sql: string, values: SQLInputValue[]): Cells[] {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement.all(...values) as unknown as Cells[]
}

/** A store on SQLite as a place. */
export function sqlitePlace<Name extends string>(
  store: SqliteJournalStore<Name>,
  kinds: Kinds<Name>,
): Place<Name> {
  const { database, journals } = store
  return {
    journals,
    entries: (name, from) => {
      const { hash, hashForm, index, table } = kinds.sqlite.journals[name]
      const columns = namesOf(kinds.postgres.journals[name])
      return readArrays(
        database,
        `SELECT ${hash}, ${columns} FROM ${table} WHERE ${index} >= ? ORDER BY ${index} LIMIT ${ROWS_PER_WRITE}`,
        [from],
      ).map(([leaf, ...cells]) => ({
        leafHash:
          hashForm === 'hex' ? Buffer.from(String(leaf), 'hex') : (leaf as unknown as Uint8Array),
        cells,
      }))
    },
    append: (name, entries) =>
      store.write(() => {
        for (const { cells, leafHash } of entries)
          journals[name].append(leafHash, toSqlite(cells, kinds.postgres.journals[name]))
      }),
    rows: (of, after) => {
      const key = of.columns[0]?.name ?? ''
      return readArrays(
        database,
        `SELECT ${namesOf(of)} FROM ${of.table} ${after === undefined ? '' : `WHERE ${key} > ?`} ORDER BY ${key} LIMIT ${ROWS_PER_WRITE}`,
        after === undefined ? [] : [after],
      )
    },
    insert: (of, rows) =>
      store.write(() => {
        const places = of.columns.map(() => '?').join(', ')
        const insert = database.prepare(
          `INSERT OR IGNORE INTO ${of.table} (${namesOf(of)}) VALUES (${places})`,
        )
        for (const row of rows) insert.run(...toSqlite(row, of))
      }),
  }
}

/** A store on PostgreSQL as a place. */
export function postgresPlace<Name extends string>(
  store: PostgresJournalStore<Name>,
  { postgres }: Kinds<Name>,
): Place<Name> {
  const { schema } = postgres
  const arrays = async (columns: readonly Column[], sql: string, values: readonly unknown[]) =>
    (await store.read<Record<string, PostgresCell>>(sql, values)).map((row) =>
      columns.map(({ name }) => row[name] ?? null),
    )
  return {
    journals: store.journals,
    entries: async (name, from) => {
      const { columns, table } = postgres.journals[name]
      const hashed: readonly Column[] = [{ name: 'leaf_hash', type: 'bytea' }, ...columns]
      const sql = `SELECT ${namesOf({ columns: hashed })} FROM ${schema}.${table} WHERE at >= $1 ORDER BY at LIMIT ${ROWS_PER_WRITE}`
      return (await arrays(hashed, sql, [from])).map(([leafHash, ...cells]) => ({
        leafHash: leafHash as unknown as Uint8Array,
        cells,
      }))
    },
    append: (name, entries) =>
      store.write(({ journals }) => {
        for (const { cells, leafHash } of entries)
          journals[name].append(leafHash, toPostgres(cells, postgres.journals[name]))
      }),
    rows: (of, after) => {
      const key = of.columns[0]?.name ?? ''
      const where = after === undefined ? '' : `WHERE ${key} > $1`
      const sql = `SELECT ${namesOf(of)} FROM ${schema}.${of.table} ${where} ORDER BY ${key} LIMIT ${ROWS_PER_WRITE}`
      return arrays(of.columns, sql, after === undefined ? [] : [after])
    },
    insert: (of, rows) => {
      const types = of.columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')
      const moved = rows.map((row) => toPostgres(row, of))
      const sql = `INSERT INTO ${schema}.${of.table} (${namesOf(of)}) SELECT * FROM unnest(${types}) ON CONFLICT DO NOTHING`
      return store.writeRows((query) =>
        query(
          sql,
          of.columns.map((_, at) => moved.map((row) => row[at])),
        ),
      )
    },
  }
}

/**
 * Moves everything into an empty store; both belong to this process alone meanwhile. Rejects with the service's error where the
 * target is not empty, or the moved journals do not come to the same roots; the target is to be thrown away then.
 */
export async function moveStore<Name extends string>(
  { from, to }: { readonly from: Place<Name>; readonly to: Place<Name> },
  of: {
    readonly names: readonly Name[]
    readonly tables: readonly MovedTable[]
    readonly Unavailable: UnavailableError
  },
): Promise<Readonly<Record<Name, number>>> {
  const { names, tables, Unavailable } = of
  if (names.some((name) => to.journals[name].size > 0))
    throw new Unavailable('the store to move to is not empty')
  for (const table of tables) {
    for (let after: PostgresCell | undefined; ; ) {
      const rows = await from.rows(table, after)
      if (rows.length > 0) await to.insert(table, rows)
      if (rows.length < ROWS_PER_WRITE) break
      after = rows.at(-1)?.[0]
    }
  }
  const moved = {} as Record<Name, number>
  for (const name of names) {
    const [source, target] = [from.journals[name], to.journals[name]]
    while (target.size < source.size) {
      const entries = await from.entries(name, target.size)
      if (entries.length === 0) break
      await to.append(name, entries)
    }
    if (Buffer.compare(source.rootHash(), target.rootHash()) !== 0)
      throw new Unavailable(`the journal ${name} did not come to the same root`)
    moved[name] = target.size
  }
  return moved
}
