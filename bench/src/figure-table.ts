import { type Figure, NO_AIM, RATIO_MAX } from './figure.ts'
import type { FigureValues, SuiteResult } from './suite-result.ts'

const HEAD = ['figure', 'value', 'baseline', 'ratio', 'aim', 'met', 'like testnet'] as const

const judged = (isMet: boolean): string => (isMet ? 'yes' : 'no')

const times = (ratio: number): string =>
  ratio === RATIO_MAX ? '∞' : `${ratio.toFixed(ratio < 10 ? 2 : 1)} ×`

const likeTestnetCell = ({ name, unit }: Figure, values: FigureValues): string => {
  const value = values[name]
  return value === undefined ? '' : `${value} ${unit}`
}

const cells = (figure: Figure, values: FigureValues): readonly string[] => {
  const { name, value, unit, baseline, ratio, aim, met } = figure
  return [
    name,
    `${value} ${unit}`,
    `${baseline.value} ${unit} (${baseline.name})`,
    times(ratio),
    aim,
    aim === NO_AIM ? NO_AIM : judged(met),
    likeTestnetCell(figure, values),
  ]
}

const listRows = ({ figures, likeTestnet }: SuiteResult): readonly (readonly string[])[] =>
  figures.map((figure) => cells(figure, likeTestnet?.values ?? {}))

/** A suite's figures as a table for a terminal. */
export function terminalTable(result: SuiteResult): string {
  const { suite, loadAverage } = result
  const rows = [HEAD, ...listRows(result)]
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

const runText = ({ measuredOn, loadAverage }: Pick<SuiteResult, 'measuredOn' | 'loadAverage'>) =>
  `${measuredOn}, load average ${loadAverage.before} to ${loadAverage.after}`

/** The figures of all suites in Markdown: one table, and a line on when and where each suite ran. */
export function markdownTable(results: readonly SuiteResult[]): string {
  const runs = results.map(
    ({ likeTestnet, suite, machine, ...run }) =>
      `${suite}: ${runText(run)}, ${machine}${likeTestnet === undefined ? '' : `; like testnet: ${runText(likeTestnet)}`}.`,
  )
  const rows = results.flatMap((result) =>
    listRows(result).map((row) => line([result.suite, ...row])),
  )
  const head = ['suite', ...HEAD]
  return [line(head), line(head.map(() => '---')), ...rows, '', runs.join(' ')].join('\n')
}
