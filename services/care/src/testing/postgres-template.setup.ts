// A whole run on PostgreSQL: `DATABASE_URL=postgres://… vitest run` on a server where it may create databases, or
// `TEST_ENGINE=postgres vitest run` on its own. Without either it does nothing: services keep their records on SQLite.
import { migratePostgresStore } from '@tallystick/journal-store/postgres'
import { startPostgres } from '@tallystick/journal-store/postgres-server'
import { pause, systemClock } from '@tallystick/service-kit'
import { POSTGRES_RECORDS } from '../adapters/schemas/postgres-record-database.ts'

/** Makes the template that tests copy; drops it at the end. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['TEST_ENGINE'] !== 'postgres' && process.env['DATABASE_URL'] === undefined)
    return undefined
  const server = startPostgres()
  const template = await server.database()
  await migratePostgresStore(POSTGRES_RECORDS, {
    url: template.owner,
    pause: (ms) => pause(systemClock, ms),
  })
  process.env['DATABASE_URL'] = server.url
  process.env['TEST_TEMPLATE'] = template.name
  return async () => {
    await template.drop()
    server.end()
  }
}
