import { describe, expect, it } from 'vitest'
import { lineVerdict, lineWords, scopeWords } from './calibration-words.ts'

const total = { n: 12_000, events: 2_000, roi: -0.02 }
const calibrated = { slope: 1.03, intercept: -0.001, slope_se: 0.022, intercept_se: 0.002 }

const joint = {
  gaps: { chi_square: 7.8, degrees: 6, p: 0.255 },
  line: { chi_square: 1.2, degrees: 2, p: 0.54 },
}

describe('a column in words', () => {
  it.each([
    ['came_true', 'The grades came true'],
    ['promised_too_much', 'promised too much'],
    ['promised_too_little', 'promised too little'],
    ['uneven', 'Some grades'],
  ] as const)('%s, with both chances', (verdict, words) => {
    expect(lineVerdict({ joint, verdict })).toContain(words)
    expect(lineVerdict({ joint, verdict })).toContain('all gaps 0.255, slope and intercept 0.540')
  })

  it('say nothing of chances where there is too little', () => {
    expect(lineVerdict({ joint: null, verdict: 'none' })).toBe('No such pick has settled yet.')
    expect(lineVerdict({ joint, verdict: 'too_few' })).toMatch(/^Too few[^:]*$/)
    expect(lineWords({ line: null, statement: null, total })).toBe('')
    expect(lineWords({ line: null, statement: 'Refunds.', total })).toBe('Refunds.')
  })

  it('carry their 95 % ranges, and what the letters overstate', () => {
    const words = lineWords({ line: calibrated, statement: '11 % came back.', total })
    expect(words).toContain('12,000 settled picks on 2,000 events')
    expect(words).toContain('1.03 points (slope, ±0.04)')
    expect(words).toContain('−0.1\u00a0% (intercept, ±0.4 points)')
    expect(words).toMatch(/ 11 % came back\.$/)
  })
})

it('scopes are named for people, with synthetic ones marked', () => {
  expect(scopeWords('synthetic')).toBe('Synthetic (made up)')
  expect(scopeWords('all')).toBe('All real markets')
  expect(scopeWords('soccer/1x2/pinnacle')).toBe('soccer · 1x2 · by pinnacle')
})
