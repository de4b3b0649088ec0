// A whole run on PostgreSQL: `TEST_ENGINE=postgres vitest run` on a server of its own, `DATABASE_URL=postgres://… vitest run` on
// one where databases may be made. Without either it does nothing: services keep their ledgers on SQLite.
import { startPostgres } from '@tallystick/journal-store/postgres-server'

/** Starts the server; ends it after the run. */
export function setup(): (() => void) | undefined {
  if (process.env['TEST_ENGINE'] !== 'postgres' || process.env['DATABASE_URL'] !== undefined)
    return undefined
  const server = startPostgres()
  process.env['DATABASE_URL'] = server.url
  return () => server.end()
}
