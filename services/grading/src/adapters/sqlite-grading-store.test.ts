import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { leafHash } from '@tallystick/hashchain'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, describe, expect, test } from 'vitest'
import { calibrationColumn } from '../domain/calibration/truth-rows.ts'
import { describeGradingStore } from '../domain/closes/grading-store.contract.ts'
import { type GradingStore } from '../domain/closes/grading-store.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../testing/samples.fixture.ts'
import { backupGrading } from './ledger-upkeep.ts'
import { openSqliteGradingStore, type SqliteGradingStoreOptions } from './sqlite-grading-store.ts'

const endings: (() => void | Promise<void>)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end()
})

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grading-'))
  endings.push(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'grading.db')
}

const clock = manualClock(1_780_000_000_000)

type Opening = Pick<SqliteGradingStoreOptions, 'checkpoint'>

const makeOptions = (databasePath: string) => ({
  databasePath,
  clock,
  checkpointSeed: new Uint8Array(32).fill(3),
  origin: 'grading.test/ledger',
})

const open = (databasePath: string, by: Opening = {}): Promise<GradingStore> =>
  openSqliteGradingStore({ ...makeOptions(databasePath), ...by })

const opened = async (databasePath = newPath(), by: Opening = {}): Promise<GradingStore> =>
  closedLater(await open(databasePath, by))

function closedLater(store: GradingStore): GradingStore {
  let isClosed = false
  endings.push(async () => {
    if (!isClosed) await store.close()
  })
  return {
    ...store,
    close: async () => {
      isClosed = true
      await store.close()
    },
  }
}

/** Does to the file what the store would not. */
function tamper(databasePath: string, sql: string): void {
  const database = new DatabaseSync(databasePath)
  try {
    database.exec(sql)
  } finally {
    database.close()
  }
}

const settled = (index: number) =>
  sampleObservation({
    event: sampleEvent({ path: `soccer/match-${index}` }),
    snapshots: [
      samplePrices({
        odds: { home: '2.1', draw: '3.5', away: '3.7' },
        capturedAtSeconds: 1_780_300_000,
      }),
    ],
    closes: [samplePrices()],
    outcomes: scored(index % 3, index % 2),
  })

async function written(count = 300) {
  const path = newPath()
  const store = await opened(path)
  await store.ingest(sampleBatch(Array.from({ length: count }, (_, index) => settled(index))))
  await store.close()
  return path
}

describeGradingStore('SQLite', () => opened())

describe('what the disk keeps', () => {
  test('a ledger outlives its process: entries, tree, truth and picks', async () => {
    const path = newPath()
    const first = await opened(path)
    await first.ingest(sampleBatch(Array.from({ length: 300 }, (_, index) => settled(index))))
    const { pay } = createGraderFixture(first)
    const card = await pay(samplePick({ market: 'soccer/new.match/1x2/ft' }))
    const [head, truth] = [await first.head(), await first.truth()]
    const column = { population: 'mechanical', basis: 'fair', scope: 'all' } as const
    const rows = calibrationColumn(truth, column)
    await first.close()
    const second = await opened(path)
    expect(await second.head()).toEqual(head)
    expect(calibrationColumn(await second.truth(), column)).toEqual(rows)
    expect(rows.total.n).toBe(900)
    expect(await second.pickByReceipt(card.receipt ?? '')).toBeDefined()
    expect(await second.verify()).toMatchObject({ kind: 'intact', entries: 901 })
  })

  test('two processes on one file: each sees what the other wrote, and the tree has no fork', async () => {
    const path = newPath()
    const [first, second] = [await opened(path), await opened(path)]
    for (let index = 0; index < 10; index += 1) {
      await (index % 2 === 0 ? first : second).ingest(sampleBatch([settled(index)]))
      clock.advanceMs(5)
    }
    const [state] = await first.events(['soccer/match-9'])
    expect(state?.closes).toHaveLength(1)
    expect(await first.head()).toEqual(await second.head())
    expect(await second.verify()).toMatchObject({ kind: 'intact', entries: 30 })
  })

  test('what a group folded that was taken back is not taken for stored', async () => {
    const store = await opened()
    const twice = sampleBatch([settled(1), { ...settled(1), outcomes: scored(9, 0) }])
    const said = { market: 'soccer/a/1x2/ft', selection: 'home', odds: '2' }
    const opening = { ...said, receivedAtSeconds: 1, payerTag: 'x', salt: 'x' }
    // No receipt is given twice.
    const keep = (paymentId: string) => {
      const pick = { receipt: 'r', paymentId, payer: 'x', opening, options: {} }
      return store.keepPick(pick, false)
    }
    const group = [store.ingest(twice), keep('a'), keep('b')]
    for (const { status } of await Promise.allSettled(group)) expect(status).toBe('rejected')
    expect(await store.ingest(twice)).toMatchObject({ events: 1 })
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('S8: a backup of a running ledger is whole', async () => {
    const path = newPath()
    const store = await opened(path)
    await store.ingest(sampleBatch([settled(1)]))
    const targetPath = `${path}.backup`
    expect(await backupGrading({ databasePath: path, targetPath })).toEqual([targetPath])
    expect(await (await opened(targetPath)).verify()).toMatchObject({ kind: 'intact', entries: 3 })
    await expect(backupGrading({ databasePath: path, targetPath })).rejects.toThrow(
      'overwrites nothing',
    )
  })
})

describe('one altered byte', () => {
  test('in any entry’s text names the entry', async () => {
    const path = await written(4)
    const store = await opened(path)
    const swap = (seq: number, from: string, to: string): void =>
      tamper(path, `UPDATE entries SET text = replace(text, '${from}', '${to}') WHERE at = ${seq}`)
    for (let seq = 0; seq < 12; seq += 1) {
      swap(seq, 'Arsenal', 'Arsenam')
      expect(await store.verify()).toMatchObject({ kind: 'broken', seq })
      swap(seq, 'Arsenam', 'Arsenal')
    }
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  const apart = process.env['TALLYSTICK_LONG'] === '1' ? 1 : 5
  test(`${apart === 1 ? 'every single byte' : 'every fifth byte'} of an entry, flipped, names it`, async () => {
    const path = await written(1)
    const database = new DatabaseSync(path)
    endings.push(() => database.close())
    const text = String(database.prepare('SELECT text FROM entries WHERE at = 1').get()?.['text'])
    const put = database.prepare('UPDATE entries SET text = ? WHERE at = 1')
    const store = await opened(path)
    for (let at = 0; at < text.length; at += apart) {
      const flipped = String.fromCharCode(text.charCodeAt(at) ^ 1)
      put.run(text.slice(0, at) + flipped + text.slice(at + 1))
      expect(await store.verify()).toMatchObject({ kind: 'broken', seq: 1 })
    }
    put.run(text)
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test.each([
    { what: 'the tail dropped', sql: 'DELETE FROM entries WHERE at > 880', seq: 881 },
    {
      what: 'an entry filed under another event',
      sql: 'UPDATE entries SET event = 2 WHERE at = 0',
      seq: 0,
    },
  ])('$what is found', async ({ sql, seq }) => {
    const path = await written()
    tamper(path, sql)
    const store = await opened(path, { checkpoint: 'unchecked' })
    expect(await store.verify()).toMatchObject({ kind: 'broken', seq })
  })

  test('text and leaf altered together are found by the tree', async () => {
    const path = await written()
    const database = new DatabaseSync(path)
    const text = String(
      database.prepare('SELECT text FROM entries WHERE at = 5').get()?.['text'],
    ).replace('Arsenal', 'Arsenam')
    database
      .prepare('UPDATE entries SET text = ?, leaf_hash = ? WHERE at = 5')
      .run(text, leafHash(Buffer.from(text)))
    database.close()
    expect(await (await opened(path)).verify()).toMatchObject({ kind: 'broken' })
  })

  test('the truth table altered is found', async () => {
    const path = await written()
    tamper(
      path,
      "UPDATE truth SET cell = replace(cell, '\"clusters\":', '\"clusters\":1') WHERE key LIKE '%all B'",
    )
    expect(await (await opened(path)).verify()).toMatchObject({
      kind: 'broken',
      problem: 'the truth table is not what the ledger comes to',
    })
  })
})
