// What a run prints at its end.
import { OPERATORS } from './mutant.ts'
import type { Result } from './results.ts'
import { type Review, SURVIVORS_FILE } from './survivors.ts'

const COLUMNS = ['killed', 'survived', 'stillborn'] as const

/** A mutant that never ends is as good as killed. */
const countOf = (results: readonly Result[], column: (typeof COLUMNS)[number]): number =>
  results.filter(
    ({ outcome: { status } }) => (status === 'timed out' ? 'killed' : status) === column,
  ).length

/** The share killed of those that compile, 0 to 1; 1 if there were none. */
export function scoreOf(results: readonly Result[]): number {
  const [killed, survived] = [countOf(results, 'killed'), countOf(results, 'survived')]
  return killed + survived === 0 ? 1 : killed / (killed + survived)
}

function rowOf(name: string, results: readonly Result[]): string {
  const figures = COLUMNS.map((column) => String(countOf(results, column)).padStart(column.length))
  const score = `${(scoreOf(results) * 100).toFixed(1)} %`
  return [name.padEnd(20), ...figures, score.padStart(8)].join('  ')
}

const lineOf = ({ mutant }: Result): string =>
  `  ${mutant.file}:${mutant.line}  ${mutant.operator}\n    ${mutant.key}`

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`${title} (${lines.length}):`, ...lines, '']

/** A table by operator, and what the list of survivors lacks or has too much. */
export function reportOf(results: readonly Result[], review: Review): string {
  const stopped = results.filter(({ outcome }) => outcome.status === 'timed out')
  const byOperator = Map.groupBy(results, ({ mutant }) => mutant.operator)
  return [
    '',
    ['operator'.padEnd(20), ...COLUMNS, 'score'.padStart(8)].join('  '),
    ...OPERATORS.map((operator) => rowOf(operator, byOperator.get(operator) ?? [])),
    '',
    ...section('Never ended, counted as killed', stopped.map(lineOf)),
    ...section('SURVIVORS WITHOUT A REASON', review.unexplained.map(lineOf)),
    ...section(
      `REASONS WITHOUT A SURVIVOR in ${SURVIVORS_FILE}`,
      review.stale.map((key) => `  ${key}`),
    ),
    rowOf('all', results),
  ].join('\n')
}
