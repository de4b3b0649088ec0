import { describe, expect, it } from 'vitest'
import { lineVerdict, lineWords, scopeWords, testWords } from './calibration-words.ts'

const total = { n: 12_000, events: 2_000, roi: -0.02 }
const calibrated = { slope: 1.03, intercept: -0.001, slope_se: 0.022, intercept_se: 0.002 }

const gaps = { chi_square: 7.8, degrees: 6, p: 0.255 }

describe('a column in words', () => {
  it.each([
    ['came_true', 'The grades came true'],
    ['promised_too_much', 'promised too much'],
    ['promised_too_little', 'promised too little'],
    ['uneven', 'Some grades'],
    ['none', 'No such pick has settled yet.'],
    ['too_few', 'Too few'],
  ] as const)('%s', (verdict, words) => {
    expect(lineVerdict({ verdict })).toContain(words)
  })

  it('each test with its chance, and whether it counts against the grades', () => {
    expect(testWords(gaps, 0.025)).toEqual({
      chance: '25.5\u00a0%',
      statistic: 'χ² 7.8 on 6 degrees of freedom',
      reading: 'Not less than 2.5\u00a0%: within chance.',
    })
    expect(testWords({ ...gaps, p: 0.025 }, 0.025).reading).toContain('within chance')
    const departing = testWords({ chi_square: 40, degrees: 1, p: 0 }, 0.025)
    expect(departing).toMatchObject({
      chance: 'under 0.1\u00a0%',
      statistic: 'χ² 40.0 on 1 degree of freedom',
    })
    expect(departing.reading).toContain('departs')
  })

  it('say nothing of a line that is none', () => {
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
  expect(scopeWords('soccer/1x2/best_of_books')).toBe('soccer · 1x2 · by best of books')
})
