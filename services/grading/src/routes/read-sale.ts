/**
 * Reads what a paid route's body asks for, before any challenge (G3): a probe, a request for the domain, or what is
 * malformed. A request that an earlier process left open is read the same way.
 */

import type { RequestIssue } from '@tallystick/service-kit'
import type { LongWork } from '../domain/long-work.ts'
import type { AskedPick } from '../domain/pick-request.ts'
import type { AuditRequest } from '../domain/slate-grader.ts'
import { auditFrameSchema, gradeSchema } from '../wire/requests.ts'
import { readMembers } from './read-body.ts'
import { gradeOptionsOf, readPick, readPicks } from './read-picks.ts'

type SaleRequest =
  | { readonly kind: 'grade'; readonly pick: AskedPick }
  | { readonly kind: 'audit'; readonly audit: AuditRequest }

/** What is sold of it: an audit is made from its text. */
export type SoldRequest =
  | Extract<SaleRequest, { kind: 'grade' }>
  | Pick<Extract<SaleRequest, { kind: 'audit' }>, 'kind'>

export const SALE_KINDS = ['grade', 'audit'] as const
export type SaleKind = (typeof SALE_KINDS)[number]

export type ReadSale<Request extends SoldRequest = SaleRequest> =
  /** No body, or an empty one: a request for the price. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'malformed'; readonly issues: readonly RequestIssue[] }
  /** `text` is the body's canonical text, whatever its order and spacing: what the payment buys. */
  | { readonly kind: 'asked'; readonly request: Request; readonly text: string }

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

function readAudit(body: unknown): ReadSale {
  const parsed = readMembers(auditFrameSchema, body, 'body')
  if (parsed.kind === 'faulty') return malformed(parsed.issues)
  const { label } = parsed.data
  const read = readPicks(parsed.data, gradeOptionsOf(parsed.data.options))
  if (read.kind === 'unreadable') return malformed(read.issues)
  const rows = [...read.rows]
  const issues = rows.flatMap((row) => (row.kind === 'faulty' ? row.issues : []))
  if (issues.length > 0) return malformed(issues)
  const picks = rows.flatMap((row) => (row.kind === 'asked' ? [row.pick] : []))
  const wire = rows.flatMap((row) => (row.kind === 'asked' ? [row.wire] : []))
  const text = parsed.data.picks === undefined ? parsed.data : { ...parsed.data, picks: wire }
  return asked({ kind: 'audit', audit: { picks, label } }, text)
}

/** Reads a body, parsed from JSON; an audit's takes some milliseconds. Never throws. */
export function readSale(kind: SaleKind, body: unknown): ReadSale {
  if (isEmpty(body)) return { kind: 'probe' }
  return kind === 'grade' ? readGrade(body) : readAudit(body)
}

/** Reads a body as `readSale` does, an audit's on the thread of long work. */
export async function readSold(
  longWork: Pick<LongWork, 'readAudit'>,
  kind: SaleKind,
  body: unknown,
): Promise<ReadSale<SoldRequest>> {
  if (kind === 'grade' || isEmpty(body)) return readSale(kind, body)
  const read = await longWork.readAudit(body)
  return read.kind === 'asked' ? { ...read, request: { kind } } : read
}

/** 1 to 255 visible ASCII characters: long enough for any UUID or hash. */
const KEY = /^[\x21-\x7e]{1,255}$/

/** What is wrong with an `Idempotency-Key`; undefined if it is well formed or absent. Node joins several with a comma and a space. */
export function idempotencyKeyIssue(
  header: string | string[] | undefined,
): RequestIssue | undefined {
  if (header === undefined || (typeof header === 'string' && KEY.test(header))) return undefined
  return { field: 'header.idempotency-key', expected: '1 to 255 visible ASCII characters' }
}
