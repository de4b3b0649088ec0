/** No request holds the event loop for long: what is done between two steps is bounded by its amount, not by its time. */
import { describe, expect, test } from 'vitest'
import { auditCards } from '../domain/audit-picks.ts'
import { auditPieces } from '../domain/card-text.ts'
import { createGrader } from '../domain/grader.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { samplePick } from '../testing/samples.fixture.ts'
import { trackerSteps } from '../tracker/read-tracker.ts'
import { inSteps, WRITTEN_PER_STEP, writtenInSteps } from '../tracker/steps.ts'
import { allRows, type ReadRow, ROWS_PER_STEP } from './read-picks.ts'
import { readSale, saleSteps } from './read-sale.ts'

const HEADER = 'date,home,away,market,selection,odds,note\n'
const fileOf = (rows: number): string =>
  HEADER +
  Array.from(
    { length: rows },
    (_, index) =>
      `2024-04-23,Arsenal,Chelsea,1X2,home,${(2 + index / 1_000).toFixed(3)},${'x'.repeat(300)}\n`,
  ).join('')

function stepsOf(steps: Generator<void, unknown>): number {
  let count = 1
  while (steps.next().done !== true) count += 1
  return count
}

describe('a request is read in bounded steps', () => {
  test('a file of 1,000 bets is parsed in steps of 16 KiB', () => {
    const text = fileOf(1_000)
    expect(stepsOf(trackerSteps(text))).toBeGreaterThanOrEqual(Math.floor(text.length / 16_800))
  })

  test('rows are read in steps of 50, each row once', () => {
    let [inStep, most, read] = [0, 0, 0]
    const cause = { kind: 'not_gradable', code: 'not_read' } as const
    function* rows(): Generator<ReadRow> {
      for (let index = 0; index < 1_000; index += 1) {
        inStep += 1
        read += 1
        most = Math.max(most, inStep)
        yield { index, kind: 'faulty', issues: [], cause }
      }
    }
    const steps = allRows({ rows: rows() })
    while (steps.next().done !== true) inStep = 0
    expect([most, read]).toEqual([ROWS_PER_STEP, 1_000])
  })

  test('an audit’s body lets others run at every step, and reads the same as at once', async () => {
    const body = { csv: fileOf(1_000) }
    let breaths = 0
    const read = await inSteps(saleSteps('audit', body), async () => {
      breaths += 1
    })
    expect(read).toEqual(readSale('audit', body))
    expect(breaths).toBeGreaterThanOrEqual(1_000 / ROWS_PER_STEP)
  })
})

test('an audit’s cards are sorted, and each of its sums made, between two breaths', async () => {
  const { grader } = createGraderFixture()
  const { picks: cards } = await grader.audit({ picks: [samplePick()] })
  let breaths = 0
  const audit = await auditCards(cards, {}, async () => {
    breaths += 1
  })
  expect(audit).toEqual(await auditCards(cards))
  expect(breaths).toBe(4)
})

test('an audit’s text is written card by card, and 64 Ki characters between two breaths', async () => {
  const { grader } = createGraderFixture()
  const audit = await grader.audit({ picks: Array.from({ length: 1_000 }, () => samplePick()) })
  const longest = Math.max(...[...auditPieces(audit)].map(({ length }) => length))
  let [written, most] = [0, 0]
  const counted = function* () {
    for (const piece of auditPieces(audit)) {
      written += piece.length
      most = Math.max(most, written)
      yield piece
    }
  }
  const text = await writtenInSteps(counted(), async () => {
    written = 0
  })
  expect(text).toBe(JSON.stringify(audit))
  expect(most).toBeLessThan(WRITTEN_PER_STEP + longest)
})

test('an audit grades ten picks between two breaths, the legs of parlays counted', async () => {
  const { store } = createGraderFixture()
  let [asked, most] = [0, 0]
  const counted = {
    ...store,
    events: (paths: readonly string[]) => {
      asked += paths.length
      most = Math.max(most, asked)
      return store.events(paths)
    },
  }
  const grader = createGrader({
    store: counted,
    nowSeconds: () => 0,
    random: () => '',
    breathe: async () => {
      asked = 0
    },
  })
  const pick = samplePick()
  const parlay = {
    kind: 'parlay',
    legs: [pick, pick, pick],
    odds: pick.odds,
    options: pick.options,
  } as const
  const audit = await grader.audit({
    picks: Array.from({ length: 200 }, () => [pick, parlay]).flat(),
  })
  expect(audit.coverage.picks).toBe(400)
  expect(most).toBeLessThanOrEqual(10 + parlay.legs.length)
})
