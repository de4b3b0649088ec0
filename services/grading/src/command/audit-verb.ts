import { BadUsage, type CommandCall, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { createSlateGrader } from '../domain/audits/slate-grader.ts'
import { isUnconfirmed } from '../domain/closes/far-price.ts'
import { DEFAULT_GRADE_OPTIONS } from '../domain/markets/pick-request.ts'
import { type Place, type ReadRow, readPicks } from '../routes/read-picks.ts'
import { decodeFile } from '../tracker/decode-file.ts'
import type { AuditAnswer } from '../wire/audit.ts'
import type { Card } from '../wire/cards.ts'
import { ODDS_NOTATIONS, type OddsNotation } from '../wire/requests.ts'
import { withLedger } from './command-store.ts'
import { readInput } from './import-verb.ts'

const placeWords = ({ index, line }: Place): string =>
  line === undefined ? `pick ${index + 1}` : `line ${line}`

function rowLine(row: ReadRow, card: Card | undefined): string {
  const place = placeWords(row).padEnd(9)
  if (row.kind === 'faulty') {
    const [issue] = row.issues
    const member =
      issue?.field
        .split('.')
        .slice(row.line === undefined ? 2 : 3)
        .join('.') ?? ''
    return `  ${place} left out: ${member === '' ? '' : `${member}: `}expected ${issue?.expected ?? ''}  (${row.written ?? ''})`
  }
  if (card === undefined) return `  ${place}`
  const { market, selection } = card.pick
  const again = row.repeats === undefined ? '' : `, the same bet as ${placeWords(row.repeats)}`
  if (card.outcome === 'GRADED')
    return `  ${place} ${card.grade.padEnd(2)} ${market} ${selection} at ${card.taken.text}${again}${isUnconfirmed(card) ? ', not counted: a price far from any recorded one' : ''}`
  const { message, nearest = [] } = card.reason
  const has = nearest.length === 0 ? '' : ` The ledger has: ${nearest.join(', ')}.`
  return `  ${place} UNGRADED ${market} ${selection}: ${message}${has}`
}

const percent = (value: number): string => `${(value * 100).toFixed(1)} %`

function auditSummary({
  coverage,
  raw_roi: roi,
  sharp_score: score,
  verdict,
}: AuditAnswer): string {
  const raw = roi.pct === null ? 'no results yet' : `${percent(roi.pct)} on ${roi.staked}`
  const sharp = score === null ? 'none' : `${score.value.toFixed(1)} of 100`
  return `${coverage.graded} of ${coverage.picks} picks graded. Raw return ${raw}, Sharp Score ${sharp}. ${verdict}`
}

const isNotation = (text: string): text is OddsNotation =>
  ODDS_NOTATIONS.some((notation) => notation === text)

function readChoices(call: CommandCall) {
  const [notation, order] = [call.text('odds'), call.text('dates')]
  if (notation !== undefined && !isNotation(notation))
    throw new BadUsage(`--odds takes one of ${ODDS_NOTATIONS.join(', ')}.`)
  if (order !== undefined && order !== 'day-first' && order !== 'month-first')
    throw new BadUsage('--dates takes day-first or month-first.')
  const orders = { 'day-first': 'day_first', 'month-first': 'month_first' } as const
  return { odds_notation: notation, date_order: order && orders[order] } as const
}

/** `grading audit`: a tracker's file against the operator's own ledger, row by row. */
export const auditVerb: CommandVerb = {
  name: 'audit',
  usage: 'FILE [--odds american|decimal|…] [--dates day-first|month-first]',
  summary:
    'audits a tracker’s CSV against this ledger: what each row is or why not, and the figures; - is standard input',
  example: 'audit bets.csv --odds decimal --dates day-first',
  options: { odds: 'text', dates: 'text' },
  json: {
    prints: 'one document',
    members: [
      'rows (kind, index, line, repeats, issues, card)',
      'findings',
      'coverage',
      'raw_roi',
      'sharp_score',
      'verdict',
    ],
  },
  wordsMax: 1,
  run: async (call) => {
    const { terminal, words } = call
    const [file] = words
    if (file === undefined) throw new BadUsage('Name a file, or - for standard input.')
    const choices = readChoices(call)
    const csv = decodeFile(await readInput(call, file))
    const read = readPicks({ csv, ...choices }, DEFAULT_GRADE_OPTIONS)
    if (read.kind === 'unreadable')
      throw new BadUsage(`${file}: expected ${read.issues[0]?.expected ?? 'a tracker’s file'}.`)
    return withLedger(terminal, async (store) => {
      const rows = [...read.rows]
      const askedRows = rows.flatMap((row) => (row.kind === 'asked' ? [row] : []))
      const audit = await createSlateGrader(store).audit({
        picks: askedRows.map(({ pick }) => pick),
      })
      const cards = new Map(askedRows.map(({ index }, place) => [index, audit.picks[place]]))
      const code = audit.coverage.graded > 0 ? EXIT.done : EXIT.failed
      if (call.isJson) {
        const shown = rows.map((row) => ({
          kind: row.kind,
          index: row.index,
          line: row.line,
          ...(row.kind === 'faulty' ? { issues: row.issues } : { repeats: row.repeats }),
          card: cards.get(row.index),
        }))
        call.printJson({ ...audit, rows: shown })
        return code
      }
      for (const row of rows) terminal.print(rowLine(row, cards.get(row.index)))
      for (const { message, pick } of audit.findings) {
        const row = askedRows[pick]
        if (row !== undefined) terminal.print(`  ${placeWords(row).padEnd(9)} ${message}`)
      }
      terminal.print(auditSummary(audit))
      return code
    })
  },
}
