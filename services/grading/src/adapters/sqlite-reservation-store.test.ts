import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { manualClock } from '@tallystick/service-kit'
import { describeReservationStore, reservationOf } from '@tallystick/x402/testing'
import { afterEach, expect, test } from 'vitest'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { openReservationDatabase } from './sqlite-database.ts'
import { openSqliteReservationStore, RESERVATION_LOOKUPS } from './sqlite-reservation-store.ts'

const START_MS = 1_795_226_000_000
const endings: (() => void)[] = []

afterEach(() => {
  for (const end of endings.splice(0)) end()
})

function folderPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grading-payments-'))
  endings.push(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'grading.db')
}

describeReservationStore('SQLite', () => {
  const clock = manualClock(START_MS)
  const store = openSqliteReservationStore({ databasePath: folderPath(), clock })
  endings.unshift(() => store.close())
  return { store, nowSeconds: () => clock.unixMs() / 1_000 }
})

test('G4: a reservation outlives its process, with its payment whole', async () => {
  const databasePath = folderPath()
  const clock = manualClock(START_MS)
  const first = openSqliteReservationStore({ databasePath, clock })
  await first.reserve(reservationOf('p'))
  await first.markSettled('p')
  first.close()
  const second = openSqliteReservationStore({ databasePath, clock })
  endings.unshift(() => second.close())
  expect(await second.open()).toEqual([reservationOf('p', { state: 'settled' })])
  expect((await second.reserve(reservationOf('p', { fingerprint: 'other' }))).kind).toBe('held')
})

test('when open ones are full, nothing more is reserved, and none is forgotten', async () => {
  const clock = manualClock(START_MS)
  const store = openSqliteReservationStore({ databasePath: folderPath(), clock, openMax: 2 })
  endings.unshift(() => store.close())
  for (const id of ['a', 'b']) await store.reserve(reservationOf(id))
  expect(await store.reserve(reservationOf('c'))).toEqual({ kind: 'full' })
  expect((await store.open()).map(({ paymentId }) => paymentId)).toEqual(['a', 'b'])
})

test('G4: each step is fsynced when it is acknowledged: PRAGMA synchronous reads 2, in WAL', () => {
  const database = openReservationDatabase(folderPath())
  endings.unshift(() => database.close())
  expect({ ...database.prepare('PRAGMA synchronous').get() }).toEqual({ synchronous: 2 })
  expect({ ...database.prepare('PRAGMA journal_mode').get() }).toEqual({ journal_mode: 'wal' })
})

test('G4: what is kept for a payer outlives its process: request, key, answer, delivery and whom it was given to', async () => {
  const databasePath = folderPath()
  const clock = manualClock(START_MS)
  const first = openSqliteReservationStore({ databasePath, clock })
  const kept = { keepsAnswer: true, idempotencyKey: 'k', request: '{"pick":"é"}' } as const
  await first.reserve(reservationOf('open', kept))
  await first.reserve(reservationOf('p', { keepsAnswer: true, fingerprint: 'other' }))
  await first.keepAnswer('p', { answer: '{"n":1}', expiresAtSeconds: START_MS / 1_000 + 1_000 })
  await first.reserve(reservationOf('q', { keepsAnswer: true, fingerprint: 'other' }))
  await first.markDelivered('q')
  const before = [await first.get('p'), await first.get('q')]
  first.close()
  const second = openSqliteReservationStore({ databasePath, clock })
  endings.unshift(() => second.close())
  expect(await second.open()).toEqual([reservationOf('open', kept)])
  expect([await second.get('p'), await second.get('q')]).toEqual(before)
  expect(before).toMatchObject([{ isDelivered: true }, { answer: '{"n":1}', answeredBy: 'p' }])
})

test('two processes over one file: of two payments with one key, one is reserved', async () => {
  const databasePath = folderPath()
  const clock = manualClock(START_MS)
  const stores = [1, 2].map(() => openSqliteReservationStore({ databasePath, clock }))
  for (const store of stores) endings.unshift(() => store.close())
  const kept = { keepsAnswer: true, idempotencyKey: 'k' } as const
  const outcomes = await Promise.all(
    stores.map((store, index) => store.reserve(reservationOf(`p${index}`, kept))),
  )
  expect(outcomes).toEqual([{ kind: 'reserved' }, { kind: 'unresolved', paymentId: 'p0' }])
})

test('one answer is given to a bounded number of unpaid payments', async () => {
  const clock = manualClock(START_MS)
  const store = openSqliteReservationStore({ databasePath: folderPath(), clock, givenMax: 2 })
  endings.unshift(() => store.close())
  const kept = { keepsAnswer: true, idempotencyKey: 'k' } as const
  await store.reserve(reservationOf('p', kept))
  await store.keepAnswer('p', { answer: '{}', expiresAtSeconds: START_MS / 1_000 + 1_000 })
  const kinds: string[] = []
  for (const id of ['a', 'b', 'c']) kinds.push((await store.reserve(reservationOf(id, kept))).kind)
  expect(kinds).toEqual(['kept', 'kept', 'full'])
  expect(await store.get('c')).toBeUndefined()
})

test.each(Object.entries(RESERVATION_LOOKUPS))(
  'what is looked up is indexed: %s',
  (_name, where) => {
    const database = openReservationDatabase(folderPath())
    endings.unshift(() => database.close())
    const plan = database
      .prepare(`EXPLAIN QUERY PLAN SELECT body FROM reservations WHERE ${where}`)
      .all()
      .map(({ detail }) => String(detail))
    expect(plan[0]).toMatch(/USING (COVERING )?INDEX/)
  },
)

test('another program’s file beside the ledger is refused, and nothing is written into it', () => {
  const databasePath = folderPath()
  const theirs = new DatabaseSync(`${databasePath}.payments`)
  endings.unshift(() => theirs.close())
  theirs.exec('CREATE TABLE theirs (id)')
  const open = () => openSqliteReservationStore({ databasePath, clock: manualClock(START_MS) })
  expect(open).toThrow(GradingStoreUnavailable)
  expect(theirs.prepare('SELECT count(*) AS n FROM sqlite_schema').get()).toEqual({ n: 1 })
})

test('a file that can be read no more is a named error in every step, before anything is settled', async () => {
  const databasePath = folderPath()
  const store = openSqliteReservationStore({ databasePath, clock: manualClock(START_MS) })
  endings.unshift(() => store.close())
  const vandal = openReservationDatabase(databasePath)
  vandal.exec('DROP TABLE reservations')
  vandal.close()
  const steps = [
    () => store.get('p'),
    () => store.open(),
    () => store.reserve(reservationOf('p')),
    () => store.release('p'),
  ]
  for (const step of steps) await expect(step()).rejects.toThrow(GradingStoreUnavailable)
})
