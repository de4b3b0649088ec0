// Every command of docs/how-to/postgres.md, in order, against real servers: a primary, its standby, and one that is restored
// to a point in time.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
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
import { afterAll, expect, test } from 'vitest'
import { runGrading } from './run-grading.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const DOCUMENT = join(root, 'docs/how-to/postgres.md')
const DEBIAN = '/usr/lib/postgresql'
/** PostgreSQL refuses to run as root. */
const OTHER_USER = 65_534

const isRoot = process.getuid?.() === 0
const reason =
  postgresMissing ?? (process.env['DATABASE_URL'] && 'DATABASE_URL is another’s server')
/** A file whose every test is skipped runs no `afterAll`. */
const folder = reason === undefined ? mkdtempSync(join(tmpdir(), 'how-to-postgres-')) : ''
const serverFolder = join(folder, 'server')
const place = (name: string): string => join(serverFolder, name)

/** The blocks of a document, in order; those of the server's user are marked. */
function blocksOf(document: string) {
  return [...document.matchAll(/^```sh( server)?\n([^`]*)^```$/gm)].map(
    ([, server, script = '']) => ({ isServer: server !== undefined, script }),
  )
}

const programs = (): string => {
  const named = process.env['PG_BIN']
  if (named !== undefined) return named
  const [newest = ''] = readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a))
  return join(DEBIAN, newest, 'bin')
}

const url = (role: string, ports: readonly number[] = [5432]): string =>
  `postgres://${role}@${ports.map((port) => `${encodeURIComponent(serverFolder)}:${port}`).join(',')}/tallystick`

/** An export of an earlier release comes under keys of its chains. */
const SEALED_RECORDS = 'export DATABASE_PATH=care.db; care import care-export.ndjson'
/** Beside the primary and its standby. */
const KEYS_PORT = 5434
const keysUrl = (role: string, database: string): string =>
  `postgres://${role}@${encodeURIComponent(serverFolder)}:${KEYS_PORT}/${database}`

const environment = () => ({
  ...NODE_ENVIRONMENT,
  PATH: `${programs()}:${NODE_ENVIRONMENT['PATH']}`,
  ADMIN_URL: url('postgres'),
  CARE_URL: url('care_app'),
  GRADING_URL: url('grading_app'),
  KEYS_ADMIN_URL: keysUrl('postgres', 'postgres'),
  KEYS_URL: keysUrl('care_keys', 'chain_keys'),
  CHECKPOINT_KEY: Buffer.alloc(32, 5).toString('base64'),
  SEAL_KEYS: `key-1:${Buffer.alloc(32, '1').toString('base64')}`,
  DATABASE_PATH: join(folder, 'grading.db'),
  DATA: place('data'),
  ARCHIVE: place('archive'),
  BACKUP: place('backup'),
  RESTORED: place('restored'),
  STANDBY: place('standby'),
  THIRD: place('third'),
  THIRD_OPTIONS: `-p 5435 -k ${serverFolder} -c listen_addresses=''`,
  THIRD_URL: url('postgres', [5435]),
  KEYS_DATA: place('keys'),
  KEYS_OPTIONS: `-p ${KEYS_PORT} -k ${serverFolder} -c listen_addresses=''`,
  STANDBY_OPTIONS: `-p 5433 -k ${serverFolder} -c listen_addresses=''`,
  REPLICATION: `host=${serverFolder} user=postgres`,
})

const COMMANDS = ['care', 'grading']
  .map((name) => `${name}() { node ${root}/services/${name}/src/command/main.ts "$@"; }`)
  .join('\n')

/** Runs a block; returns what it prints. */
function run({
  isServer,
  script,
}: {
  readonly isServer: boolean
  readonly script: string
}): string {
  const user = isServer && isRoot ? { uid: OTHER_USER, gid: OTHER_USER } : {}
  // Into a file: a server that is started here keeps its streams.
  const output = join(serverFolder, 'output')
  const whole = `exec >>${output} 2>&1; set -euo pipefail\n${isServer ? '' : COMMANDS}\n${script}`
  writeFileSync(output, '')
  chmodSync(output, 0o666)
  const { status } = spawnSync('bash', ['-c', `${whole}\n`], {
    ...user,
    cwd: isServer ? serverFolder : folder,
    env: environment(),
    stdio: 'ignore',
  })
  const printed = readFileSync(output, 'utf8')
  expect(status, `${script}\n${printed}`).toBe(0)
  return printed
}

const server = (script: string): string => run({ isServer: true, script })

async function importUpload(event: string, over: Readonly<Record<string, string>> = {}) {
  const body = {
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
  }
  const printed: string[] = []
  const code = await runGrading({
    arguments: ['import', '-'],
    environment: { ...environment(), ...over },
    clock: manualClock(1_780_000_000_000),
    stdin: (async function* () {
      yield Buffer.from(JSON.stringify(body))
    })(),
    print: (line) => printed.push(line),
    printError: (line) => printed.push(line),
  })
  expect(code, printed.join('\n')).toBe(0)
}

afterAll(() => {
  for (const name of ['third', 'restored', 'standby', 'keys', 'data'])
    spawnSync('bash', ['-c', `pg_ctl -D ${place(name)} -m immediate stop`], {
      ...(isRoot ? { uid: OTHER_USER, gid: OTHER_USER } : {}),
      cwd: folder,
      env: environment(),
      stdio: 'ignore',
    })
  rmSync(folder, { recursive: true, force: true })
})

test.skipIf(reason !== undefined)(
  `every command of the how-to does what it says${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  async () => {
    mkdirSync(serverFolder)
    if (isRoot) for (const path of [folder, serverFolder]) chownSync(path, OTHER_USER, OTHER_USER)
    const options = `-k ${serverFolder} -c listen_addresses=''`
    server(`mkdir "$ARCHIVE"
      initdb -D "$DATA" -U postgres --auth=trust -E UTF8 --locale=C --no-sync >/dev/null
      echo "unix_socket_directories = '${serverFolder}'" >> "$DATA/postgresql.conf"
      echo "listen_addresses = ''" >> "$DATA/postgresql.conf"
      pg_ctl -D "$DATA" -w -l "$DATA.log" -o "${options}" start >/dev/null
      createdb -h ${serverFolder} -U postgres tallystick`)
    const blocks = blocksOf(readFileSync(DOCUMENT, 'utf8'))
    const [setUp, keys, standby, move, back, care, copyKeys, ...later] = blocks.map(
      (block) => () => run(block),
    )
    const [backUp, name, restore, verify, accept, third, failOver, ...others] = later
    if (accept === undefined || failOver === undefined || others.length > 0)
      throw new Error('the how-to has other blocks')
    setUp?.()
    keys?.()
    standby?.()
    for (const event of ['one', 'two', 'three']) await importUpload(event)
    expect(move?.()).toMatch(/3 entries moved, root [0-9a-f]{64}\.\n[^]*INTACT: 3/)
    expect(back?.()).toMatch(/3 entries moved[^]*INTACT: 3/)
    const records = 'services/care/src/adapters/stored/care-export.ndjson'
    copyFileSync(join(root, records), join(folder, 'care-export.ndjson'))
    run({ isServer: false, script: SEALED_RECORDS })
    expect(care?.()).toMatch(/user: \d+ entries moved[^]*assistant: \d+ entries moved/)
    expect(copyKeys?.()).toMatch(/keys of \d+ chains[^]*does not have[^]*are restored/)
    const database = { DATABASE_URL: url('grading_app') }
    backUp?.()
    await importUpload('four', database)
    name?.()
    await importUpload('mistake', database)
    restore?.()
    expect(verify?.()).toMatch(/BROKEN at entry 4: entries at the end are gone/)
    expect(accept()).toMatch(/4 entries accepted; [^]* 1 are given up\.\nINTACT: 4 entries/)
    third?.()
    const hosts = { DATABASE_URL: url('grading_app', [5432, 5435]) }
    await importUpload('five', hosts)
    failOver()
    await importUpload('six', hosts)
    expect(
      run({ isServer: false, script: `DATABASE_URL='${hosts.DATABASE_URL}' grading verify` }),
    ).toMatch(/INTACT: 6 entries/)
  },
)
