import { describe, expect, it } from 'vitest'
import { pickIssueWords, readPicks } from './read-picks.ts'

const key = 'soccer/epl.20240423.ars-che/1x2/ft'

describe('a pasted record', () => {
  it.each([
    ['commas', `${key}, home, 2.10`],
    ['tabs', `${key}\thome\t2.10`],
    ['semicolons', `${key};home;2.10`],
    ['a header in another order', `odds,market,selection\n2.10,${key},home`],
    ['quotes', `"${key}","home","2.10"`],
    ['comments and empty lines', `# mine\n\n${key}, home, 2.10\n`],
  ])('is read with %s', (_name, text) => {
    const { picks, problems } = readPicks(text)
    expect(problems).toEqual([])
    expect(picks).toEqual([{ market: key, selection: 'home', odds: '2.10' }])
  })

  it('keeps the fourth column as the reader’s mark, commas in quotes included', () => {
    const { picks } = readPicks(`${key}, home, 11/10, "tip 7, ""sure"""`)
    expect(picks).toEqual([{ market: key, selection: 'home', odds: '11/10', ref: 'tip 7, "sure"' }])
  })

  it('is read as the API’s own JSON, a list or a request', () => {
    const pick = { market: key, selection: 'home', odds: 2.1 }
    expect(readPicks(JSON.stringify([pick])).picks).toEqual([pick])
    const whole = readPicks(JSON.stringify({ label: 'mine', picks: [pick] }))
    expect(whole).toMatchObject({ picks: [pick], rest: { label: 'mine' } })
  })

  it('names the line and what it lacks', () => {
    const { picks, problems } = readPicks(`${key}, home, 2.10\n${key}, home\nhello`)
    expect(picks).toHaveLength(1)
    expect(problems).toEqual([
      { line: 2, problem: 'no odds' },
      { line: 3, problem: 'no selection, no odds' },
    ])
  })

  it.each(['{', '[1,', '{"a":1}'])(
    'that is not JSON with picks is a problem, not an exception: %s',
    (text) => {
      expect(readPicks(text)).toMatchObject({ picks: [], problems: [{ line: 1 }] })
    },
  )
})

describe('what the service says of a pick', () => {
  const lines = [2, 5]
  it('names its line', () => {
    const issue = { field: 'body.picks[1].odds', expected: 'odds above 1' }
    expect(pickIssueWords(issue, lines)).toBe('Line 5, odds: expected odds above 1.')
    expect(pickIssueWords(issue, [])).toBe('Pick 2, odds: expected odds above 1.')
  })

  it('names both lines of a duplicate', () => {
    const issue = { field: 'body.picks[1]', expected: 'another pick than body.picks[0]' }
    expect(pickIssueWords(issue, lines)).toBe('Line 5: expected another pick than line 2.')
  })

  it('about the whole record names its member', () => {
    const issue = { field: 'body.label', expected: 'a text' }
    expect(pickIssueWords(issue, lines)).toBe('label: expected a text.')
  })
})
