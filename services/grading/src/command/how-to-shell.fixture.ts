// Runs the commands of a how-to about PostgreSQL, block by block, against real servers in a folder of their own.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { manualClock } from '@tallystick/service-kit'
import { NODE_ENVIRONMENT } from '@tallystick/service-kit/service-process'
import { expect } from 'vitest'
import { runGrading } from './run-grading.ts'

export const root = fileURLToPath(new URL('../../../..', import.meta.url))
const DEBIAN = '/usr/lib/postgresql'
/** Ends a block that waits for what never comes, milliseconds. */
const BLOCK_MS_MAX = 120_000
/** PostgreSQL refuses to run as root. */
const OTHER_USER = 65_534
const isRoot = process.getuid?.() === 0

/** Why the commands cannot be run; undefined if they can. */
export const howToMissing =
  postgresMissing ?? (process.env['DATABASE_URL'] && 'DATABASE_URL is another’s server')

const programs = (): string => {
  const named = process.env['PG_BIN']
  if (named !== undefined) return named
  const [newest = ''] = readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a))
  return join(DEBIAN, newest, 'bin')
}

const SHELL_BLOCK = /^```sh( server)?\n([^`]*)^```$/gm
const readPage = (name: string): string => readFileSync(join(root, 'docs/how-to', name), 'utf8')

/** How a reader of either page calls the commands. */
const COMMANDS = [...readPage('postgres.md').matchAll(SHELL_BLOCK)][0]?.[2] ?? ''

type Block = { readonly isServer: boolean; readonly script: string }

/** Opens folders for the reader and for the servers' user; `variables` are the page's own. */
export function openHowTo(
  name: string,
  variables: (server: string) => Readonly<Record<string, string>>,
) {
  const folder = mkdtempSync(join(tmpdir(), 'how-to-'))
  const serverFolder = join(folder, 'server')
  mkdirSync(serverFolder)
  if (isRoot) for (const path of [folder, serverFolder]) chownSync(path, OTHER_USER, OTHER_USER)
  const environment = {
    ...NODE_ENVIRONMENT,
    PATH: `${programs()}:${NODE_ENVIRONMENT['PATH']}`,
    TALLYSTICK: root,
    CHECKPOINT_KEY: Buffer.alloc(32, 5).toString('base64'),
    DATABASE_PATH: join(folder, 'grading.db'),
    ...variables(serverFolder),
  }
  /** Runs a block; returns what it prints. */
  const run = ({ isServer, script }: Block): string => {
    const user = isServer && isRoot ? { uid: OTHER_USER, gid: OTHER_USER } : {}
    // Into a file: a server that is started here keeps its streams.
    const output = join(serverFolder, 'output')
    const whole = `exec >>${output} 2>&1; set -euo pipefail\n${isServer ? '' : COMMANDS}\n${script}`
    writeFileSync(output, '')
    chmodSync(output, 0o666)
    const { status } = spawnSync('bash', ['-c', `${whole}\n`], {
      ...user,
      cwd: isServer ? serverFolder : folder,
      env: environment,
      stdio: 'ignore',
      timeout: BLOCK_MS_MAX,
    })
    const printed = readFileSync(output, 'utf8')
    expect(status, `${script}\n${printed}`).toBe(0)
    return printed
  }
  const document = readPage(name)
  return {
    folder,
    serverFolder,
    document,
    /** The page's blocks, in order, after the commands of them all; those of the server's user are marked. */
    blocks: [...document.matchAll(SHELL_BLOCK)]
      .filter(([, , script]) => script !== COMMANDS)
      .map(
        ([, server, script = '']) =>
          () =>
            run({ isServer: server !== undefined, script }),
      ),
    server: (script: string): string => run({ isServer: true, script }),
    reader: (script: string): string => run({ isServer: false, script }),
    /** Adds one match to the ledger that the variables name. */
    importMatch: async (
      event: string,
      over: Readonly<Record<string, string>> = {},
    ): Promise<void> => {
      const printed: string[] = []
      const code = await runGrading({
        arguments: ['import', '-'],
        environment: { ...environment, ...over },
        clock: manualClock(1_780_000_000_000),
        stdin: (async function* () {
          yield Buffer.from(JSON.stringify(matchUpload(event)))
        })(),
        print: (line) => printed.push(line),
        printError: (line) => printed.push(line),
      })
      expect(code, printed.join('\n')).toBe(0)
    },
    /** Stops the servers in these folders, and removes everything. */
    remove(servers: readonly string[]): void {
      for (const data of servers) stopServer(data, { folder, environment })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function stopServer(
  data: string,
  {
    environment,
    folder,
  }: {
    readonly environment: Readonly<Record<string, string | undefined>>
    readonly folder: string
  },
): void {
  spawnSync('bash', ['-c', `pg_ctl -D ${data} -m immediate stop`], {
    ...(isRoot ? { uid: OTHER_USER, gid: OTHER_USER } : {}),
    cwd: folder,
    env: environment,
    stdio: 'ignore',
  })
}

const matchUpload = (event: string) => ({
  events: [
    {
      event: `soccer/${event}`,
      league: 'EPL',
      home: 'Arsenal',
      away: 'Chelsea',
      starts_at: '2026-05-28T18:00:00Z',
      outcomes: [{ status: 'final', score: { home: 2, away: 1 } }],
    },
  ],
})

/** A database of the servers in a folder, by the ports of their sockets. */
export const socketUrl = (
  folder: string,
  {
    role,
    ports = [5432],
    database = 'tallystick',
  }: { readonly role: string; readonly ports?: readonly number[]; readonly database?: string },
): string =>
  `postgres://${role}@${ports.map((port) => `${encodeURIComponent(folder)}:${port}`).join(',')}/${database}`

export const skipWord = howToMissing === undefined ? '' : ` (skipped: ${howToMissing})`
