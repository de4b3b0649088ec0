/** A backup that is put back on purpose: what accepting it signs, says and refuses. */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { addEntry, type LedgerFolder, makeLedgerFolder } from '../testing/ledger-folder.fixture.ts'
import { acceptBackup, backupGrading } from './ledger-upkeep.ts'

let ledger: LedgerFolder
beforeEach(() => {
  ledger = makeLedgerFolder()
})
afterEach(() => {
  ledger.remove()
})

const SQLITE_PAGE_BYTES = 4_096

test('a backup older than the checkpoint opens again once it is accepted, and is signed on', async () => {
  const targetPath = `${ledger.path}.backup`
  const store = await ledger.open()
  await addEntry(store, 'one')
  await backupGrading({ databasePath: ledger.path, targetPath })
  for (const name of ['two', 'three']) await addEntry(store, name)
  await store.close()
  for (const end of ['-wal', '-shm']) rmSync(ledger.path + end, { force: true })
  copyFileSync(targetPath, ledger.path)
  await expect(ledger.open()).rejects.toThrow(GradingStoreUnavailable)

  expect(await acceptBackup(ledger.identity)).toEqual({
    size: 1,
    signedSize: 3,
    isContinued: false,
  })
  expect(await ledger.using((restored) => restored.verify())).toMatchObject({
    kind: 'intact',
    entries: 1,
  })
  await ledger.using((restored) => addEntry(restored, 'instead'))
  expect(ledger.sizeInFile()).toBe(2)
})

test('a ledger that lost all it had is accepted as an empty one', async () => {
  await ledger.using((store) => addEntry(store, 'one'))
  rmSync(ledger.path)
  await expect(ledger.open()).rejects.toThrow('counts 1 entries, 0 of them are here')
  expect(await acceptBackup(ledger.identity)).toEqual({
    size: 0,
    signedSize: 1,
    isContinued: false,
  })
  expect(await ledger.using((store) => store.head())).toMatchObject({ size: 0 })
})

test('where nothing is lost, nothing is given up', async () => {
  await ledger.using((store) => addEntry(store, 'one'))
  expect(await acceptBackup(ledger.identity)).toEqual({
    size: 1,
    signedSize: 1,
    isContinued: true,
  })
})

test('under a new key it says that no checkpoint by it was there', async () => {
  await ledger.using((store) => addEntry(store, 'one'))
  const renewed = { ...ledger.identity, checkpointSeed: new Uint8Array(32).fill(4) }
  expect(await acceptBackup(renewed)).toMatchObject({ size: 1, signedSize: undefined })
  expect(await ledger.using((store) => store.verify(), renewed)).toMatchObject({ kind: 'intact' })
})

test('an entry that was altered is not accepted, and the checkpoint stays', async () => {
  await ledger.loseTail()
  const database = new DatabaseSync(ledger.path)
  database.exec("UPDATE entries SET text = replace(text, 'soccer', 'sockar')")
  database.close()
  await expect(acceptBackup(ledger.identity)).rejects.toThrow(
    new GradingStoreUnavailable(
      'nothing is accepted: its text does not hash to its leaf, at entry 0',
    ),
  )
  expect(ledger.sizeInFile()).toBe(3)
})

test('a file that SQLite cannot read through is a named error', async () => {
  await ledger.using((store) => addEntry(store, 'one'))
  const file = readFileSync(ledger.path)
  // The page of the entry's text: what is opened and what holds the head stay as they are.
  const page = Math.floor(file.indexOf('soccer/one') / SQLITE_PAGE_BYTES) * SQLITE_PAGE_BYTES
  writeFileSync(ledger.path, file.fill(255, page, page + SQLITE_PAGE_BYTES))
  await expect(acceptBackup(ledger.identity)).rejects.toThrow(GradingStoreUnavailable)
})
