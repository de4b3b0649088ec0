/** Grants in PostgreSQL, for any number of processes (C27). Whoever the URL names owns the schema and makes it at the first opening. */
import { readSchema } from '@tallystick/journal-store'
import {
  openWriteProbe,
  PostgresConnection,
  PostgresDoor,
  type PostgresOptions,
} from '@tallystick/journal-store/postgres'
import { type GrantDatabase, GrantStoreUnavailable } from './grant-database.ts'
import { newCookieKey, newSigningKey } from './signing-keys.ts'

export const GRANTS_SCHEMA = 'issuer'

const TABLES = new URL('./postgres-grants.schema.sql', import.meta.url)
const FIND_SCHEMA = 'SELECT 1 AS found FROM pg_namespace WHERE nspname = $1'

/** The tables and the first keys. */
function prepareTables(writes: PostgresConnection): Promise<void> {
  return writes.transaction(async (query) => {
    // Of processes that start together one makes them.
    await query(`SELECT pg_advisory_xact_lock(hashtextextended('${GRANTS_SCHEMA}', 0))`)
    const known = await query(FIND_SCHEMA, [GRANTS_SCHEMA])
    // Whoever may only use the schema may not make it, even if it is there.
    if (known.length > 0) return
    await query(`CREATE SCHEMA ${GRANTS_SCHEMA}`)
    // A prepared statement is one command.
    await query(`DO $tables$ BEGIN ${readSchema(TABLES, GrantStoreUnavailable)} END $tables$`)
    const { kid, ...key } = newSigningKey()
    await query('INSERT INTO signing_keys (kid, jwk) VALUES ($1, $2)', [
      kid,
      JSON.stringify({ kid, ...key }),
    ])
    await query('INSERT INTO cookie_keys VALUES ($1)', [newCookieKey()])
  })
}

export type PostgresGrants = GrantDatabase & {
  /** Why a write would fail or wait now; undefined if it would not. */
  openProbe(onProblem: (error: unknown) => void): ReturnType<typeof openWriteProbe>['trouble']
  stopping(onProblem: (error: unknown) => void): void
}

/** Rejects with `GrantStoreUnavailable`. */
export async function openPostgresGrants(
  server: Omit<PostgresOptions, 'Unavailable' | 'noun'>,
): Promise<PostgresGrants> {
  const door = new PostgresDoor({
    noun: 'the grants',
    ...server,
    Unavailable: GrantStoreUnavailable,
  })
  const connect = () => new PostgresConnection(door, { schema: GRANTS_SCHEMA })
  const [reads, writes] = [connect(), connect()]
  const open: { end(): Promise<void> }[] = [reads, writes]
  const close = async (): Promise<void> => {
    await Promise.all(open.map((connection) => connection.end()))
  }
  try {
    await prepareTables(writes)
  } catch (error) {
    await close()
    throw error
  }
  return {
    // A text with NUL is nowhere: PostgreSQL would refuse the question.
    read: async (sql, values = []) =>
      values.some((value) => String(value).includes('\0')) ? [] : reads.read(sql, values),
    write: (sql, values = []) => writes.transaction((query) => query(sql, values)),
    openProbe(onProblem) {
      const probe = openWriteProbe(door, onProblem)
      open.push(probe)
      return probe.trouble
    },
    stopping: (onProblem) => door.stop(onProblem),
    close,
  }
}
