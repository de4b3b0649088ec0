import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hostileText } from '../testing/hostile-text.fixture.ts'
import { decodeText } from '../wire/text-of-others.ts'
import { spokenText } from './speech.ts'
import { ageDays, ageLine, ageWords, isStale, spokenAge } from './staleness.ts'

const DAY_MS = 86_400_000
const NOW = Date.UTC(2026, 10, 21)
const iso = (ms: number) => new Date(ms).toISOString()
const record = {
  authorLabel: 'Dr Osei',
  writtenAt: iso(NOW - 12.9 * DAY_MS),
  value: 'Take two tablets.',
}

describe('staleness text shapes', () => {
  it('[STALE — last changed <N> days ago by <author label>; say this age aloud] for a stale record', () => {
    expect(ageLine({ ...record, staleAfter: iso(NOW - 1) }, NOW)).toBe(
      '[STALE — last changed 12 days ago by Dr Osei; say this age aloud]',
    )
  })

  it('[changed <N>d ago by <author label>] for a fresh one', () => {
    expect(ageLine({ ...record, staleAfter: iso(NOW + 1) }, NOW)).toBe(
      '[changed 12d ago by Dr Osei]',
    )
    expect(ageLine(record, NOW)).toBe('[changed 12d ago by Dr Osei]')
  })

  it('C45: whatever the label is, it is one line of that shape, and the label can be read back', () => {
    const shapes = [
      [undefined, /^\[changed 12d ago by ([^[\]\n]*)\]$/u],
      [iso(NOW - 1), /^\[STALE — last changed 12 days ago by ([^[\]\n]*); say this age aloud\]$/u],
    ] as const
    fc.assert(
      fc.property(hostileText, (authorLabel) => {
        for (const [staleAfter, shape] of shapes) {
          const line = ageLine({ ...record, authorLabel, staleAfter }, NOW)
          expect(decodeText(shape.exec(line)?.[1] ?? '')).toBe(authorLabel)
        }
      }),
    )
  })

  it('fresh becomes stale when the clock passes staleAfter', () => {
    expect(isStale({ staleAfter: iso(NOW) }, NOW)).toBe(false)
    expect(isStale({ staleAfter: iso(NOW - 1) }, NOW)).toBe(true)
  })

  it('age is never negative, even if the clock jumps back', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (writtenAtMs, nowMs) => {
        const days = ageDays({ writtenAt: iso(writtenAtMs) }, nowMs)
        expect(days).toBeGreaterThanOrEqual(0)
        expect(Object.is(days, -0)).toBe(false)
      }),
    )
  })
})

/** What is said of a fresh and of a stale record. */
const sentences = (
  [writtenAt, now]: readonly [string, string],
  timeZone?: string,
  language?: string,
) => {
  const aged = { authorLabel: 'Dr Osei', writtenAt, staleAfter: '2020-01-01', language }
  const nowMs = Date.parse(now)
  const { staleAfter: _, ...fresh } = aged
  return [
    ageWords(fresh, nowMs, timeZone),
    ageWords(aged, nowMs, timeZone),
    spokenAge(aged, nowMs, timeZone),
  ]
}

describe('C37: days where a person reads or hears of them', () => {
  it('written 22:37, read 21:37 next day: yesterday, though no 24 hours have passed', () => {
    expect(sentences(['2026-11-20T22:37:00Z', '2026-11-21T21:37:00Z'])).toEqual([
      'Changed yesterday by Dr Osei.',
      'Past its review date: last changed yesterday by Dr Osei.',
      'Please note: this was last changed yesterday, by Dr Osei.',
    ])
  })

  it.each<[string, [string, string], string]>([
    ['Asia/Tokyo', ['2026-11-20T14:59:00Z', '2026-11-20T15:01:00Z'], 'yesterday'],
    ['UTC', ['2026-11-20T14:59:00Z', '2026-11-20T15:01:00Z'], 'today'],
    // The day on which clocks go back has 25 hours.
    ['America/New_York', ['2026-11-01T04:30:00Z', '2026-11-02T04:30:00Z'], 'today'],
    ['America/New_York', ['2026-11-01T03:30:00Z', '2026-11-02T05:30:00Z'], '2 days ago'],
    ['Europe/Berlin', ['2023-02-28T23:30:00Z', '2026-11-20T12:00:00Z'], '1360 days ago'],
    ['UTC', ['2026-11-21T12:00:00Z', '2026-11-20T12:00:00Z'], 'today'],
  ])('the calendar is that of the clinic: %s, %s: %s', (timeZone, times, when) => {
    for (const sentence of sentences(times, timeZone)) expect(sentence).toContain(when)
  })

  it.each([
    ['de', 'heute', 'gestern', 'vor 5 Tagen'],
    ['fr', 'aujourd’hui', 'hier', 'il y a 5 jours'],
    ['es', 'hoy', 'ayer', 'hace 5 días'],
    ['it', 'oggi', 'ieri', '5 giorni fa'],
    ['nl-BE', 'vandaag', 'gisteren', '5 dagen geleden'],
    ['pl', 'dzisiaj', 'wczoraj', '5 dni temu'],
    ['tr', 'bugün', 'dün', '5 gün önce'],
    ['ar-EG', 'اليوم', 'أمس', 'قبل 5 أيام'],
    ['en-GB', 'today', 'yesterday', '5 days ago'],
    [undefined, 'today', 'yesterday', '5 days ago'],
    ['pt', 'today', 'yesterday', '5 days ago'],
  ])('in the language of the record: %s', (language, ...when) => {
    for (const [at, said] of when.entries()) {
      const now = new Date(Date.UTC(2026, 10, [20, 21, 25][at])).toISOString()
      for (const sentence of sentences(['2026-11-20T00:00:00Z', now], 'UTC', language)) {
        expect(sentence).toContain(said)
        expect(sentence).not.toMatch(/\b0\b/)
      }
    }
  })

  it('the lines of care.md keep their form where the language is English or unknown', () => {
    const nowMs = NOW
    for (const language of ['en', 'en-GB', undefined])
      expect(ageLine({ ...record, language }, nowMs, 'Asia/Tokyo')).toBe(
        '[changed 12d ago by Dr Osei]',
      )
    expect(ageLine({ ...record, language: 'de' }, nowMs)).toBe(
      '[zuletzt geändert vor 13 Tagen von Dr Osei]',
    )
    expect(ageLine({ ...record, language: 'de', staleAfter: iso(NOW - 1) }, nowMs)).toBe(
      '[VERALTET — zuletzt geändert vor 13 Tagen von Dr Osei; dieses Alter laut sagen]',
    )
  })
})

describe('C13: the text to be spoken', () => {
  it('is the value alone for a fresh record', () => {
    expect(spokenText({ ...record, language: 'en' }, { nowMs: NOW })).toBe('Take two tablets.')
  })

  it('is the value and, past staleAfter, its age', () => {
    const stale = { ...record, language: 'en', staleAfter: iso(NOW - 1) }
    expect(spokenText(stale, { nowMs: NOW })).toBe(
      'Take two tablets.\nPlease note: this was last changed 13 days ago, by doctor Osei.',
    )
    expect(spokenText({ ...stale, writtenAt: iso(NOW - DAY_MS) }, { nowMs: NOW })).toContain(
      'yesterday',
    )
    expect(spokenText({ ...stale, writtenAt: iso(NOW) }, { nowMs: NOW })).toContain('today')
  })
})
