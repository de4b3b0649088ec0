/** Shows the service's issues with malformed input beside their fields. */
import { pageElement } from '@tallystick/service-kit/browser'
import type { Issue, Look } from './page-api.ts'

/** The input that each member of the request comes from. */
const FIELDS: readonly (readonly [prefix: string, field: string])[] = [
  ['body.pick.market', 'market'],
  ['body.pick.line', 'market'],
  ['body.pick.participant', 'market'],
  ['body.pick.period', 'market'],
  ['body.pick.selection', 'selection'],
  ['body.pick.odds', 'odds'],
  ['body.pick.placed_at', 'placed-at'],
  ['body.options.reference', 'reference'],
]

export function fieldValue(id: string): string {
  const input = pageElement(id)
  return input instanceof HTMLInputElement || input instanceof HTMLSelectElement
    ? input.value.trim()
    : ''
}

const expectedWords = (expected: string): string => `Expected ${expected}.`

/** Marks the input with that id; an empty text removes the mark. */
export function showProblem(field: string, problem: string): void {
  const input = pageElement(field)
  if (problem === '') input.removeAttribute('aria-invalid')
  else input.setAttribute('aria-invalid', 'true')
  pageElement(`${field}-problem`).textContent = problem
}

/** Says beside an input why its value was not found; says nothing for a value that was seen. */
export function showMiss(field: string, look: Look<unknown>): void {
  if (look.kind === 'invalid') showProblem(field, expectedWords(look.issues[0]?.expected ?? ''))
  if (look.kind === 'failed') showProblem(field, 'The service is not answering right now.')
}

/** Clears what an answer said. The mark of the market stays until its text changes: the look-up sets it too. */
export function clearIssues(): void {
  for (const [, field] of FIELDS) if (field !== 'market') showProblem(field, '')
  pageElement('grade-problem').textContent = ''
}

/** Shows a grade's issues and takes the reader to the first. */
export function showGradeIssues(issues: readonly Issue[]): void {
  clearIssues()
  let first: string | undefined
  const others: string[] = []
  for (const { field: path, expected } of issues) {
    const field = FIELDS.find(([prefix]) => path === prefix || path.startsWith(`${prefix}.`))?.[1]
    if (field === undefined) {
      others.push(`${path}: expected ${expected}.`)
      continue
    }
    showProblem(field, expectedWords(expected))
    first ??= field
  }
  pageElement('grade-problem').textContent = others.join(' ')
  if (first === undefined) return
  const input = pageElement(first)
  input.closest('details')?.setAttribute('open', '')
  input.focus()
}
