import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '@tallystick/service-kit'
import { describeReservationStore, reservationOf } from '@tallystick/x402/testing'
import { afterEach, expect, test } from 'vitest'
import { openSqliteReservationStore } from './sqlite-reservation-store.ts'

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
