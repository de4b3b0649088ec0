import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { uploadExample } from '../wire/examples.ts'
import { runGrading } from './run-grading.ts'

/** Two days after the example's match. */
const NOW_MS = Date.parse('2026-06-03T18:00:00Z')

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grading-audit-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

async function grading(...args: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const code = await runGrading({
    arguments: args,
    environment: { DATABASE_PATH: join(folder, 'grading.db') },
    clock: manualClock(NOW_MS),
    stdin: (async function* () {})(),
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
  })
  return { code, lines: out, err: err.join('\n') }
}

const file = (name: string, content: string | Buffer): string => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

test('audit: each row of a tracker’s file is graded or named, and the figures follow', async () => {
  await grading('import', file('match.json', JSON.stringify(uploadExample)))
  const bets = file(
    'bets.csv',
    [
      'Date;Home;Away;Market;Selection;Odds;Result',
      '01.06.2026;Arsenal London;CFC Chelsea;1X2;1;2,20;L',
      '01.06.2026;Arsenal;Chelsea;Totals;Over 3.5;EVEN',
      '01.06.2026;Chelsea;Arsenal;1X2;X;3,60',
      '01.06.2026;Arsenal;Chelsea;1X2;X;110',
    ].join('\n'),
  )
  const { code, lines } = await grading('audit', bets)
  expect(code).toBe(0)
  expect(lines).toEqual([
    '  line 2    A  soccer/epl.20260601.ars-che/1x2/ft home at 2.2',
    expect.stringContaining(
      '  line 3    UNGRADED soccer/epl.20260601.ars-che/total/ft/3.5 over: A close is recorded',
    ),
    expect.stringContaining('The ledger has: soccer/epl.20260601.ars-che/1x2/ft (2026-06-01).'),
    expect.stringContaining('  line 5    left out: odds: expected a clear notation'),
    '  line 2    Your record says lost; the ledger, won.',
    expect.stringMatching(/^1 of 3 picks graded\. Raw return .+ of 100\. /),
  ])
  const american = await grading('audit', bets, '--odds', 'american')
  expect(american.lines[3]).toContain('at +110')
})

test('audit: a file in UTF-16 is read', async () => {
  await grading('import', file('match.json', JSON.stringify(uploadExample)))
  const text = '\uFEFFDate;Home;Away;Selection;Odds\r\n01.06.2026;Arsenal;Chelsea;1;2,20\r\n'
  const { lines } = await grading('audit', file('bets.csv', Buffer.from(text, 'utf16le')))
  expect(lines[0]).toBe('  line 2    A  soccer/epl.20260601.ars-che/1x2/ft home at 2.2')
})

test('audit: a file that is no tracker’s, or bad choices, exit 2 and say what was expected', async () => {
  await grading('import', file('match.json', JSON.stringify(uploadExample)))
  const strange = await grading('audit', file('strange.csv', 'a,b\n1,2'))
  expect([strange.code, strange.err]).toEqual([
    2,
    expect.stringContaining('a header with a column of odds'),
  ])
  expect((await grading('audit')).code).toBe(2)
  expect((await grading('audit', 'x.csv', '--odds', 'klingon')).err).toContain(
    'american, decimal, fractional',
  )
})
