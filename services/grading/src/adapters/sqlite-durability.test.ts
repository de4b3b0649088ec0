/** What trouble leaves of a ledger: kill -9, a torn journal, a full disk, another process's lock, a damaged key. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { loadCheckpointSeed as loadKeptSeed } from '@tallystick/journal-store'
import { systemClock } from '@tallystick/service-kit'
import { NODE_ENVIRONMENT } from '@tallystick/service-kit/service-process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { readFootballData } from '../ingest/football-data.ts'
import { ingestPayload } from '../ingest/ingest-payload.ts'
import { syntheticFixtures } from '../seed/synthetic-fixtures.ts'
import { openGradingDatabase } from './sqlite-database.ts'
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

const open = (databasePath = path, busyTimeoutMs = 5_000) =>
  openSqliteGradingStore({
    databasePath,
    clock: systemClock,
    checkpointSeed: loadCheckpointSeed(databasePath),
    origin: 'localhost:3003/ledger',
    busyTimeoutMs,
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

test('every acknowledged write is on the disk: synchronous reads 2, in WAL', () => {
  const database = openGradingDatabase(path)
  try {
    expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  } finally {
    database.close()
  }
})

test('kill -9 of an import leaves a ledger that verifies, and the import again completes it', async () => {
  const file = tableFile(MATCHES)
  const child = spawn(process.execPath, [COMMAND, 'import', file], {
    env: environment(),
    stdio: 'ignore',
  })
  children.push(child)
  const ended = once(child, 'exit')
  await expect.poll(committedEntries, { interval: 5 }).toBeGreaterThan(500)
  child.kill('SIGKILL')
  expect(await ended).toEqual([null, 'SIGKILL'])
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

test('a journal that was torn within a commit loses that commit and no other', async () => {
  const store = await fill(path, 600)
  const { size } = await store.head()
  const torn = join(folder, 'torn.db')
  copyFileSync(path, torn)
  copyFileSync(`${path}-wal`, `${torn}-wal`)
  const wal = readFileSync(`${torn}-wal`).length
  await store.close()
  truncateSync(`${torn}-wal`, wal - 5_000)
  const recovered = await open(torn)
  try {
    const { size: left } = await recovered.head()
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(size)
    expect(await recovered.verify()).toMatchObject({ kind: 'intact', entries: left })
  } finally {
    await recovered.close()
  }
})

test('a full disk is a named error; what was committed before it stays and verifies', async () => {
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
    stderr: expect.stringMatching(/nothing was written|cannot be/) as string,
  })
  const store = await open()
  try {
    const { size } = await store.head()
    expect(size).toBeGreaterThan(0)
    expect(await store.verify()).toMatchObject({ kind: 'intact', entries: size })
  } finally {
    await store.close()
  }
})

test('a ledger that another process has locked is a named error, and writes again afterwards', async () => {
  const store = await fill(path, 20)
  const other = new DatabaseSync(path)
  const mark = (rawSha256: string) =>
    store.markPayload({ rawSha256, feed: 'manual', receivedAtSeconds: 1 })
  const impatient = await open(path, 1)
  try {
    other.exec('BEGIN IMMEDIATE')
    await expect(
      impatient.markPayload({ rawSha256: 'aa', feed: 'manual', receivedAtSeconds: 1 }),
    ).rejects.toThrow(GradingStoreUnavailable)
    other.exec('ROLLBACK')
    await mark('bb')
    await impatient.markPayload({ rawSha256: 'cc', feed: 'manual', receivedAtSeconds: 1 })
    expect([await store.hasPayload('aa'), await store.hasPayload('cc')]).toEqual([false, true])
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  } finally {
    other.close()
    await impatient.close()
    await store.close()
  }
})

test('a ledger that another process has locked for long can still be opened and read; a new one is a named error', async () => {
  const store = await fill(path, 20)
  const { size } = await store.head()
  await store.close()
  const empty = join(folder, 'empty.db')
  const others = [path, empty].map((file) => new DatabaseSync(file))
  try {
    for (const other of others) other.exec('BEGIN IMMEDIATE')
    const reader = await open(path, 1)
    expect((await reader.head()).size).toBe(size)
    await reader.close()
    await expect(open(empty, 1)).rejects.toThrow(GradingStoreUnavailable)
  } finally {
    for (const other of others) other.close()
  }
})

/** A result by hand, of whatever form. */
const observation = (result: unknown) => ({
  feed: { feed: 'manual', isRedistributable: false, isSynthetic: false },
  receivedAtSeconds: NOW_SECONDS,
  rawSha256: '00',
  observations: [
    {
      event: {
        path: 'golf/open',
        sport: 'golf',
        league: 'Open',
        home: 'a',
        away: 'b',
        startAtSeconds: NOW_SECONDS,
        startPrecision: 'second' as const,
      },
      rule: 'source_declared' as const,
      snapshots: [],
      closes: [],
      closeStatus: 'final' as const,
      outcomes: [{ period: 'ft', status: 'final' as const, results: result as never }],
    },
  ],
})

test('a write that is a bug of its own fails by itself, as what it is', async () => {
  const store = await fill(path, 20)
  const { size } = await store.head()
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic
  const results = await Promise.allSettled([
    store.markPayload({ rawSha256: 'aa', feed: 'manual', receivedAtSeconds: 1 }),
    store.ingest(observation(cyclic)),
    store.ingest(observation({ 'outright/ft': { a: { result: 'won' } } })),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  const [, bug] = results
  expect(bug?.status === 'rejected' && bug.reason).not.toBeInstanceOf(GradingStoreUnavailable)
  expect((await store.head()).size).toBe(size + 1)
  expect(await store.hasPayload('aa')).toBe(true)
  expect(await store.verify()).toMatchObject({ kind: 'intact', entries: size + 1 })
  await store.close()
})
