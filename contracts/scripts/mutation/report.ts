// What a run prints at its end.
import type { Result } from './campaign.ts'
import { OPERATORS } from './mutant.ts'
import { counted, scoreOf, type Tally, tallyOf } from './score.ts'
import { type Reasons, type Review, SURVIVORS_FILE } from './survivors.ts'

const COLUMNS = ['killed', 'survived', 'stillborn', 'equivalent', 'duplicate'] as const

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

function rowOf(name: string, tally: Tally): string {
  const figures = COLUMNS.map((column) => String(tally[column]).padStart(column.length))
  return [name.padEnd(34), ...figures, percent(scoreOf(tally)).padStart(8)].join('  ')
}

function tableOf(title: string, groups: ReadonlyMap<string, Tally>): readonly string[] {
  const head = [title.padEnd(34), ...COLUMNS, 'score'.padStart(8)].join('  ')
  return [head, ...Array.from(groups, ([name, tally]) => rowOf(name, tally)), '']
}

function grouped(
  results: readonly Result[],
  names: readonly string[],
  nameOf: (result: Result) => string,
): ReadonlyMap<string, Tally> {
  const all = counted(results)
  const tallies = names.map((name) => {
    const own = all.filter(([result]) => nameOf(result) === name)
    return [name, tallyOf(own.map(([, status]) => status))] as const
  })
  return new Map(tallies.filter(([, tally]) => COLUMNS.some((column) => tally[column] > 0)))
}

const lineOf = ({ mutant }: Result): string =>
  `  ${mutant.file}:${mutant.line}  ${mutant.operator}\n    ${mutant.key}`

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`${title} (${lines.length}):`, ...lines, '']

/** Tables by operator and by file, the survivors, and errors in the list. */
export function reportOf(results: readonly Result[], review: Review, reasons: Reasons): string {
  const files = [...new Set(results.map(({ mutant }) => mutant.file))]
  const total = tallyOf(counted(results).map(([, status]) => status))
  const timedOut = results.filter(({ outcome }) => outcome.status === 'timed out')
  return [
    '',
    ...tableOf(
      'operator',
      grouped(results, OPERATORS, ({ mutant }) => mutant.operator),
    ),
    ...tableOf(
      'file',
      grouped(results, files, ({ mutant }) => mutant.file),
    ),
    ...section('Never ended, counted as killed', timedOut.map(lineOf)),
    ...section(
      'Survivors with a reason',
      review.explained.map((result) => `${lineOf(result)}\n    ${reasons.get(result.mutant.key)}`),
    ),
    ...section('SURVIVORS WITHOUT A REASON', review.unexplained.map(lineOf)),
    ...section(
      `REASONS WITHOUT A SURVIVOR in ${SURVIVORS_FILE}`,
      review.stale.map((key) => `  ${key}`),
    ),
    rowOf('all', total),
  ].join('\n')
}

/** Score of the whole run, 0 to 1. */
export const scoreOfAll = (results: readonly Result[]): number =>
  scoreOf(tallyOf(counted(results).map(([, status]) => status)))
