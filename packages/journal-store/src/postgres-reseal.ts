/** Resealing on PostgreSQL, as a role that may replace the body of a row, and nothing else. */
import { PostgresConnection } from './postgres-connection.ts'
import { PostgresDoor, type PostgresOptions } from './postgres-door.ts'
import { UPKEEP_ANSWER_MS } from './postgres-line.ts'
import type { PostgresJournalTable, PostgresStoreKind } from './postgres-store-kind.ts'
import { type ResealEngine, type ResealOptions, type ResealOutcome, reseal } from './reseal.ts'
import { bodyOfBytes } from './sealed-bodies.ts'

/**
 * Reseals as the role of `kind.seal`. Rejects with the service's error, before it changes anything, if a key is missing or
 * running services do not know the active key yet. Dead rows and backups hold the old bodies until they are vacuumed or
 * expire.
 */
export async function resealPostgresStore<Name extends string>(
  kind: PostgresStoreKind<Name> & Required<Pick<PostgresStoreKind<Name>, 'seal'>>,
  { keyRing, plan, ...server }: Omit<PostgresOptions, 'Unavailable'> & Omit<ResealOptions, 'pause'>,
): Promise<ResealOutcome> {
  const { appRole, journals, schema, Unavailable } = kind
  const door = new PostgresDoor({ answerMs: UPKEEP_ANSWER_MS, ...server, Unavailable })
  const connection = new PostgresConnection(door, { schema })
  const tables = Object.values<PostgresJournalTable>(journals)
  const engine: ResealEngine = {
    connection,
    tables: tables.map((table) => ({ ...table, index: `${table.table}.at` })),
    bodyOf: (stored) => (stored instanceof Uint8Array ? bodyOfBytes(stored) : undefined),
    heads: ({ sealed: { body }, table }) =>
      `SELECT DISTINCT substring(${body} FROM 1 FOR 2 + get_byte(${body}, 1)) AS head
         FROM ${table} WHERE octet_length(${body}) > 2 AND get_byte(${body}, 0) = 249`,
    isServed: async () => {
      const running =
        'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = $1 LIMIT 1'
      return (await connection.read(running, [appRole])).length > 0
    },
    hold: 'SELECT name FROM take_heads()',
  }
  try {
    return await reseal(engine, kind, { keyRing, plan, pause: () => server.pause(1) })
  } finally {
    await connection.end()
  }
}
