/** The records of a tracker's file, whatever separates their cells. */
import { CsvError } from 'csv-parse/sync'
import { fileBytes, numberedRows } from '../ingest/csv-rows.ts'

/** Rows read of one file; an audit takes no more picks. */
export const TRACKER_ROWS_MAX = 1_000

/** Lines above the header that some sheets have: a title, totals. */
export const HEADER_LINES_MAX = 10

/** One record, and the line of the file that it begins on. */
export type TrackerRecord = { readonly record: readonly string[]; readonly line: number }

/** The separator that occurs most in the first lines. */
export function separatorIn(text: string): string {
  const head = text.split(/\r\n?|\n/, HEADER_LINES_MAX).join('\n')
  const [best] = [',', ';', '\t', '|'].toSorted(
    (left, right) => head.split(right).length - head.split(left).length,
  )
  return best ?? ','
}

const CSV = {
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
  trim: true,
} as const

/** The file's records, or what is wrong with its quotes. */
export function readRecords(text: string, separator: string): readonly TrackerRecord[] | string {
  const to = TRACKER_ROWS_MAX + HEADER_LINES_MAX + 1
  const bytes = fileBytes(Buffer.from(text))
  try {
    const rows = numberedRows(bytes, { ...CSV, delimiter: separator, to, first: 1 })
    return rows.map(([line, record]) => ({ record, line }))
  } catch (error) {
    if (error instanceof CsvError) return `a quote that ends on its line: ${error.message}`
    throw error
  }
}
