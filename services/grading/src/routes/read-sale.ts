/**
 * What a paid route's body asks for, read before any challenge (G3): a probe, a request for the domain, or what is
 * malformed. The same reading takes up a request that an earlier process left open.
 */
import type { RequestIssue } from '@tallystick/service-kit'
import type { AuditRequest } from '../domain/grader.ts'
import { formatMarketKey } from '../domain/market-key.ts'
import type { AskedPick } from '../domain/pick-request.ts'
import { auditSchema, gradeSchema } from '../wire/requests.ts'
import { requestIssuesOf } from './read-body.ts'
import { gradeOptionsOf, readPick } from './read-pick.ts'

/** A paid request, read. */
export type SaleRequest =
  | { readonly kind: 'grade'; readonly pick: AskedPick }
  | { readonly kind: 'audit'; readonly audit: AuditRequest }

/** What is sold. */
export type SaleKind = SaleRequest['kind']

/** What a body is. */
export type ReadSale =
  /** No body, or an empty one: somebody asks what it costs. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'malformed'; readonly issues: readonly RequestIssue[] }
  /** `text` is the one text of the body, whatever the order and spacing that it came in: what the payment buys. */
  | { readonly kind: 'asked'; readonly request: SaleRequest; readonly text: string }

const malformed = (issues: readonly RequestIssue[]): ReadSale => ({ kind: 'malformed', issues })

const isIssues = (read: AskedPick | readonly RequestIssue[]): read is readonly RequestIssue[] =>
  Array.isArray(read)

function isEmpty(body: unknown): boolean {
  if (body === undefined) return true
  return typeof body === 'object' && body !== null && !Array.isArray(body)
    ? Object.keys(body).length === 0
    : false
}

/** A parsed body has its members in the schema's order, so that its text does not depend on how it was written. */
const asked = (request: SaleRequest, parsed: object): ReadSale => ({
  kind: 'asked',
  request,
  text: JSON.stringify(parsed),
})

function readGrade(body: unknown): ReadSale {
  const parsed = gradeSchema.safeParse(body)
  if (!parsed.success) return malformed(requestIssuesOf(parsed.error.issues, 'body'))
  const options = gradeOptionsOf(parsed.data.options)
  const pick = readPick(parsed.data.pick, { field: 'body.pick', options })
  return isIssues(pick) ? malformed(pick) : asked({ kind: 'grade', pick }, parsed.data)
}

/** What makes two picks of a slate one: counted twice it would pass for twice the evidence. */
function duplicateKey(pick: AskedPick): string {
  if (pick.kind === 'ambiguous') return `${pick.market} ${pick.selection}`
  const { key, odds, placedAtSeconds = '', selection } = pick
  return `${formatMarketKey(key)} ${selection} ${odds.text} ${placedAtSeconds}`
}

function duplicates(picks: readonly AskedPick[]): readonly RequestIssue[] {
  const first = new Map<string, number>()
  return picks.flatMap((pick, index) => {
    const key = duplicateKey(pick)
    const before = first.get(key)
    if (before === undefined) {
      first.set(key, index)
      return []
    }
    return [{ field: `body.picks[${index}]`, expected: `another pick than body.picks[${before}]` }]
  })
}

function readAudit(body: unknown): ReadSale {
  const parsed = auditSchema.safeParse(body)
  if (!parsed.success) return malformed(requestIssuesOf(parsed.error.issues, 'body'))
  const { label } = parsed.data
  const options = gradeOptionsOf(parsed.data.options)
  const picks: AskedPick[] = []
  const issues: RequestIssue[] = []
  for (const [index, one] of parsed.data.picks.entries()) {
    const pick = readPick(one, { field: `body.picks[${index}]`, options })
    if (isIssues(pick)) issues.push(...pick)
    else picks.push(pick)
  }
  const found = issues.length > 0 ? issues : duplicates(picks)
  if (found.length > 0) return malformed(found)
  const audit = { picks, ...(label === undefined ? {} : { label }) }
  return asked({ kind: 'audit', audit }, parsed.data)
}

/** Reads a body, parsed from JSON. Never throws. */
export function readSale(kind: SaleKind, body: unknown): ReadSale {
  if (isEmpty(body)) return { kind: 'probe' }
  return kind === 'grade' ? readGrade(body) : readAudit(body)
}
