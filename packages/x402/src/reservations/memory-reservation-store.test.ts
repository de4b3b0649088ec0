import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { createMemoryReservationStore } from './memory-reservation-store.ts'
import { describeReservationStore, exampleReservation } from './reservation-store.contract.ts'

const START_MS = 1_795_226_000_000
const answered = { answer: '{}', expiresAtSeconds: START_MS / 1_000 + 240 }

describeReservationStore('memory', () => {
  const clock = manualClock(START_MS)
  return {
    store: createMemoryReservationStore({ clock }),
    nowSeconds: () => clock.unixMs() / 1_000,
  }
})

test('bounded memory: when answers are full, the least recently used one is forgotten', async () => {
  const store = createMemoryReservationStore({ clock: manualClock(START_MS), answeredMax: 2 })
  for (const id of ['a', 'b']) {
    await store.reserve(exampleReservation(id))
    await store.keepAnswer(id, answered)
  }
  expect(await store.get('a')).toBeDefined()
  await store.reserve(exampleReservation('c'))
  await store.keepAnswer('c', answered)
  expect(await store.get('b')).toBeUndefined()
  expect(await store.get('a')).toBeDefined()
  expect(await store.get('c')).toBeDefined()
})

test('bounded memory: when open reservations are full, nothing more is reserved and none is forgotten', async () => {
  const store = createMemoryReservationStore({ clock: manualClock(START_MS), openMax: 2 })
  for (const id of ['a', 'b']) await store.reserve(exampleReservation(id))
  expect(await store.reserve(exampleReservation('c'))).toEqual({ kind: 'full' })
  expect((await store.open()).map(({ paymentId }) => paymentId)).toEqual(['a', 'b'])
})
