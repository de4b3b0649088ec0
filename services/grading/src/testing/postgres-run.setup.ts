// A whole run on PostgreSQL: `TEST_ENGINE=postgres vitest run` on a server of its own, `DATABASE_URL=postgres://… vitest run` on
// one where databases may be made. Without either it does nothing: services keep their ledgers on SQLite.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '@tallystick/journal-store/postgres-server'

/** Starts the server; ends it after the run, and removes what processes left that kept ledgers to their end. */
export function setup(): (() => void) | undefined {
  if (process.env['TEST_ENGINE'] !== 'postgres' && process.env['DATABASE_URL'] === undefined)
    return undefined
  const server = startPostgres()
  const ledgers = mkdtempSync(join(tmpdir(), 'grading-run-'))
  process.env['DATABASE_URL'] = server.url
  process.env['LEDGER_FOLDERS'] = ledgers
  return () => {
    server.end()
    rmSync(ledgers, { recursive: true, force: true })
  }
}
