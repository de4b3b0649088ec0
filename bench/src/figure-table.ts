import { type Figure, NO_AIM, RATIO_MAX } from './figure.ts'
import type { SuiteResult } from './suite-result.ts'

const HEAD = ['figure', 'value', 'baseline', 'ratio', 'aim', 'met'] as const

const judged = (isMet: boolean): string => (isMet ? 'yes' : 'no')

const times = (ratio: number): string =>
  ratio === RATIO_MAX ? '∞' : `${ratio.toFixed(ratio < 10 ? 2 : 1)} ×`

const cells = ({ name, value, unit, baseline, ratio, aim, met }: Figure): readonly string[] => [
  name,
  `${value} ${unit}`,
  `${baseline.value} ${unit} (${baseline.name})`,
  times(ratio),
  aim,
  aim === NO_AIM ? NO_AIM : judged(met),
]

/** A suite's figures as a table for a terminal. */
export function terminalTable({ suite, loadAverage, figures }: SuiteResult): string {
  const rows = [HEAD, ...figures.map(cells)]
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return [`${suite} (load average ${loadAverage.before} to ${loadAverage.after})`, ...lines].join(
    '\n',
  )
}

const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`

/** The figures of all suites in Markdown: one table, and a line on when and where each suite ran. */
export function markdownTable(results: readonly SuiteResult[]): string {
  const runs = results.map(
    ({ suite, measuredOn, machine, loadAverage }) =>
      `${suite}: ${measuredOn}, ${machine}, load average ${loadAverage.before} to ${loadAverage.after}.`,
  )
  const rows = results.flatMap(({ suite, figures }) =>
    figures.map((figure) => line([suite, ...cells(figure)])),
  )
  const head = ['suite', ...HEAD]
  return [line(head), line(head.map(() => '---')), ...rows, '', runs.join(' ')].join('\n')
}
