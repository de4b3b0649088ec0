// A PostgreSQL database for one run of the local stack, on the server of a connection string, or on one that is started
// from Debian's programs for as long as the stack runs. The services' own commands migrate it; it goes with the stack.
import { randomBytes } from 'node:crypto'
import { systemClock } from '@tallystick/service-kit'
import type { CommandTerminal } from '@tallystick/service-kit/command'
import {
  postgresMissing,
  runSql,
  startPostgres,
} from '../../packages/journal-store/src/postgres-server.fixture.ts'
import { runCare } from '../../services/care/src/command/run-care.ts'
import { runGrading } from '../../services/grading/src/command/run-grading.ts'

/** The value of `--postgres` for a server that is started beside the stack. */
const LOCAL_POSTGRES = 'local'

export type PostgresPlace = {
  /** The services' variables. */
  readonly environment: { readonly DATABASE_URL: string; readonly CHECKPOINT_KEY: string }
  end(): Promise<void>
}

const KEY_BYTES = 32

type Made = { readonly url: string; readonly end: () => Promise<void> }

async function makeLocally(): Promise<Made> {
  if (postgresMissing !== undefined)
    throw new Error(`--postgres local needs Debian’s postgresql: ${postgresMissing}`)
  const server = startPostgres({ isDurable: true })
  const { owner } = await server.database()
  return { url: owner, end: async () => server.end() }
}

async function makeOn(serverUrl: string): Promise<Made> {
  const name = `tallystick_local_${process.pid}`
  await runSql(serverUrl, `CREATE DATABASE ${name}`)
  return {
    url: serverUrl.replace(/\/[^/?]*(\?.*)?$/, `/${name}$1`),
    end: async () => {
      await runSql(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

type Run = (terminal: CommandTerminal) => Promise<number>

async function migrate(run: Run, environment: PostgresPlace['environment']): Promise<void> {
  const printed: string[] = []
  const print = (line: string): void => void printed.push(line)
  const { stdin } = process
  const terminal = { arguments: ['migrate'], environment, clock: systemClock, stdin }
  if ((await run({ ...terminal, print, printError: print })) !== 0)
    throw new Error(`the database cannot be brought up to date:\n${printed.join('\n')}`)
}

/**
 * Makes the database, on the server of a connection string whose role may make databases and roles. Throws if it cannot.
 * Both services use that role here; docs/how-to/postgres.md gives each its own.
 */
export async function openPostgresPlace(postgres: string): Promise<PostgresPlace> {
  const { url, end } = postgres === LOCAL_POSTGRES ? await makeLocally() : await makeOn(postgres)
  const CHECKPOINT_KEY = randomBytes(KEY_BYTES).toString('base64')
  const environment = { DATABASE_URL: url, CHECKPOINT_KEY }
  try {
    await migrate(runCare, environment)
    await migrate(runGrading, environment)
    return { environment, end }
  } catch (error) {
    await end()
    throw error
  }
}
