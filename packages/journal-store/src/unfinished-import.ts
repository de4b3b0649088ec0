/**
 * Imports into a store that have begun and not ended. One that was killed leaves a first part, which a service must not serve as
 * the whole: it finds the import here when it starts. Begun and ended in the transactions that write its rows.
 */

/** Takes the import's name, which has no `%`, and what an operator calls it. */
const BEGIN = `INSERT INTO meta (name, value) VALUES ('import ' || $1, $2) ON CONFLICT (name) DO NOTHING`
/** Takes the import's name, or `%` for all of them. */
const END = `DELETE FROM meta WHERE name LIKE 'import ' || $1`

export const SQLITE_IMPORTS = { begin: BEGIN, end: END } as const

/** The service's role changes nothing else in `meta`. */
export const POSTGRES_IMPORTS = {
  begin: 'SELECT begin_import($1, $2)',
  end: 'SELECT end_import($1)',
} as const

/** An operator calls those that have not ended so. */
export const UNFINISHED_IMPORTS = `SELECT value FROM meta WHERE name LIKE 'import %' ORDER BY name`

/** They move with their store, whose schema on PostgreSQL this is. */
export const moveImports = (schema: string) =>
  ({
    toPostgres: {
      from: `SELECT name, value FROM meta WHERE name LIKE 'import %'`,
      into: `INSERT INTO ${schema}.meta (name, value) SELECT * FROM unnest($1::text[], $2::text[])`,
    },
    toSqlite: {
      from: `SELECT name, value FROM ${schema}.meta WHERE name LIKE 'import %'`,
      into: 'INSERT INTO meta (name, value) VALUES (?, ?)',
    },
  }) as const
