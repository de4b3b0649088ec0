/** Reads a CSV table's bytes as rows, slice by slice, so that a hundred thousand matches need little memory. */
import { CsvError, type Options, parse } from 'csv-parse/sync'

export type CsvRow = readonly string[]

/** Bytes in one slice: some 300 rows of a wide table. */
const SLICE_BYTES = 64 * 1_024

/** A record longer than this has an unclosed quote: the slice ends at a line anyway. */
const RECORD_BYTES_MAX = 1_048_576

const NEWLINE = 0x0a
const RETURN = 0x0d
const QUOTE = 0x22

/** A header is a few hundred bytes; a file with no line break in this many is of another kind. */
const HEADER_BYTES_MAX = 65_536

/** A file's bytes behind its byte order mark, with line feeds where it has carriage returns only. */
export function fileBytes(raw: Uint8Array): Buffer {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const text = isMarked ? bytes.subarray(3) : bytes
  const head = text.subarray(0, HEADER_BYTES_MAX)
  if (head.includes(NEWLINE) || !head.includes(RETURN)) return text
  return Buffer.from(text).map((byte) => (byte === RETURN ? NEWLINE : byte)) as Buffer
}

/** The cells of a file's first line, which identify its table. */
export function readHeader(raw: Uint8Array): readonly string[] {
  const start = fileBytes(raw).subarray(0, HEADER_BYTES_MAX).toString('latin1')
  return (start.split(/\r?\n/, 1)[0] ?? '').trim().split(',')
}

/** A table, slice by slice: the names of its columns, and rows by their first lines, from 1; a row is undefined if its quotes cannot be read. */
export function* csvTable(raw: Uint8Array): Generator<{
  readonly header: readonly string[]
  readonly rows: readonly (readonly [line: number, row: CsvRow | undefined])[]
}> {
  let header: readonly string[] | undefined
  let line = 1
  for (const slice of csvSlices(fileBytes(raw))) {
    const rows = [...csvRows(slice, line)]
    header ??= (rows.shift()?.[1] ?? []).map((name) => name.trim())
    yield { header, rows }
    line += linesIn(slice)
  }
}

/** A row's cells by name; empty for a column that the table lacks. */
export const cellReader =
  (header: readonly string[], row: CsvRow | undefined) =>
  (name: string): string =>
    row?.[header.indexOf(name)]?.trim() ?? ''

const countCells = (line: string): number => parse(line, CSV)[0]?.length ?? 0

/** A last line without these is no row: empty cells, or what old editors and disks leave behind a text. */
const WORD = /[^,\s\p{Cc}]/u

/**
 * Whether a table ends within a row, as a download that broke off does: without a line end, and with fewer cells than the
 * row above, whose cells beyond the header's do not count.
 */
export function isBrokenOff(raw: Uint8Array): boolean {
  const end = fileBytes(raw).subarray(-2 * ROW_BYTES_MAX)
  const [above, last] = end.toString('latin1').split('\n').slice(-2)
  if (above === undefined || last === undefined || !WORD.test(last)) return false
  try {
    return countCells(last) < Math.min(countCells(above), readHeader(raw).length)
  } catch (error) {
    // Cells of several lines: whoever reads the rows judges their quotes.
    if (error instanceof CsvError) return false
    throw error
  }
}

/** The bytes of a number at the very end of a table, since what was cut off may have begun as `1.9` and gone on. */
const LAST_NUMBER = /(?<=,)[+-]?\d[\d.]*$/
const NUMBER_BYTES_MAX = 32

/** A table without the number that it ends with, if no line end says that this is whole; undefined if it ends otherwise. */
export function withoutLastNumber(raw: Uint8Array): Uint8Array | undefined {
  const end = Buffer.from(raw.subarray(-NUMBER_BYTES_MAX)).toString('latin1')
  const [number] = LAST_NUMBER.exec(end) ?? []
  return number === undefined ? undefined : raw.subarray(0, raw.length - number.length)
}

/** Cuts a CSV's bytes into slices that end with a record: at a line feed outside quotes. */
export function* csvSlices(bytes: Buffer, sliceBytes: number = SLICE_BYTES): Generator<Buffer> {
  let from = 0
  let isQuoted = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) isQuoted = !isQuoted
    if (byte !== NEWLINE || at - from < sliceBytes) continue
    if (isQuoted && at - from < RECORD_BYTES_MAX) continue
    yield bytes.subarray(from, at + 1)
    from = at + 1
    isQuoted = false
  }
  if (from < bytes.length) yield bytes.subarray(from)
}

/** A row is a few hundred bytes; anything longer is not a row and must not be held as one. */
const ROW_BYTES_MAX = 65_536

const CSV = {
  encoding: 'utf8',
  relax_column_count: true,
  skip_empty_lines: true,
  relax_quotes: true,
  max_record_size: ROW_BYTES_MAX,
} as const

/** Line feeds between two places of some bytes. */
function linesIn(bytes: Buffer, from = 0, to = bytes.length): number {
  let lines = 0
  for (
    let at = bytes.indexOf(NEWLINE, from);
    at !== -1 && at < to;
    at = bytes.indexOf(NEWLINE, at + 1)
  )
    lines += 1
  return lines
}

type NumberedRow = readonly [line: number, row: CsvRow]

/** The records of a slice by their first lines, the slice's own being `first`. A record may have several. Throws CsvError. */
export function numberedRows(
  slice: Buffer,
  { first, ...options }: Options & { readonly first: number },
): readonly NumberedRow[] {
  const plain: readonly CsvRow[] = parse(slice, options)
  const lines = linesIn(slice) + (slice.at(-1) === NEWLINE ? 0 : 1)
  return plain.length === lines
    ? plain.map((row, at) => [first + at, row])
    : numberAmongLines(slice, { first, ...options })
}

/** The same where lines are empty or a record has several: asking for each record's place makes reading half as slow again. */
function numberAmongLines(
  slice: Buffer,
  { first, ...options }: Options & { readonly first: number },
): readonly NumberedRow[] {
  const rows: NumberedRow[] = []
  let [line, end] = [first, 0]
  parse(slice, {
    ...options,
    on_record: (row: CsvRow, { bytes }) => {
      let start = end
      while (BLANK.includes(slice[start] ?? 0)) start += 1
      line += linesIn(slice, end, start)
      rows.push([line, row])
      line += linesIn(slice, start, bytes)
      end = bytes
      return undefined
    },
  })
  return rows
}

/** Line ends, spaces and tabs: empty lines above a record. */
const BLANK: readonly number[] = [NEWLINE, RETURN, 0x20, 0x09]

/** Non-empty lines by their numbers, as bytes: a whole slice could exceed the longest string. */
function numberedLines(slice: Buffer, first: number): readonly (readonly [number, Buffer])[] {
  const lines: (readonly [number, Buffer])[] = []
  let number = first
  for (let from = 0; from < slice.length; number += 1) {
    const end = slice.indexOf(NEWLINE, from)
    const to = end === -1 ? slice.length : end
    const line = slice.subarray(from, to)
    if (line.length > 1) lines.push([number, line])
    from = to + 1
  }
  return lines
}

/** The rows of a slice. If its quotes cannot be read, the rows of every readable line, and `undefined` for each other line. */
function csvRows(slice: Buffer, first: number): readonly (readonly [number, CsvRow | undefined])[] {
  try {
    return numberedRows(slice, { ...CSV, first })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
  }
  return numberedLines(slice, first).map(([number, line]) => {
    if (line.length > ROW_BYTES_MAX) return [number, undefined]
    try {
      return [number, parse(line, CSV)[0]]
    } catch (error) {
      if (error instanceof CsvError) return [number, undefined]
      throw error
    }
  })
}
