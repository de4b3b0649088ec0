import { DEVIATIONS_95 } from '@tallystick/odds'
import { type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { calibrationAnswer } from '../domain/calibration/calibration.ts'
import { makeStudy, studyLines } from '../domain/calibration/reference-study.ts'
import type { CalibrationColumn, CalibrationRow } from '../wire/calibration.ts'
import { withLedger } from './command-store.ts'

const percent = (value: number | null): string =>
  value === null ? '–' : `${value >= 0 ? '+' : ''}${(value * 100).toFixed(2)} %`

/** Half of a 95 % interval, from a standard error. */
const reach = (error: number): number => DEVIATIONS_95 * error

function bandLine({
  band,
  n,
  roi,
  roi_ci95,
  expected_roi,
  gap_z,
  low_sample,
}: CalibrationRow): string {
  const interval = roi_ci95 === null ? '' : ` (${percent(roi_ci95[0])} to ${percent(roi_ci95[1])})`
  const gap = gap_z === null ? '' : `, gap ${gap_z.toFixed(1)} standard errors`
  return `  ${band.padEnd(2)} ${String(n).padStart(9)} picks: ${percent(roi)}${interval}, promised ${percent(expected_roi)}${gap}${low_sample ? ', low sample' : ''}`
}

function columnLines(column: CalibrationColumn): readonly string[] {
  const { population, basis, scope, bands, total, line } = column
  const regression =
    line === null
      ? '  no regression yet'
      : `  return = ${percent(line.intercept)} (± ${(reach(line.intercept_se) * 100).toFixed(2)} %) + ${line.slope.toFixed(3)} (± ${reach(line.slope_se).toFixed(3)}) × closing-line value`
  return [
    `${population}, ${basis} basis, ${scope}: ${total.n} settled picks on ${total.events} events`,
    ...bands.map(bandLine),
    regression,
  ]
}

/** `grading table`: the truth table as served. */
export const tableVerb: CommandVerb = {
  name: 'table',
  usage: '[SCOPE]… | --study',
  summary:
    'prints the truth table, for everything or for scopes such as soccer/1x2/pinnacle; --study prints the tables of the reference study from this ledger',
  example: 'table soccer',
  options: { study: 'flag' },
  json: {
    prints: 'one document',
    members: [
      'scopes',
      'columns (as POST /api/calibration answers)',
      'study (with --study, alone)',
    ],
  },
  wordsMax: 100,
  run: ({ has, isJson, printJson, terminal, words }) =>
    withLedger(terminal, async (store) => {
      if (has('study')) {
        const study = await makeStudy(store)
        if (isJson) printJson({ study })
        else terminal.print(studyLines(study).join('\n'))
        return EXIT.done
      }
      const answers =
        words.length === 0
          ? [await calibrationAnswer(store, {})]
          : await Promise.all(words.map((scope) => calibrationAnswer(store, { scope })))
      const columns = answers.flatMap((answer) => answer.columns).filter(({ total }) => total.n > 0)
      const scopes = answers[0]?.scopes ?? []
      if (isJson) printJson({ scopes, columns })
      else
        for (const line of [...columns.flatMap(columnLines), `Scopes: ${scopes.join(', ')}`])
          terminal.print(line)
      return EXIT.done
    }),
}
