import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { useEnglishHead } from '../page-head.fixture.ts'
import { carriedTime, clinicTime, listTime, timeText } from './words.ts'

useEnglishHead('echo', 'Pacific/Kiritimati')

const before = process.env['TZ']
beforeAll(() => vi.stubEnv('TZ', 'America/Los_Angeles'))
afterAll(() => vi.stubEnv('TZ', before))

it('C37: a record’s time is the clinic’s, as its age is, and says so where the reader’s clock differs', () => {
  // In Los Angeles it is the day before.
  expect(clinicTime(Date.UTC(2026, 10, 28, 12))).toMatch(/11\/29\/2026, 2:00\sAM GMT\+14/)
  vi.stubEnv('TZ', 'Pacific/Kiritimati')
  expect(clinicTime(Date.UTC(2026, 10, 28, 12))).toMatch(/^11\/29\/2026, 2:00\sAM$/)
})

it('C39: a moment of another day says its day: a sign-in that ends tomorrow, a verdict of yesterday', () => {
  const now = Date.UTC(2026, 10, 28, 12)
  expect(timeText(now, now)).not.toContain('2026')
  for (const hours of [-24, 24])
    expect(timeText(new Date(now + hours * 3_600_000).toISOString(), now)).toContain('2026')
})

it('C39: a list’s moment is the clinic’s, with its zone where the reader’s clock differs, and on paper always', () => {
  const now = Date.UTC(2026, 10, 28, 12)
  vi.stubEnv('TZ', 'America/Los_Angeles')
  expect(listTime(now, now)).toMatch(/^2:00:00\sAM GMT\+14$/)
  expect(listTime(now - 86_400_000, now)).toMatch(/^11\/28\/2026, 2:00\sAM GMT\+14$/)
  vi.stubEnv('TZ', 'Pacific/Kiritimati')
  expect(listTime(now, now)).toMatch(/^2:00:00\sAM$/)
  expect(carriedTime(now)).toMatch(/^November 29, 2026 at 2:00\sAM GMT\+14$/)
})
