// A PostgreSQL server for a test run: the one of DATABASE_URL, or one of its own from Debian's package, on a socket in a
// temporary folder. PostgreSQL refuses to run as root; there it runs as another user.
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, type QueryResult } from 'pg'

const DEBIAN = '/usr/lib/postgresql'
/** `nobody` on Debian. */
const OTHER_USER = 65_534

/** Where `initdb` and `pg_ctl` are, the newest first. */
function findPrograms(): string | undefined {
  const versions = existsSync(DEBIAN)
    ? readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a))
    : []
  const folders = [process.env['PG_BIN'] ?? '', ...versions.map((one) => join(DEBIAN, one, 'bin'))]
  return folders.find((folder) => folder !== '' && existsSync(join(folder, 'initdb')))
}

/** Why no server can be had; undefined where one can. */
export const postgresMissing: string | undefined =
  process.env['DATABASE_URL'] !== undefined || findPrograms() !== undefined
    ? undefined
    : 'neither DATABASE_URL nor Debian’s postgresql is there'

/** Its URL, as its owner or as another role. */
type PostgresDatabase = {
  readonly name: string
  readonly owner: string
  as(role: string): string
  /** Takes it away, whoever is connected to it. */
  drop(): Promise<void>
}

export type PostgresServer = {
  /** A database for one test, empty or a copy of the one of that name. */
  database(template?: string): Promise<PostgresDatabase>
  /** Folder of its socket; undefined for a server that was there already. */
  readonly socketFolder: string | undefined
  /** Ends it as a crash would, and starts it again. */
  crash(): void
  end(): void
}

const encoded = (folder: string): string => encodeURIComponent(folder)

/** `isDurable` waits for the disk, as a server does that keeps something. */
export function startPostgres({ isDurable = false } = {}): PostgresServer {
  const known = process.env['DATABASE_URL']
  if (known !== undefined)
    return {
      ...databasesOf(known),
      socketFolder: undefined,
      crash: () => undefined,
      end: () => undefined,
    }
  const programs = findPrograms()
  if (programs === undefined) throw new Error(postgresMissing)
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  const user = process.getuid?.() === 0 ? { uid: OTHER_USER, gid: OTHER_USER } : {}
  if ('uid' in user) chownSync(folder, OTHER_USER, OTHER_USER)
  const data = join(folder, 'data')
  const run = (program: string, ...words: readonly string[]): void => {
    const stdio = program === 'pg_ctl' ? 'ignore' : 'pipe'
    const ended = spawnSync(join(programs, program), words, { ...user, cwd: folder, stdio })
    if (ended.status !== 0) throw new Error(`${program}: ${String(ended.stderr ?? ended.error)}`)
  }
  const initOptions = ['-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  run('initdb', '-D', data, ...initOptions)
  const settings = `-c listen_addresses='' -k ${folder} -c fsync=${isDurable ? 'on' : 'off'} -c shared_buffers=16MB`
  const start = (): void =>
    run('pg_ctl', '-D', data, '-w', '-l', join(folder, 'log'), '-o', settings, 'start')
  const stop = (): void => run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop')
  start()
  return {
    ...databasesOf(`postgres://postgres@${encoded(folder)}/postgres`),
    socketFolder: folder,
    crash: () => {
      stop()
      start()
    },
    end: () => {
      stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

let made = 0

function databasesOf(url: string): Pick<PostgresServer, 'database'> {
  return {
    database: async (template) => {
      const name = `tallystick_${process.pid}_${(made += 1)}`
      await runSql(url, `CREATE DATABASE ${name} TEMPLATE ${template ?? 'template0'}`)
      const owner = url.replace(/\/[^/?]*(\?.*)?$/, `/${name}$1`)
      return {
        name,
        owner,
        as: (role: string) => owner.replace(/\/\/[^@/]*@/, `//${role}@`),
        drop: async () => void (await runSql(url, `DROP DATABASE ${name} WITH (FORCE)`)),
      }
    },
  }
}

/** Runs SQL on a connection of its own. */
export async function runSql(url: string, sql: string): Promise<QueryResult> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}
