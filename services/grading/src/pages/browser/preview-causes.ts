/** Why rows of a record are left out or would be UNGRADED, in words, and grouped by cause. */

import { ROW_MEANINGS, type RowCode } from '../../wire/card-codes.ts'
import type { PreviewRow } from '../../wire/coverage.ts'
import type { Issue } from './page-api.ts'
import { isLeftOut, type ShownRow } from './preview-answers.ts'

/** `body.csv.line_7.odds` and `body.picks[6].odds` are the odds of a row. */
const ROW = /^body\.(?:csv\.line_(\d+)|picks\[(\d+)\])\.?/

/** The rows that a text of the service names. */
const ROWS = /body\.(?:csv\.line_(\d+)|picks\[(\d+)\])/g

const rowWords = (_whole: string, line?: string, pick?: string): string =>
  line === undefined ? `pick ${Number(pick) + 1}` : `line ${line}`

/** What was expected of a row's member, or of the row itself. */
function expectedWords({ field, expected }: Issue): string {
  const member = field.replace(ROW, '')
  return `${member === '' ? 'Expected' : `${member}: expected`} ${expected.replace(ROWS, rowWords)}.`
}

/** A service issue in the reader's terms: with the row's line or number, if it concerns a row. */
export function issueWords({ field, expected }: Issue): string {
  const [row, line, pick] = ROW.exec(field) ?? []
  if (row === undefined) return expectedWords({ field: field.replace(/^body\.?/, ''), expected })
  const where = rowWords(row, line, pick)
  return `${where.charAt(0).toUpperCase()}${where.slice(1)}. ${expectedWords({ field, expected })}`
}

export function whyWords({ issues = [], reason, status }: Omit<PreviewRow, 'line'>): string {
  if (status === 'not_looked_at') return 'Not looked at yet: the free look takes a part at a time.'
  if (status === 'repeated') return ROW_MEANINGS.same_bet
  if (reason === undefined) return issues.map(expectedWords).join(' ')
  const { message, nearest = [] } = reason
  return nearest.length === 0 ? message : `${message} The ledger has: ${nearest.join(', ')}.`
}

/** The common cause of rows that were not read or would be UNGRADED. */
function describeCause(row: ShownRow): string {
  const { cause, issues = [], reason, status } = row
  if (isLeftOut(row)) return 'You left it out.'
  if (reason !== undefined) return `UNGRADED: ${reason.message}`
  // A row that was not read says best what was expected of it.
  const code = cause?.code ?? 'not_read'
  if (code !== 'not_read' && code in ROW_MEANINGS) return ROW_MEANINGS[code as RowCode]
  const [issue] = issues
  if (issue === undefined) return whyWords({ status })
  const member = issue.field.replace(ROW, '')
  // Each repeated bet names another row.
  return `${member === '' ? 'The row' : member}: expected ${issue.expected.replace(ROWS, 'another row')}.`
}

function groupByCause(rows: readonly ShownRow[]): ReadonlyMap<string, readonly ShownRow[]> {
  const byCauses = new Map<string, ShownRow[]>()
  for (const row of rows) {
    const cause = describeCause(row)
    const known = byCauses.get(cause) ?? []
    known.push(row)
    byCauses.set(cause, known)
  }
  return byCauses
}

/** Rows by what is wrong with them, the commonest first: a file with one wrong column has one cause and a thousand rows. */
export const byCause = (
  rows: readonly ShownRow[],
): readonly (readonly [cause: string, rows: readonly ShownRow[]])[] =>
  [...groupByCause(rows)].sort(([, left], [, other]) => other.length - left.length)
