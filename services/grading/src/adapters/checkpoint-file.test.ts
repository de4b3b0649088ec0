/** The last signed checkpoint beside a ledger: what it finds out, and that nothing but a continuation replaces it. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type GradingStore, GradingStoreUnavailable } from '../domain/grading-store.ts'
import { sampleBatch, sampleEvent, sampleObservation, scored } from '../testing/sample-events.ts'
import { openSqliteGradingStore } from './sqlite-grading-store.ts'

let folder = ''
let path = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grading-checkpoint-'))
  path = join(folder, 'grading.db')
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

// It stands: no read comes upon another process's write by itself.
const clock = manualClock(1_780_000_000_000)

const open = (by: { readonly origin?: string; readonly key?: number } = {}): GradingStore =>
  openSqliteGradingStore({
    databasePath: path,
    clock,
    checkpointSeed: new Uint8Array(32).fill(by.key ?? 3),
    origin: by.origin ?? 'grading.test/ledger',
  })

const add = (store: GradingStore, name: string) =>
  store.ingest(
    sampleBatch([
      sampleObservation({
        event: sampleEvent({ path: `soccer/${name}` }),
        outcomes: scored(1, 0),
      }),
    ]),
  )

/** Opens the ledger, does something with it and closes it. */
async function using<Result>(
  use: (store: GradingStore) => Promise<Result>,
  by: Parameters<typeof open>[0] = {},
): Promise<Result> {
  const store = open(by)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** Entries that the checkpoint in the file is of. */
const sizeInFile = (): number => Number(readFileSync(`${path}.checkpoint`, 'utf8').split('\n')[1])

/** A ledger of one entry whose checkpoint is of three: an older copy came in its place. */
async function loseTail(): Promise<void> {
  await using((store) => add(store, 'one'))
  copyFileSync(path, `${path}.older`)
  await using((store) => add(store, 'two'))
  await using((store) => add(store, 'three'))
  copyFileSync(`${path}.older`, path)
}

test('a ledger that lost its tail is found out, and again by the next look', async () => {
  await loseTail()
  const found = {
    kind: 'broken',
    seq: 1,
    problem: 'entries at the end are gone: the signed checkpoint has more',
  }
  expect(await using((store) => store.verify())).toEqual(found)
  expect(await using((store) => store.verify())).toEqual(found)
})

test('what is written after the loss does not hide it, however long the ledger gets', async () => {
  await loseTail()
  for (const name of ['a', 'b', 'c']) await using((store) => add(store, name))
  expect(sizeInFile()).toBe(3)
  expect(await using((store) => store.verify())).toMatchObject({
    kind: 'broken',
    problem: 'the entries do not hash to the signed checkpoint',
  })
})

test('of two processes on one ledger, the one that closes last leaves the whole of it signed', async () => {
  const [one, other] = [open(), open()]
  await add(one, 'one')
  await add(other, 'two')
  await other.close()
  await one.close()
  expect(sizeInFile()).toBe(2)
})

test('under another address of the service it is the same key, and the ledger intact', async () => {
  await using((store) => add(store, 'one'))
  const moved = { origin: 'elsewhere.test/ledger' }
  expect(await using((store) => store.verify(), moved)).toMatchObject({ kind: 'intact' })
  await using((store) => add(store, 'two'), moved)
  expect(sizeInFile()).toBe(2)
  expect(await using((store) => store.verify())).toMatchObject({ kind: 'intact' })
})

test.each([
  { what: 'another key’s', write: () => using((store) => add(store, 'two'), { key: 4 }) },
  { what: 'no checkpoint', write: async () => writeFileSync(`${path}.checkpoint`, 'hello\n') },
])('one that is $what is named, and is left as it is', async ({ write }) => {
  await write()
  const text = readFileSync(`${path}.checkpoint`, 'utf8')
  await using((store) => add(store, 'one'))
  expect(await using((store) => store.verify())).toMatchObject({
    kind: 'broken',
    problem: expect.stringContaining('not signed by this key') as string,
  })
  expect(readFileSync(`${path}.checkpoint`, 'utf8')).toBe(text)
})

test('one that cannot be read is a named error, not a ledger without one', async () => {
  const store = open()
  await add(store, 'one')
  mkdirSync(`${path}.checkpoint`)
  await expect(store.verify()).rejects.toThrow(GradingStoreUnavailable)
  await expect(store.close()).rejects.toThrow(GradingStoreUnavailable)
})
