import { expect, it } from 'vitest'
import { useEnglishHead } from '../page-head.fixture.ts'
import { ageAt } from './age-line.ts'
import type { ShownRecord } from './read-record.ts'

// Fourteen hours ahead of UTC.
useEnglishHead('echo', 'Pacific/Kiritimati')

const LATE_MS = Date.UTC(2026, 10, 28, 9, 30)
const MINUTE_MS = 60_000
/** Written and read at 23:30 of the clinic's day. */
const record: ShownRecord = {
  uri: 'care://ann/tea',
  version: 1,
  value: 'Green.',
  status: undefined,
  language: 'en',
  writtenAt: new Date(LATE_MS).toISOString(),
  authorLabel: 'Dr Osei',
  staleAfter: undefined,
  age: 'What the service said.',
  isStale: false,
  readAtMs: LATE_MS,
  retraction: undefined,
}

it('C37, C39: what the service said of an age holds until the clinic’s midnight, or the review date', () => {
  expect(ageAt(record, LATE_MS + 29 * MINUTE_MS).age).toBe('What the service said.')
  const next = ageAt(record, LATE_MS + 31 * MINUTE_MS)
  expect(next).toEqual({ age: 'Changed yesterday by Dr Osei.', isStale: false })
  const staleAfter = new Date(LATE_MS + MINUTE_MS).toISOString()
  const past = ageAt({ ...record, staleAfter }, LATE_MS + 2 * MINUTE_MS)
  expect(past.isStale).toBe(true)
  expect(past.age).toBe('Past its review date: last changed today by Dr Osei.')
})
