/** Parses a pasted record into picks: one per line, CSV with or without a header, or the API's own JSON. */
import type { Issue } from './show-issues.ts'

type LinePick = {
  readonly market: string
  readonly selection: string
  readonly odds: string
  readonly ref?: string
}

type ReadPicks = {
  readonly picks: readonly unknown[]
  /** Each pick's line, counted from 1; empty for JSON. */
  readonly lines: readonly number[]
  readonly problems: readonly { readonly line: number; readonly problem: string }[]
  /** Other members of a JSON request, such as `label`. */
  readonly rest?: Readonly<Record<string, unknown>>
}

const COLUMNS = ['market', 'selection', 'odds', 'ref'] as const

function separatorOf(line: string): string {
  if (line.includes('\t')) return '\t'
  return !line.includes(',') && line.includes(';') ? ';' : ','
}

/** A line's cells: separated by commas, tabs or semicolons; optionally quoted, with inner quotes doubled. */
function cellsOf(line: string): readonly string[] {
  const separator = separatorOf(line)
  const cells = ['']
  let isQuoted = false
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at)
    const last = cells.length - 1
    if (character === '"' && isQuoted && line.charAt(at + 1) === '"') {
      cells[last] += '"'
      at += 1
    } else if (character === '"') isQuoted = !isQuoted
    else if (character === separator && !isQuoted) cells.push('')
    else cells[last] += character
  }
  return cells.map((cell) => cell.trim())
}

/** A header's column order; undefined if the first line is a pick. */
function headerOf(cells: readonly string[]): readonly string[] | undefined {
  const names = cells.map((cell) => cell.toLowerCase())
  return names.includes('market') && names.includes('odds') ? names : undefined
}

/** A line's pick, or what it lacks. */
function pickOf(cells: readonly string[], columns: readonly string[]): LinePick | string {
  const cell = (name: string): string => cells[columns.indexOf(name)] ?? ''
  const missing = ['market', 'selection', 'odds'].filter((name) => cell(name) === '')
  if (missing.length > 0) return `no ${missing.join(', no ')}`
  const ref = cell('ref')
  const pick = { market: cell('market'), selection: cell('selection'), odds: cell('odds') }
  return ref === '' ? pick : { ...pick, ref }
}

const unreadable = (problem: string): ReadPicks => ({
  picks: [],
  lines: [],
  problems: [{ line: 1, problem }],
})

function readJson(text: string): ReadPicks {
  try {
    const read = JSON.parse(text)
    if (Array.isArray(read)) return { picks: read, lines: [], problems: [] }
    if (Array.isArray(read?.picks)) {
      const { picks, ...rest } = read
      return { picks, lines: [], problems: [], rest }
    }
    return unreadable('it has no list of picks')
  } catch {
    return unreadable('this is not JSON')
  }
}

/** Parses the pasted text. Never throws; the service judges whether the picks are right. */
export function readPicks(text: string): ReadPicks {
  if (/^\s*[[{]/.test(text)) return readJson(text)
  const picks: LinePick[] = []
  const lines: number[] = []
  const problems: { line: number; problem: string }[] = []
  let columns: readonly string[] = COLUMNS
  let isFirst = true
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.trim().startsWith('#')) continue
    const cells = cellsOf(line)
    const header = isFirst ? headerOf(cells) : undefined
    isFirst = false
    if (header !== undefined) {
      columns = header
      continue
    }
    const pick = pickOf(cells, columns)
    if (typeof pick === 'string') problems.push({ line: index + 1, problem: pick })
    else {
      picks.push(pick)
      lines.push(index + 1)
    }
  }
  return { picks, lines, problems }
}

/** A service issue in the reader's terms: by the pick's line, or by its number. */
export function pickIssueWords({ field, expected }: Issue, lines: readonly number[]): string {
  const [, index, member = ''] = /^body\.picks\[(\d+)\]\.?(.*)$/.exec(field) ?? []
  if (index === undefined)
    return `${field.replace(/^body\.?/, '') || 'the record'}: expected ${expected}.`
  const line = lines[Number(index)]
  const where = line === undefined ? `Pick ${Number(index) + 1}` : `Line ${line}`
  const other = expected.replaceAll(/body\.picks\[(\d+)\]/g, (_whole, position) => {
    const otherLine = lines[Number(position)]
    return otherLine === undefined ? `pick ${Number(position) + 1}` : `line ${otherLine}`
  })
  return `${where}${member === '' ? '' : `, ${member}`}: expected ${other}.`
}
