/**
 * A ledger and its payments that the last program before the first release wrote (stored/), numbered as docs/how-to/deploy-one-service.md says: they
 * open, and every text that leaves them is the same, byte for byte. Each release's step is tried on them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exportLines } from '../domain/closes/ledger-export.ts'
import { addEntry, type LedgerFolder, makeLedgerFolder } from '../testing/ledger-folder.fixture.ts'
import { acceptBackup } from './ledger-upkeep.ts'
import { openSqliteReservationStore } from './reservation-store.ts'

const readStored = (name: string): Buffer =>
  readFileSync(fileURLToPath(new URL(`./stored/${name}`, import.meta.url)))
const facts = JSON.parse(readStored('grading.json').toString()) as {
  readonly receipt: string
  readonly entries: number
  readonly proof: readonly string[]
}
/** The two statements of the how-to. */
const [ofLedger = '', ofPayments = ''] = [
  ...readFileSync(
    fileURLToPath(new URL('../../../../docs/how-to/deploy-one-service.md', import.meta.url)),
    'utf8',
  ).matchAll(/^sqlite3 grading\.db\S* "(PRAGMA user_version[^"]*)"$/gm),
].map(([, statement]) => statement)

let ledger: LedgerFolder

function writeNumbered(ending: '' | '.payments', statement: string): void {
  const path = ledger.path + ending
  writeFileSync(path, gunzipSync(readStored(`grading.db${ending}.gz`)))
  const database = new DatabaseSync(path)
  database.exec(statement)
  database.close()
}

beforeEach(() => {
  ledger = makeLedgerFolder()
  writeNumbered('', ofLedger)
  writeNumbered('.payments', ofPayments)
  writeFileSync(ledger.checkpointPath, readStored('grading.db.checkpoint'))
})
afterEach(() => {
  ledger.remove()
})

test('S8: a stored ledger opens, holds, is exported, proved and signed as it was, and grows', async () => {
  await ledger.using(async (store) => {
    const lines: string[] = []
    for await (const line of exportLines(store)) lines.push(line)
    const exported = gunzipSync(readStored('grading-export.ndjson.gz')).toString()
    expect(lines).toEqual(exported.trimEnd().split('\n'))
    expect(await store.verify()).toMatchObject({ kind: 'intact', entries: facts.entries })
    expect(await store.inclusionProof(3, facts.entries)).toEqual(facts.proof)
    expect(await store.pickByReceipt(facts.receipt)).toMatchObject({ receipt: facts.receipt })
    expect(await store.hasPayload('ab'.repeat(32))).toBe(true)
    const teams = { home: ['arsenal'], away: ['chelsea'] }
    expect(await store.searchEvents({ teams, words: [], limit: 10 })).toHaveLength(2)
    expect(await store.searchEvents({ words: ['arsenal'], limit: 10 })).toHaveLength(2)
  })
  expect(readFileSync(ledger.checkpointPath)).toEqual(readStored('grading.db.checkpoint'))
  await ledger.using((store) => addEntry(store, 'another'))
  expect(await ledger.using((store) => store.verify())).toMatchObject({
    kind: 'intact',
    entries: facts.entries + 1,
  })
  expect(ledger.sizeInFile()).toBe(facts.entries + 1)
})

test('S8: a backup of it is accepted', async () => {
  expect(await acceptBackup(ledger.identity)).toMatchObject({ size: facts.entries })
})

test('S8: its payments open too, and one under way is found', async () => {
  const payments = openSqliteReservationStore({ databasePath: ledger.path, clock: manualClock(0) })
  expect(await payments.open()).toMatchObject([{ paymentId: 'payment 1', state: 'reserved' }])
  await payments.close()
})
