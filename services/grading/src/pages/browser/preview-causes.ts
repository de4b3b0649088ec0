/** Why rows of a record are left out or would be UNGRADED, in words, and grouped by cause. */
import type { PreviewRow } from '../../wire/coverage.ts'

/** Where in the row the fault is: `body.csv.line_7.odds` is the odds. */
const memberOf = (field: string): string =>
  field.replace(/^body\.(?:csv\.line_\d+|picks\[\d+\])\.?/, '')

/** A fault that names another row names it by its line. */
const expectedWords = (expected: string, lines: readonly number[]): string =>
  expected
    .replace(/body\.csv\.line_(\d+)/g, 'line $1')
    .replace(/body\.picks\[(\d+)\]/g, (_whole, index) => {
      const line = lines[Number(index)]
      return line === undefined ? `pick ${Number(index) + 1}` : `line ${line}`
    })

export function whyWords(row: PreviewRow, lines: readonly number[]): string {
  if (row.status === 'not_looked_at')
    return 'Not looked at yet: the free look takes a part at a time.'
  if (row.reason !== undefined) {
    const { message, nearest = [] } = row.reason
    return nearest.length === 0 ? message : `${message} The ledger has: ${nearest.join(', ')}.`
  }
  return (row.issues ?? [])
    .map(({ field, expected }) => {
      const member = memberOf(field)
      return `${member === '' ? 'Expected' : `${member}: expected`} ${expectedWords(expected, lines)}.`
    })
    .join(' ')
}

/** What rows have in common that were not read, or would be UNGRADED. */
function causeOf({ issues, reason, status }: PreviewRow, lines: readonly number[]): string {
  if (reason !== undefined) return `UNGRADED: ${reason.message}`
  const [issue] = issues ?? []
  if (issue === undefined) return whyWords({ status }, lines)
  const member = memberOf(issue.field)
  // Which other row a repeated bet repeats differs from row to row.
  const expected = issue.expected.replace(/body\.(?:csv\.line_\d+|picks\[\d+\])/g, 'another row')
  return `${member === '' ? 'The row' : member}: expected ${expected}.`
}

/** Rows by what is wrong with them, the commonest first: a file with one wrong column has one cause and a thousand rows. */
export function byCause(
  rows: readonly PreviewRow[],
  lines: readonly number[],
): readonly (readonly [cause: string, rows: readonly PreviewRow[]])[] {
  const groups = new Map<string, PreviewRow[]>()
  for (const row of rows) {
    const cause = causeOf(row, lines)
    const group = groups.get(cause)
    if (group === undefined) groups.set(cause, [row])
    else group.push(row)
  }
  return [...groups].toSorted(([, one], [, other]) => other.length - one.length)
}
