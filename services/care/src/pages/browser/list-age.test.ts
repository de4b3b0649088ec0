import { describe, expect, it } from 'vitest'
import { useEnglishHead } from '../page-head.fixture.ts'
import { listAge } from './list-age.ts'

useEnglishHead('echo')

const HEARD = Date.UTC(2026, 10, 21, 12)
const at = (laterMs: number, isLive = true) =>
  listAge({ heardMs: HEARD, nowMs: HEARD + laterMs, isLive })

describe('C39: a list of what may be said', () => {
  it('says "now" only while the service is heard, and how old it is after 15 s without', () => {
    expect(at(15_000)).toMatchObject({ isFresh: true, title: 'What may be said now' })
    const old = at(15_001)
    expect(old.isFresh).toBe(false)
    expect(old.title).toMatch(/^What could be said at /)
    expect(old.words).toMatch(/^This is 15 s old: /)
  })

  it('does not say "now" while nothing is connected, or before anything was read', () => {
    expect(at(0, false).title).not.toContain('now')
    const never = listAge({ heardMs: undefined, nowMs: HEARD, isLive: true })
    expect(never).toEqual({ isFresh: false, title: 'What may be said', words: '', onPaper: '' })
  })

  it.each([
    [119_000, '115 s'],
    [120_000, '2 min'],
    [7_199_000, '119 min'],
    [7_200_000, '2 h'],
    [-5_000, '0 s'],
  ])('after %d ms it is %s old', (laterMs, age) => {
    expect(at(laterMs, false).words).toContain(`This is ${age} old`)
  })
})
