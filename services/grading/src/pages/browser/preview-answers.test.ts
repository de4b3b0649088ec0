import { expect, test } from 'vitest'
import type { PreviewRow } from '../../wire/coverage.ts'
import { answerRows, betName, groupRow, LEAVE_OUT, picksToSend } from './preview-answers.ts'

const question = (line: number, ...labels: readonly string[]): PreviewRow => ({
  line,
  written: `bet ${line}`,
  status: 'unreadable',
  cause: {
    kind: 'question',
    code: 'unclear',
    options: labels.map((label) => ({ label, send: { market: label, line } })),
  },
})

const graded = (market: string): PreviewRow => ({
  pick: 0,
  status: 'gradable',
  send: { market },
})

/** Looks that answer one after the other, and what was asked. */
function looks(...answers: readonly (readonly PreviewRow[])[]) {
  const requested: (readonly unknown[])[] = []
  const look = async (picks: readonly unknown[]) => {
    const rows = answers[requested.length] ?? []
    requested.push(picks)
    const answer = { picks: 0, gradable: 0, ungraded: 0, unreadable: 0, unconfirmed: 0 }
    return { kind: 'seen' as const, answer: { ...answer, repeated: 0, not_looked_at: 0, rows } }
  }
  return { asked: requested, look }
}

const rows = [question(2, 'A', 'B'), graded('C'), question(4, 'A')]
const [first, , third] = rows.map(betName)

test('an answer is looked at, and may lead to another question; its row keeps its line', async () => {
  const { asked: requests, look } = looks([question(9, 'yes')], [graded('B')])
  const answers = new Map([[first ?? '', ['B', 'yes']]])
  const shown = await answerRows(rows, answers, look)
  if (shown.kind !== 'seen') throw new Error(shown.kind)
  expect(requests).toEqual([[{ market: 'B', line: 2 }], [{ market: 'yes', line: 9 }]])
  expect(shown.answer[0]).toMatchObject({ line: 2, status: 'gradable', chosen: ['B', 'yes'] })
  expect(shown.answer.map(groupRow)).toEqual(['graded', 'graded', 'question'])
})

test('an answer that the next look does not offer is asked again, and a row left out is neither sent nor asked', async () => {
  const { asked: questions, look } = looks()
  const answers = new Map([
    [first ?? '', ['gone']],
    [third ?? '', [LEAVE_OUT]],
  ])
  const shown = await answerRows(rows, answers, look)
  if (shown.kind !== 'seen') throw new Error(shown.kind)
  expect(questions).toEqual([])
  expect(shown.answer.map(groupRow)).toEqual(['question', 'graded', 'not_gradable'])
  expect(picksToSend(shown.answer, true)).toEqual([{ market: 'C' }])
})

test('a bet that two rows came to is sent once', () => {
  expect(picksToSend([graded('C'), graded('C'), graded('D')], false)).toEqual([
    { market: 'C' },
    { market: 'D' },
  ])
})
