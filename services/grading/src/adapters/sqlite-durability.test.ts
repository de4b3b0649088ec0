/** What trouble leaves of a ledger, end to end: kill -9 and a full disk. The engines' own tests are in journal-store. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { loadCheckpointSeed as loadKeptSeed } from '@tallystick/journal-store'
import { systemClock } from '@tallystick/service-kit'
import { NODE_ENVIRONMENT } from '@tallystick/service-kit/service-process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { readFootballData } from '../ingest/football-data.ts'
import { ingestPayload } from '../ingest/ingest-payload.ts'
import { syntheticFixtures } from '../seed/synthetic-fixtures.ts'
import { startGradingProcess } from '../testing/grading-process.fixture.ts'
import { openSqliteGradingStore } from './sqlite-grading-store.ts'

const COMMAND = fileURLToPath(new URL('../command/main.ts', import.meta.url))
const NOW_SECONDS = 1_780_000_000
/** An import of so many is killed in its midst. */
const MATCHES = process.env['TALLYSTICK_LONG'] === '1' ? 6_000 : 2_500

const loadCheckpointSeed = (databasePath: string) =>
  loadKeptSeed(databasePath, GradingStoreUnavailable)

let folder = ''
let path = ''
const children: ChildProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grading-durability-'))
  path = join(folder, 'grading.db')
})

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const open = (databasePath = path) =>
  openSqliteGradingStore({
    databasePath,
    clock: systemClock,
    checkpointSeed: loadCheckpointSeed(databasePath),
    origin: 'localhost:3003/ledger',
  })

const environment = () => ({ ...NODE_ENVIRONMENT, DATABASE_PATH: path })

function tableFile(pastMatches: number): string {
  const file = join(folder, 'table.csv')
  writeFileSync(file, syntheticFixtures({ nowSeconds: NOW_SECONDS, pastMatches, comingMatches: 0 }))
  return file
}

async function fill(databasePath: string, pastMatches: number) {
  const store = await open(databasePath)
  const raw = readFileSync(tableFile(pastMatches))
  const read = () => readFootballData(raw)
  await ingestPayload({ store, raw, receivedAtSeconds: NOW_SECONDS, read })
  return store
}

/** Entries that another process has committed. */
function committedEntries(): number {
  if (!existsSync(path)) return 0
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    return Number(database.prepare('SELECT count(*) AS n FROM entries').get()?.['n'])
  } catch {
    return 0
  } finally {
    database.close()
  }
}

/** Kills an import once it has committed more entries. Returns whether it was in its midst: a fast one is whole by then. */
async function cutOff(file: string, from: number): Promise<boolean> {
  const child = spawn(process.execPath, [COMMAND, 'import', file], {
    env: environment(),
    stdio: 'ignore',
  })
  children.push(child)
  const ended = once(child, 'exit')
  await expect.poll(committedEntries, { interval: 5 }).toBeGreaterThan(from)
  child.kill('SIGKILL')
  return (await ended)[1] === 'SIGKILL'
}

/** The next one begins anew. */
function removeLedger(): void {
  for (const name of readdirSync(folder))
    if (name.startsWith('grading.db')) rmSync(join(folder, name))
}

test('kill -9 of an import leaves a ledger that verifies, and the import again completes it', async () => {
  const file = tableFile(MATCHES)
  while (!(await cutOff(file, 500))) removeLedger()
  const store = await open()
  try {
    const { size } = await store.head()
    expect(size).toBeGreaterThan(500)
    expect(size).toBeLessThan(3 * MATCHES)
    expect(await store.verify()).toMatchObject({ kind: 'intact', entries: size })
    const raw = readFileSync(file)
    const read = () => readFootballData(raw)
    const again = await ingestPayload({ store, raw, receivedAtSeconds: NOW_SECONDS, read })
    expect(again.isRepeated).toBe(false)
    expect((await store.head()).size).toBe(size + again.snapshots + again.closes + again.outcomes)
    const whole = await fill(join(folder, 'whole.db'), MATCHES)
    expect((await whole.counts()).events).toBe((await store.counts()).events)
    expect([...(await whole.truth()).cells.keys()].toSorted()).toEqual(
      [...(await store.truth()).cells.keys()].toSorted(),
    )
    expect((await whole.head()).size).toBe((await store.head()).size)
    await whole.close()
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  } finally {
    await store.close()
  }
})

/** The command in this environment. */
const grading = (...words: readonly string[]) =>
  promisify(execFile)(process.execPath, [COMMAND, ...words], { env: environment() })

/** Starts a service on the ledger, which stops once it serves. */
const start = () => {
  const service = startGradingProcess({
    HOST: '127.0.0.1',
    PORT: '0',
    DATABASE_PATH: path,
    PAY_TO: '0x00000000000000000000000000000000000000bb',
    LEDGER_RPC_URL: 'http://127.0.0.1:9',
    FACILITATOR_URL: 'http://127.0.0.1:9',
  })
  const up = service.url().then(() => service.kill('SIGTERM'))
  up.catch(() => undefined)
  return service.ended
}

test('G8: no service starts on a first part of a file, after kill -9 of its import, until it is imported again or accepted', async () => {
  const file = tableFile(MATCHES)
  const expectNoStart = async () => {
    const { code, errors } = await start()
    expect({ code, errors }).toEqual({
      code: 1,
      errors: `Grades cannot be served: an import was cut off, or still runs: ${file}. Run "grading import" with it again, which goes on from there, or "grading accept-backup" to keep what is here\n`,
    })
  }
  for (let isCut = false; !isCut; isCut || removeLedger()) {
    if (!(await cutOff(file, 0))) continue
    await expectNoStart()
    await grading('accept-backup')
    expect((await start()).code).toBe(0)
    isCut = await cutOff(file, committedEntries())
  }
  await expectNoStart()
  await grading('import', file)
  expect((await start()).code).toBe(0)
})

test('G7: kill -9 of an export leaves no file under its name, or the whole one', async () => {
  await (await fill(path, MATCHES)).close()
  const output = join(folder, 'export.jsonl')
  const draft = () => readdirSync(folder).some((name) => /^export\.jsonl\.\d+\.part$/.test(name))
  // Fast enough, an export is whole before it is killed: the next one is not.
  for (let tries = 0; tries < 10 && !draft(); tries += 1) {
    rmSync(output, { force: true })
    const child = spawn(process.execPath, [COMMAND, 'export', '--output', output], {
      env: environment(),
      stdio: 'ignore',
    })
    children.push(child)
    const ended = once(child, 'exit')
    await expect.poll(() => draft() || existsSync(output), { interval: 1 }).toBe(true)
    child.kill('SIGKILL')
    await ended
    if (existsSync(output)) await grading('verify', output)
  }
  expect([draft(), existsSync(output)]).toEqual([true, false])
  await grading('export', '--output', output)
  expect((await grading('verify', output)).stdout).toMatch(/^INTACT/)
  expect(await grading('export', '--output', output).catch((error) => error)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('overwrites nothing') as string,
  })
})

test('a full disk is a named error; what was committed before it stays and verifies, and the same import goes on', async () => {
  const file = tableFile(3_000)
  // Files of this child may not grow beyond 6 MiB, two of its writes, which they meet as they meet a full disk.
  const limited = `trap '' XFSZ; ulimit -f 12288; exec "$0" "$@"`
  const failure: unknown = await promisify(execFile)(
    'sh',
    ['-c', limited, process.execPath, COMMAND, 'import', file],
    { env: environment() },
  ).catch((error: unknown) => error)
  expect(failure).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /(?:nothing was written|cannot be)[^]*A part of .* may be in the ledger: the same command goes on from there/,
    ) as string,
  })
  const store = await open()
  try {
    const { size } = await store.head()
    expect(size).toBeGreaterThan(0)
    expect(await store.verify()).toMatchObject({ kind: 'intact', entries: size })
  } finally {
    await store.close()
  }
  expect((await grading('import', file)).stdout).toMatch(/unchanged: [1-9]/)
})
