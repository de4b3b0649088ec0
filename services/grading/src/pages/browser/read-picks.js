/** A pasted record as picks: one a line, CSV with or without a header, or the API's own JSON. */

/** @typedef {{ market: string, selection: string, odds: string, ref?: string }} LinePick */
/** @typedef {{ line: number, problem: string }} LineProblem Lines counted from 1. */
/**
 * @typedef {object} ReadPicks
 * @property {readonly unknown[]} picks
 * @property {readonly number[]} lines The line that each pick stands on; empty for JSON.
 * @property {readonly LineProblem[]} problems
 * @property {Record<string, unknown>} [rest] Other members of a JSON request, such as `label`.
 */

const COLUMNS = ['market', 'selection', 'odds', 'ref']

/**
 * Cells of a line: commas, tabs or semicolons between them; quotes around a cell, doubled inside it.
 *
 * @param {string} line
 */
function cellsOf(line) {
  const separator = line.includes('\t')
    ? '\t'
    : !line.includes(',') && line.includes(';')
      ? ';'
      : ','
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

/**
 * The order of the columns that a header names; undefined where the first line is a pick.
 *
 * @param {readonly string[]} cells
 */
function headerOf(cells) {
  const names = cells.map((cell) => cell.toLowerCase())
  return names.includes('market') && names.includes('odds') ? names : undefined
}

/**
 * @param {readonly string[]} cells
 * @param {readonly string[]} columns
 * @returns {LinePick | string} What is missing, where something is.
 */
function pickOf(cells, columns) {
  const cell = (/** @type {string} */ name) => cells[columns.indexOf(name)] ?? ''
  const missing = ['market', 'selection', 'odds'].filter((name) => cell(name) === '')
  if (missing.length > 0) return `no ${missing.join(', no ')}`
  const ref = cell('ref')
  const pick = { market: cell('market'), selection: cell('selection'), odds: cell('odds') }
  return ref === '' ? pick : { ...pick, ref }
}

/**
 * @param {string} text
 * @returns {ReadPicks}
 */
function readJson(text) {
  try {
    const read = JSON.parse(text)
    if (Array.isArray(read)) return { picks: read, lines: [], problems: [] }
    if (Array.isArray(read?.picks)) {
      const { picks, ...rest } = read
      return { picks, lines: [], problems: [], rest }
    }
    return { picks: [], lines: [], problems: [{ line: 1, problem: 'no list of picks in it' }] }
  } catch {
    return { picks: [], lines: [], problems: [{ line: 1, problem: 'this is not JSON' }] }
  }
}

/**
 * Reads what was pasted. Never throws; what the service thinks of the picks is the service's to say.
 *
 * @param {string} text
 * @returns {ReadPicks}
 */
export function readPicks(text) {
  if (/^\s*[[{]/.test(text)) return readJson(text)
  /** @type {{ picks: LinePick[], lines: number[], problems: LineProblem[] }} */
  const read = { picks: [], lines: [], problems: [] }
  let columns = COLUMNS
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
    if (typeof pick === 'string') read.problems.push({ line: index + 1, problem: pick })
    else {
      read.picks.push(pick)
      read.lines.push(index + 1)
    }
  }
  return read
}

/**
 * An issue of the service in the reader's terms: the line where the pick stands, or its number.
 *
 * @param {{ field: string, expected: string }} issue
 * @param {readonly number[]} lines
 */
export function pickIssueWords({ field, expected }, lines) {
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
