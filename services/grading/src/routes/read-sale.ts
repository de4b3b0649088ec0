/**
 * Reads what a paid route's body asks for, before any challenge (G3): a probe, a request for the domain, or what is
 * malformed. A request that an earlier process left open is read the same way.
 */

import type { RequestIssue } from '@tallystick/service-kit'
import type { AuditRequest } from '../domain/grader.ts'
import type { AskedPick } from '../domain/pick-request.ts'
import { allAtOnce, type Steps } from '../tracker/steps.ts'
import { auditFrameSchema, gradeSchema } from '../wire/requests.ts'
import { readMembers } from './read-body.ts'
import { allRows, gradeOptionsOf, readPick, readPicks } from './read-picks.ts'

export type SaleRequest =
  | { readonly kind: 'grade'; readonly pick: AskedPick }
  | { readonly kind: 'audit'; readonly audit: AuditRequest }

export const SALE_KINDS = ['grade', 'audit'] as const
export type SaleKind = (typeof SALE_KINDS)[number]

export type ReadSale =
  /** No body, or an empty one: a request for the price. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'malformed'; readonly issues: readonly RequestIssue[] }
  /** `text` is the body's canonical text, whatever its order and spacing: what the payment buys. */
  | { readonly kind: 'asked'; readonly request: SaleRequest; readonly text: string }

const malformed = (issues: readonly RequestIssue[]): ReadSale => ({ kind: 'malformed', issues })

function isEmpty(body: unknown): boolean {
  if (body === undefined) return true
  return typeof body === 'object' && body !== null && !Array.isArray(body)
    ? Object.keys(body).length === 0
    : false
}

/** A parsed body has its members in schema order, so its text does not depend on how it was written. */
const asked = (request: SaleRequest, parsed: object): ReadSale => ({
  kind: 'asked',
  request,
  text: JSON.stringify(parsed),
})

function readGrade(body: unknown): ReadSale {
  const parsed = readMembers(gradeSchema, body, 'body')
  if (parsed.kind === 'faulty') return malformed(parsed.issues)
  const options = gradeOptionsOf(parsed.data.options)
  const pick = readPick(parsed.data.pick, { field: 'body.pick', options })
  return 'issues' in pick ? malformed(pick.issues) : asked({ kind: 'grade', pick }, parsed.data)
}

function* readAudit(body: unknown): Steps<ReadSale> {
  const parsed = readMembers(auditFrameSchema, body, 'body')
  if (parsed.kind === 'faulty') return malformed(parsed.issues)
  const { label } = parsed.data
  const read = yield* readPicks(parsed.data, gradeOptionsOf(parsed.data.options))
  if (read.kind === 'unreadable') return malformed(read.issues)
  const rows = yield* allRows(read)
  const issues = rows.flatMap((row) => (row.kind === 'faulty' ? row.issues : []))
  if (issues.length > 0) return malformed(issues)
  const picks = rows.flatMap((row) => (row.kind === 'asked' ? [row.pick] : []))
  const wire = rows.flatMap((row) => (row.kind === 'asked' ? [row.wire] : []))
  const text = parsed.data.picks === undefined ? parsed.data : { ...parsed.data, picks: wire }
  return asked({ kind: 'audit', audit: { picks, label } }, text)
}

/** Reads a body, parsed from JSON, in steps of some milliseconds. Never throws. */
export function* saleSteps(kind: SaleKind, body: unknown): Steps<ReadSale> {
  if (isEmpty(body)) return { kind: 'probe' }
  return kind === 'grade' ? readGrade(body) : yield* readAudit(body)
}

/** Reads a body at once. Never throws. */
export const readSale = (kind: SaleKind, body: unknown): ReadSale =>
  allAtOnce(saleSteps(kind, body))

/** 1 to 255 visible ASCII characters: long enough for any UUID or hash. */
const KEY = /^[\x21-\x7e]{1,255}$/

/** What is wrong with an `Idempotency-Key`; undefined if it is well formed or absent. Node joins several with a comma and a space. */
export function idempotencyKeyIssue(
  header: string | string[] | undefined,
): RequestIssue | undefined {
  if (header === undefined || (typeof header === 'string' && KEY.test(header))) return undefined
  return { field: 'header.idempotency-key', expected: '1 to 255 visible ASCII characters' }
}
