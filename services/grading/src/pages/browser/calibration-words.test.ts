import { describe, expect, it } from 'vitest'
import { lineVerdict, lineWords, scopeWords } from './calibration-words.ts'

const total = { n: 12_000, events: 2_000, roi: -0.02 }
const calibrated = { slope: 1.03, intercept: -0.001, slope_se: 0.022, intercept_se: 0.002 }

describe('slope and intercept in words', () => {
  it.each([
    ['within chance of 1 and 0', calibrated, 'The grades came true'],
    ['a slope below 1', { ...calibrated, slope: 0.8 }, 'promised too much'],
    ['a slope above 1', { ...calibrated, slope: 1.2 }, 'promised too little'],
    ['an intercept below 0', { ...calibrated, intercept: -0.03 }, 'returns lie below'],
    ['an intercept above 0', { ...calibrated, intercept: 0.03 }, 'returns lie above'],
  ])('%s: %#', (_name, line, words) => {
    expect(lineVerdict({ line, total })).toContain(words)
  })

  it('say nothing of a missing line', () => {
    expect(lineVerdict({ line: null, total })).toContain('Too few')
    expect(lineVerdict({ line: null, total: { n: 0, events: 0, roi: null } })).toContain(
      'No such pick',
    )
    expect(lineWords({ line: null, total })).toBe('')
  })

  it('give no verdict if the slope could be anything, even around 1 and 0', () => {
    const line = { slope: 4, intercept: 0.1, slope_se: 3, intercept_se: 0.3 }
    expect(lineVerdict({ line, total })).toContain('Too few')
  })

  it('carry their 95 % ranges', () => {
    const words = lineWords({ line: calibrated, total })
    expect(words).toContain('12,000 settled picks on 2,000 events')
    expect(words).toContain('1.03 points (slope, ±0.04)')
    expect(words).toContain('−0.1\u00a0% (intercept, ±0.4 points)')
  })
})

it('scopes are named for people, with synthetic ones marked', () => {
  expect(scopeWords('synthetic')).toBe('Synthetic (made up)')
  expect(scopeWords('all')).toBe('All real markets')
  expect(scopeWords('soccer/1x2/pinnacle')).toBe('soccer · 1x2 · by pinnacle')
})
