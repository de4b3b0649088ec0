import { expect, test } from 'vitest'
import type { PreviewRow } from '../../wire/coverage.ts'
import { byCause, issueWords } from './preview-causes.ts'

const unread = (line: number, member: string, expected: string): PreviewRow => ({
  line,
  status: 'unreadable',
  issues: [{ field: `body.csv.line_${line}.${member}`, expected }],
})

test('a file’s problems are grouped by cause, the commonest first, each with its rows', () => {
  const clear = 'a clear notation: "+110" is American, "110.0" decimal'
  const message = 'The ledger has no closing price of this market.'
  const rows: readonly PreviewRow[] = [
    { line: 2, status: 'ungraded', reason: { code: 'no_close_recorded', message } },
    unread(3, 'odds', clear),
    unread(4, 'odds', clear),
    {
      line: 5,
      status: 'unreadable',
      issues: [{ field: 'body.csv.line_5', expected: 'another pick than body.csv.line_4' }],
    },
    {
      line: 6,
      status: 'unreadable',
      issues: [{ field: 'body.csv.line_6', expected: 'another pick than body.csv.line_3' }],
    },
    unread(7, 'odds', clear),
    { line: 8, status: 'not_looked_at' },
  ]
  expect(
    byCause([
      ...rows,
      { line: 9, status: 'unreadable', cause: { kind: 'not_gradable', code: 'lay' } },
    ]).map(([cause, group]) => [cause, group.map(({ line }) => line)]),
  ).toEqual([
    [`odds: expected ${clear}.`, [3, 4, 7]],
    ['The row: expected another pick than another row.', [5, 6]],
    [`UNGRADED: ${message}`, [2]],
    ['Not looked at yet: the free look takes a part at a time.', [8]],
    ['It is a bet against its selection: the ledger grades backs only.', [9]],
  ])
})

test.each([
  ['body.picks[1].odds', 'odds above 1', 'Pick 2. odds: expected odds above 1.'],
  [
    'body.csv.line_7',
    'another pick than body.csv.line_2',
    'Line 7. Expected another pick than line 2.',
  ],
  ['body.label', 'a text', 'label: expected a text.'],
])('what the service says of %s names its row', (field, expected, words) => {
  expect(issueWords({ field, expected })).toBe(words)
})
