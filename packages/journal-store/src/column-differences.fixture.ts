// Both engines hold the same columns: a store's SQLite schemas are read beside its PostgreSQL schema, and what differs is named.
import { DatabaseSync } from 'node:sqlite'
import { runSql } from './postgres-server.fixture.ts'
import type { SqliteFileKind } from './sqlite-database.ts'

/** SQLite's type for each of PostgreSQL's that our schemas use. */
const SQLITE_TYPES: Readonly<Record<string, string>> = {
  bigint: 'INTEGER',
  integer: 'INTEGER',
  boolean: 'INTEGER',
  'double precision': 'REAL',
  text: 'TEXT',
  uuid: 'TEXT',
  bytea: 'BLOB',
}

/** `table.column` → its type in SQLite's words, with `?` where it may be null. */
type Columns = ReadonlyMap<string, string>

function readSqliteColumns(migrations: readonly string[]): Columns {
  const database = new DatabaseSync(':memory:')
  try {
    for (const migration of migrations) database.exec(migration)
    const rows = database
      .prepare(
        `SELECT t.name || '.' || c.name AS name, c.type || iif(c."notnull" OR c.pk, '', '?') AS type
         FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c
         WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
      )
      .all()
    return new Map(rows.map(({ name, type }) => [String(name), String(type)]))
  } finally {
    database.close()
  }
}

async function readPostgresColumns(ownerUrl: string, schema: string): Promise<Columns> {
  const { rows } = await runSql(
    ownerUrl,
    `SELECT table_name || '.' || column_name AS name, data_type AS type,
       CASE is_nullable WHEN 'YES' THEN '?' ELSE '' END AS ending
     FROM information_schema.columns WHERE table_schema = '${schema}'`,
  )
  return new Map(
    rows.map(({ ending, name, type }) => [
      String(name),
      `${SQLITE_TYPES[String(type)] ?? String(type)}${String(ending)}`,
    ]),
  )
}

const collectTables = (columns: Columns): ReadonlySet<string> =>
  new Set([...columns.keys()].map((column) => column.slice(0, column.indexOf('.'))))

/**
 * What the engines' schemas of one store do not share, in order of table and column.
 *
 * @example ["events.search: SQLite none, PostgreSQL tsvector"]
 */
export async function findColumnDifferences({
  ownerUrl,
  files,
  schema,
}: {
  /** The kinds of its SQLite files. */
  readonly files: readonly Pick<SqliteFileKind, 'migrations'>[]
  readonly ownerUrl: string
  readonly schema: string
}): Promise<readonly string[]> {
  const sqlite: Columns = new Map(
    files.flatMap(({ migrations }) => [...readSqliteColumns(migrations)]),
  )
  const postgres = await readPostgresColumns(ownerUrl, schema)
  const [inFiles, onServer] = [collectTables(sqlite), collectTables(postgres)]
  const all = new Set([...sqlite.keys(), ...postgres.keys()])
  return [...all]
    .toSorted()
    .filter((column) => sqlite.get(column) !== postgres.get(column))
    .map((column) => {
      const table = column.slice(0, column.indexOf('.'))
      if (!onServer.has(table)) return `${table}: SQLite alone`
      if (!inFiles.has(table)) return `${table}: PostgreSQL alone`
      return `${column}: SQLite ${sqlite.get(column) ?? 'none'}, PostgreSQL ${postgres.get(column) ?? 'none'}`
    })
    .filter((line, at, lines) => lines.indexOf(line) === at)
}
