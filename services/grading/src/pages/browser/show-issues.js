/** The service's word on malformed input, beside the field that it is about. */
import { pageElement } from './page-element.js'

/** @typedef {{ field: string, expected: string }} Issue */

/** @type {[prefix: string, field: string][]} The longest prefix that fits decides. */
const FIELDS = [
  ['body.pick.market', 'market'],
  ['body.pick.line', 'market'],
  ['body.pick.participant', 'market'],
  ['body.pick.period', 'market'],
  ['body.pick.selection', 'selection'],
  ['body.pick.odds', 'odds'],
  ['body.pick.placed_at', 'placed-at'],
  ['body.options.reference', 'reference'],
]

/** @param {string} expected */
export const expectedWords = (expected) => `Expected ${expected}.`

/**
 * @param {string} field Id of the input.
 * @param {string} problem Empty where there is none.
 */
export function showProblem(field, problem) {
  const input = pageElement(field, HTMLElement)
  if (problem === '') input.removeAttribute('aria-invalid')
  else input.setAttribute('aria-invalid', 'true')
  pageElement(`${field}-problem`, HTMLElement).textContent = problem
}

export function clearIssues() {
  for (const [, field] of FIELDS) showProblem(field, '')
  pageElement('grade-problem', HTMLElement).textContent = ''
}

/**
 * Shows a grade's issues and takes the reader to the first.
 *
 * @param {readonly Issue[]} issues
 */
export function showGradeIssues(issues) {
  clearIssues()
  /** @type {string | undefined} */
  let first
  const others = []
  for (const { field: path, expected } of issues) {
    const field = FIELDS.find(([prefix]) => path === prefix || path.startsWith(`${prefix}.`))?.[1]
    if (field === undefined) {
      others.push(`${path}: expected ${expected}.`)
      continue
    }
    showProblem(field, expectedWords(expected))
    first ??= field
  }
  pageElement('grade-problem', HTMLElement).textContent = others.join(' ')
  if (first === undefined) return
  const input = pageElement(first, HTMLElement)
  input.closest('details')?.setAttribute('open', '')
  input.focus()
}
