/** The last signed checkpoint beside a ledger: what it finds out, and that nothing but a continuation replaces it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { addEntry, type LedgerFolder, makeLedgerFolder } from '../testing/ledger-folder.fixture.ts'

let ledger: LedgerFolder
beforeEach(() => {
  ledger = makeLedgerFolder()
})
afterEach(() => {
  ledger.remove()
})

const UNCHECKED = { checkpoint: 'unchecked' } as const
const OTHER_KEY = { checkpointSeed: new Uint8Array(32).fill(4) }

test('a ledger that lost its tail is found out by verifying, and again by the next look', async () => {
  await ledger.loseTail()
  const found = {
    kind: 'broken',
    seq: 1,
    problem: 'entries at the end are gone: the signed checkpoint counts 3',
  }
  expect(await ledger.using((store) => store.verify(), UNCHECKED)).toEqual(found)
  expect(await ledger.using((store) => store.verify(), UNCHECKED)).toEqual(found)
})

test('what is written after the loss does not hide it, however long the ledger gets', async () => {
  await ledger.loseTail()
  for (const name of ['a', 'b', 'c'])
    await ledger.using((store) => addEntry(store, name), UNCHECKED)
  expect(ledger.sizeInFile()).toBe(3)
  expect(await ledger.using((store) => store.verify(), UNCHECKED)).toMatchObject({
    kind: 'broken',
    problem: 'the entries do not hash to the signed checkpoint',
  })
})

test('entries beyond the checkpoint, of a process that was killed, are taken and signed', async () => {
  await ledger.using((store) => addEntry(store, 'one'))
  const older = readFileSync(ledger.checkpointPath)
  await ledger.using((store) => addEntry(store, 'two'))
  writeFileSync(ledger.checkpointPath, older)
  expect(await ledger.using((store) => store.verify())).toMatchObject({ kind: 'intact' })
  expect(ledger.sizeInFile()).toBe(2)
})

test('of two processes on one ledger, the one that closes last leaves the whole of it signed', async () => {
  const [first, second] = [await ledger.open(), await ledger.open()]
  await addEntry(first, 'one')
  await addEntry(second, 'two')
  await second.close()
  await first.close()
  expect(ledger.sizeInFile()).toBe(2)
})

test('under another address of the service it is the same key, and the ledger intact', async () => {
  await ledger.using((store) => addEntry(store, 'one'))
  const moved = { origin: 'elsewhere.test/ledger' }
  expect(await ledger.using((store) => store.verify(), moved)).toMatchObject({ kind: 'intact' })
  await ledger.using((store) => addEntry(store, 'two'), moved)
  expect(ledger.sizeInFile()).toBe(2)
  expect(await ledger.using((store) => store.verify())).toMatchObject({ kind: 'intact' })
})

test.each([
  {
    what: 'another key’s',
    write: () => ledger.using((store) => addEntry(store, 'two'), OTHER_KEY),
  },
  { what: 'no checkpoint', write: async () => writeFileSync(ledger.checkpointPath, 'hello\n') },
])('one that is $what refuses the ledger, is named, and is left as it is', async ({ write }) => {
  await write()
  const text = readFileSync(ledger.checkpointPath, 'utf8')
  await expect(ledger.open()).rejects.toThrow('not signed by its checkpoint key, or was altered')
  await ledger.using((store) => addEntry(store, 'one'), UNCHECKED)
  expect(await ledger.using((store) => store.verify(), UNCHECKED)).toMatchObject({
    kind: 'broken',
    problem: 'the checkpoint file is not signed by this key',
  })
  expect(readFileSync(ledger.checkpointPath, 'utf8')).toBe(text)
})

test('one that cannot be read is a named error, not a ledger without one', async () => {
  const store = await ledger.open()
  await addEntry(store, 'one')
  mkdirSync(ledger.checkpointPath)
  await expect(store.verify()).rejects.toThrow(GradingStoreUnavailable)
  await expect(store.close()).rejects.toThrow(GradingStoreUnavailable)
  await expect(ledger.open()).rejects.toThrow(GradingStoreUnavailable)
})
