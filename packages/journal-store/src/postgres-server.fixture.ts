// A PostgreSQL server for a test run: the one of DATABASE_URL, or its own from Debian's package, on a socket in a temporary
// folder. PostgreSQL refuses to run as root, so there it runs as another user.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, type QueryResult } from 'pg'

const DEBIAN = '/usr/lib/postgresql'
/** `nobody` on Debian. */
const OTHER_USER = 65_534

/** PostgreSQL refuses to run as root. */
export const serverUser = (): { readonly uid?: number; readonly gid?: number } =>
  process.getuid?.() === 0 ? { uid: OTHER_USER, gid: OTHER_USER } : {}

/** Where `initdb` and `pg_ctl` are, the newest first. */
export function findPrograms(): string | undefined {
  const versions = existsSync(DEBIAN)
    ? readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a))
    : []
  const folders = [
    process.env['PG_BIN'] ?? '',
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
  ]
  return folders.find((folder) => folder !== '' && existsSync(join(folder, 'initdb')))
}

/** Why no server is available; undefined if one is. */
export const postgresMissing: string | undefined =
  process.env['DATABASE_URL'] !== undefined || findPrograms() !== undefined
    ? undefined
    : 'neither DATABASE_URL nor Debian’s postgresql is there'

/** The same for a server that is not that of DATABASE_URL. */
export const ownPostgresMissing: string | undefined =
  findPrograms() === undefined ? 'Debian’s postgresql is not there' : undefined

/** Its URL, as its owner or as another role. */
type PostgresDatabase = {
  readonly name: string
  readonly owner: string
  as(role: string): string
  /** Drops it, whoever is connected to it. */
  drop(): Promise<void>
}

export type PostgresServer = {
  /** As its owner, to a database that no test copies: PostgreSQL copies none that somebody else is connected to. */
  readonly url: string
  /** A database for one test: empty, or a copy of the named one. */
  database(template?: string): Promise<PostgresDatabase>
  /** Folder of its socket; undefined for a server that was already running. */
  readonly socketFolder: string | undefined
  /** Ends it as a crash would, then starts it again. */
  crash(): void
  end(): void
}

/** With `isDurable` it waits for the disk, like a server with real data; with `isOwn` it is never that of DATABASE_URL. */
export function startPostgres({ isDurable = false, isOwn = false } = {}): PostgresServer {
  const known = process.env['DATABASE_URL']
  if (known !== undefined && !isOwn)
    return {
      url: known,
      ...createDatabases(known),
      socketFolder: undefined,
      crash: () => undefined,
      end: () => undefined,
    }
  const folder = makeServerFolder()
  const data = join(folder, 'data')
  initialise(folder, data)
  const settings = `-c listen_addresses='' -k ${folder} -c fsync=${isDurable ? 'on' : 'off'} -c shared_buffers=16MB`
  startServer({ folder, data, settings })
  const url = socketUrl(folder)
  return {
    url,
    ...createDatabases(url),
    socketFolder: folder,
    crash: () => {
      stopServer({ folder, data })
      startServer({ folder, data, settings })
    },
    end: () => {
      stopServer({ folder, data })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** URL of the administrator, through the socket in a folder. */
const socketUrl = (folder: string): string =>
  `postgres://postgres@${encodeURIComponent(folder)}/postgres`

export function makeServerFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  if (process.getuid?.() === 0) chownSync(folder, OTHER_USER, OTHER_USER)
  return folder
}

type ServerCommand = readonly string[]

/** One of the server's programs, as another user if this one is root. */
function programCall(folder: string, [program = '', ...words]: ServerCommand) {
  const programs = findPrograms()
  if (programs === undefined) throw new Error(postgresMissing)
  const stdio = program === 'pg_ctl' ? ('ignore' as const) : ('pipe' as const)
  return [join(programs, program), words, { ...serverUser(), cwd: folder, stdio }] as const
}

/** Runs it; nothing else runs in this process meanwhile. */
function runProgram(folder: string, command: ServerCommand): void {
  const ended = spawnSync(...programCall(folder, command))
  if (ended.status !== 0) throw new Error(`${command[0]}: ${String(ended.stderr ?? ended.error)}`)
}

/** Runs it, in a network namespace if one is named, for which this user is root; resolves once it has ended. */
export async function startProgram(
  folder: string,
  command: ServerCommand,
  namespace?: string,
): Promise<void> {
  const [program, words, options] = programCall(folder, command)
  const { gid, uid, ...rest } = options
  const entered = [`--net=/run/netns/${namespace}`, `--setuid=${uid}`, `--setgid=${gid}`, program]
  const child =
    namespace === undefined
      ? spawn(program, words, options)
      : spawn('nsenter', [...entered, ...words], rest)
  let errors = ''
  child.stderr?.on('data', (text) => (errors += String(text)))
  child.stdout?.resume()
  const [status] = await once(child, 'close')
  if (status !== 0) throw new Error(`${command[0]}: ${errors}`)
}

export const INITIALISE_SERVER =
  'initdb -U postgres --auth=trust -E UTF8 --locale=C --no-sync'.split(' ')
export const COPY_SERVER = 'pg_basebackup -U postgres -R -X stream --no-sync -c fast'.split(' ')

const initialise = (folder: string, data: string): void =>
  runProgram(folder, [...INITIALISE_SERVER, '-D', data])

type Server = { readonly folder: string; readonly data: string }

const startServer = ({ data, folder, settings }: Server & { readonly settings: string }): void =>
  runProgram(folder, ['pg_ctl', '-D', data, '-w', '-l', `${data}.log`, '-o', settings, 'start'])

/** Like a crash: no client is told. */
const stopServer = ({ data, folder }: Server): void =>
  runProgram(folder, ['pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop'])

/** Sends a signal to a server and all its processes. */
export function signalServer({ data }: Server, signal: NodeJS.Signals): void {
  const [own = ''] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
  const children = readFileSync(`/proc/${own}/task/${own}/children`, 'utf8')
  for (const pid of [own, ...children.trim().split(' ')])
    try {
      process.kill(Number(pid), signal)
    } catch (error) {
      // A session of it has ended meanwhile.
      if (pid === own || (error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
}

/** A primary and its synchronous standby, each on its own socket; our URL names both. */
export async function startPostgresPair() {
  const folder = makeServerFolder()
  const serverIn = (name: string) => {
    const [data, sockets] = [join(folder, name), join(folder, `${name}-socket`)]
    const settings = `-c listen_addresses='' -k ${sockets} -c shared_buffers=16MB -c wal_receiver_timeout=5s`
    return { folder, data, sockets, settings }
  }
  const [primary, standby] = [serverIn('primary'), serverIn('standby')]
  for (const { sockets } of [primary, standby]) {
    mkdirSync(sockets)
    if (process.getuid?.() === 0) chownSync(sockets, OTHER_USER, OTHER_USER)
  }
  initialise(folder, primary.data)
  startServer(primary)
  runProgram(folder, [...COPY_SERVER, '-h', primary.sockets, '-D', standby.data])
  startServer(standby)
  const admin = socketUrl(primary.sockets)
  await runSql(admin, "ALTER SYSTEM SET synchronous_standby_names = '*'")
  await runSql(admin, 'SELECT pg_reload_conf()')
  const running = new Set([primary, standby])
  const stop = (server: typeof primary): void => {
    if (running.delete(server)) stopServer(server)
  }
  const startAlone = (): void => {
    startServer({ ...primary, settings: `${primary.settings} -c synchronous_standby_names=` })
    running.add(primary)
  }
  const encodeHost = ({ sockets }: typeof primary): string => encodeURIComponent(sockets)
  return {
    ...createDatabases(admin),
    /** The URL of a database, which is the primary's, over both hosts. */
    both: (url: string): string =>
      url.replace(encodeHost(primary), `${encodeHost(primary)},${encodeHost(standby)}`),
    /** The standby stops, and with it every commit that waits for it; `startStandby` lets them go on. */
    stopStandby: (): void => stop(standby),
    startStandby: (): void => {
      startServer(standby)
      running.add(standby)
    },
    /** The primary hangs: it takes connections, keeps those that it has, and says nothing. */
    freezePrimary: (): void => signalServer(primary, 'SIGSTOP'),
    /** It goes on, as a primary, if it is there. */
    thawPrimary: (): void => {
      if (running.has(primary)) signalServer(primary, 'SIGCONT')
    },
    promoteStandby: (): void => runProgram(folder, ['pg_ctl', '-D', standby.data, '-w', 'promote']),
    /** The primary dies, and the standby takes its place and waits for no other. */
    failOver: (): void => {
      stop(primary)
      runProgram(folder, ['pg_ctl', '-D', standby.data, '-w', 'promote'])
    },
    /** The old primary returns as a primary beside the new one, and waits for no standby: an operator's mistake. */
    startOldPrimary: (): void => startAlone(),
    /** The same, and the new one dies. */
    goBack: async (): Promise<void> => {
      startAlone()
      stop(standby)
    },
    /** The same over the standby alone. */
    second: (url: string): string => url.replace(encodeHost(primary), encodeHost(standby)),
    end: (): void => {
      for (const server of running) stopServer(server)
      running.clear()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

let made = 0

function createDatabases(url: string): Pick<PostgresServer, 'database'> {
  return {
    database: async (template) => {
      const name = `tallystick_${process.pid}_${(made += 1)}`
      // Copying a database's files costs half of what the write-ahead log does.
      const copied = `TEMPLATE ${template ?? 'template0'} STRATEGY FILE_COPY`
      await runSql(url, `CREATE DATABASE ${name} ${copied}`)
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
