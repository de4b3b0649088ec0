import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hostileText } from '../testing/hostile-text.fixture.ts'
import { decodeText } from '../wire/text-of-others.ts'
import { spokenText } from './speech.ts'
import { ageDays, ageLine, isStale } from './staleness.ts'

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

describe('C13: the text to be spoken', () => {
  it('is the value alone for a fresh record', () => {
    expect(spokenText(record, { nowMs: NOW })).toBe('Take two tablets.')
  })

  it('is the value and, past staleAfter, its age', () => {
    const stale = { ...record, staleAfter: iso(NOW - 1) }
    expect(spokenText(stale, { nowMs: NOW })).toBe(
      'Take two tablets.\nPlease note: this was last changed 12 days ago, by Dr Osei.',
    )
    expect(spokenText({ ...stale, writtenAt: iso(NOW - DAY_MS) }, { nowMs: NOW })).toContain(
      'one day ago',
    )
    expect(spokenText({ ...stale, writtenAt: iso(NOW) }, { nowMs: NOW })).toContain('today')
  })
})
