/**
 * A ledger that an earlier version wrote (stored/, before the journal store was a package of its own): it opens unchanged, and
 * every text that leaves it is the same, byte for byte.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { openSqliteFile } from '@tallystick/journal-store'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { calibrationAnswer } from '../domain/calibration.ts'
import { createGrader } from '../domain/grader.ts'
import { exportLines } from '../domain/ledger-export.ts'
import { TRUTH_RULES, TRUTH_RULES_KEY } from '../domain/truth-table.ts'
import { addEntry, type LedgerFolder, makeLedgerFolder } from '../testing/ledger-folder.fixture.ts'
import { acceptBackup } from './ledger-upkeep.ts'
import { openSqliteReservationStore } from './reservation-store.ts'
import { LEDGER } from './sqlite-database.ts'

const stored = (name: string): Buffer =>
  readFileSync(fileURLToPath(new URL(`./stored/${name}`, import.meta.url)))
const facts = JSON.parse(stored('grading.json').toString()) as {
  readonly receipt: string
  readonly entries: number
  readonly proof: readonly string[]
}

let ledger: LedgerFolder
beforeEach(() => {
  ledger = makeLedgerFolder()
  writeFileSync(ledger.path, gunzipSync(stored('grading.db.gz')))
  writeFileSync(`${ledger.path}.payments`, gunzipSync(stored('grading.db.payments.gz')))
  writeFileSync(ledger.checkpointPath, stored('grading.db.checkpoint'))
})
afterEach(() => {
  ledger.remove()
})

test('a ledger of an earlier version opens, holds, is exported, proved and signed as it was, and grows', async () => {
  await ledger.using(async (store) => {
    const lines: string[] = []
    for await (const line of exportLines(store)) lines.push(line)
    const exported = gunzipSync(stored('grading-export.ndjson.gz')).toString()
    expect(lines).toEqual(exported.trimEnd().split('\n'))
    expect(await store.verify()).toMatchObject({ kind: 'intact', entries: facts.entries })
    expect(await store.inclusionProof(3, facts.entries)).toEqual(facts.proof)
    expect(await store.pickByReceipt(facts.receipt)).toMatchObject({ receipt: facts.receipt })
    expect(await store.hasPayload('ab'.repeat(32))).toBe(true)
  })
  expect(readFileSync(ledger.checkpointPath)).toEqual(stored('grading.db.checkpoint'))
  await ledger.using((store) => addEntry(store, 'another'))
  expect(await ledger.using((store) => store.verify())).toMatchObject({
    kind: 'intact',
    entries: facts.entries + 1,
  })
  expect(ledger.sizeInFile()).toBe(facts.entries + 1)
})

test('teams that a later version kept in a table of their own are taken over', async () => {
  const database = openSqliteFile(ledger.path, {
    ...LEDGER,
    migrations: LEDGER.migrations.slice(0, 4),
  })
  database.exec(`INSERT INTO event_teams SELECT id, 'one', 'other', start_at FROM events`)
  database.close()
  await ledger.using(async (store) => {
    const teams = { home: ['one'], away: ['other'] }
    const found = await store.searchEvents({ teams, words: [], limit: 1_000 })
    expect(found.length).toBe((await store.counts()).events)
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })
})

test('its truth table, counted by the rules of then, is counted again once, and stays', async () => {
  const table = () => {
    const database = new DatabaseSync(ledger.path, { readOnly: true })
    try {
      return database.prepare('SELECT key, cell FROM truth ORDER BY key').all()
    } finally {
      database.close()
    }
  }
  const before = table()
  expect(before.some(({ key }) => key === TRUTH_RULES_KEY)).toBe(false)
  expect(before.some(({ cell }) => String(cell).includes('gaps'))).toBe(false)
  await ledger.using(async (store) => {
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
    const { columns } = await calibrationAnswer(store, {})
    expect(columns[0]?.total.n).toBeGreaterThan(0)
  })
  const after = table()
  expect(after.find(({ key }) => key === TRUTH_RULES_KEY)?.['cell']).toBe(TRUTH_RULES)
  expect(after.filter(({ cell }) => String(cell).includes('gaps')).length).toBeGreaterThan(0)
  await ledger.using(async () => undefined)
  expect(table()).toEqual(after)
})

test('a backup of it is accepted, although its table was counted by other rules', async () => {
  expect(await acceptBackup(ledger.identity)).toMatchObject({ size: facts.entries })
})

test('what an earlier version wrote of hidden sources is shown no more', async () => {
  await ledger.using(async (store) => {
    const grader = createGrader({ store, nowSeconds: () => 4e9, random: () => '00' })
    for (let seq = 0; seq < facts.entries; seq += 1) {
      const shown = JSON.stringify(await grader.publicEntry(seq))
      const { entry } = (await store.entry(seq)) ?? {}
      const isHidden = entry?.type !== 'pick' && entry?.isRedistributable === false
      expect(isHidden && shown.includes('rawSha256')).toBe(false)
      expect(shown).not.toContain('bestRecorded')
    }
  })
})

test('its payments open too', async () => {
  const payments = openSqliteReservationStore({ databasePath: ledger.path, clock: manualClock(0) })
  expect(await payments.open()).toEqual([])
  await payments.close()
})
