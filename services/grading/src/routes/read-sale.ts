/**
 * Reads what a paid route's body asks for, before any challenge (G3): a probe, a request for the domain, or what is
 * malformed. A request that an earlier process left open is read the same way.
 */

import { type OddsRefusal, parseOdds } from '@tallystick/odds'
import type { RequestIssue } from '@tallystick/service-kit'
import type { AuditRequest } from '../domain/grader.ts'
import { formatMarketKey } from '../domain/markets.ts'
import { knownMarket } from '../domain/parse-market.ts'
import { type AskedPick, DEFAULT_GRADE_OPTIONS, type GradeOptions } from '../domain/pick-request.ts'
import { auditSchema, gradeSchema, type WireOptions, type WirePick } from '../wire/requests.ts'
import { isoSeconds } from '../wire/times.ts'
import { requestIssuesOf } from './read-body.ts'

export type SaleRequest =
  | { readonly kind: 'grade'; readonly pick: AskedPick }
  | { readonly kind: 'audit'; readonly audit: AuditRequest }

export type SaleKind = SaleRequest['kind']

export type ReadSale =
  /** No body, or an empty one: a request for the price. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'malformed'; readonly issues: readonly RequestIssue[] }
  /** `text` is the body's canonical text, whatever its order and spacing: what the payment buys. */
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

/** A parsed body has its members in schema order, so its text does not depend on how it was written. */
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

/** What makes two picks of a slate duplicates: a pick counted twice would pass for twice the evidence. */
function duplicateKey(pick: AskedPick): string {
  if (pick.kind === 'ambiguous') return `${pick.market} ${pick.selection}`
  const { daySeconds = '', key, odds, placedAtSeconds = '', selection } = pick
  return `${formatMarketKey(key)} ${selection} ${odds.text} ${placedAtSeconds} ${daySeconds}`
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
  return asked({ kind: 'audit', audit: { picks, label } }, parsed.data)
}

/** Reads a body, parsed from JSON. Never throws. */
export function readSale(kind: SaleKind, body: unknown): ReadSale {
  if (isEmpty(body)) return { kind: 'probe' }
  return kind === 'grade' ? readGrade(body) : readAudit(body)
}

const EXPECTED_ODDS: Readonly<Record<OddsRefusal, string>> = {
  type: 'decimal odds as a number, or odds as text',
  format: 'decimal (2.10), fractional (11/10) or American (+110) odds',
  not_finite: 'a finite number',
  not_above_one: 'odds above 1: at 1 or less nothing is won',
  above_limit: 'odds of at most 1000000',
  american_below_100: 'American odds at or beyond +100 or -100',
  unsigned_whole: 'a clear notation: "+110" is American, "110.0" decimal',
  comma_of_thousands: 'a clear notation: "1.250" is decimal, "+1250" American',
}

const gradeOptionsOf = (options: WireOptions | undefined): GradeOptions =>
  options === undefined
    ? DEFAULT_GRADE_OPTIONS
    : {
        method: options.method ?? DEFAULT_GRADE_OPTIONS.method,
        basis: options.basis ?? DEFAULT_GRADE_OPTIONS.basis,
        reference: options.reference,
      }

/** Reads a pick of the right shape into the domain's pick, or says what is malformed, whatever the ledger knows (G3). */
function readPick(
  pick: WirePick,
  { field, options }: { readonly field: string; readonly options: GradeOptions },
): AskedPick | readonly RequestIssue[] {
  const issues: RequestIssue[] = []
  const odds = parseOdds(pick.odds)
  if (odds.kind === 'refused')
    issues.push({ field: `${field}.odds`, expected: EXPECTED_ODDS[odds.reason] })
  const placed = pick.placed_at === undefined ? undefined : isoSeconds(pick.placed_at)
  if (pick.placed_at !== undefined && placed === undefined)
    issues.push({
      field: `${field}.placed_at`,
      expected: 'an ISO 8601 time with its zone, such as 2026-06-01T18:00:00Z',
    })
  const market = knownMarket(pick)
  if (market.kind === 'malformed')
    issues.push({ field: `${field}.${market.path}`, expected: market.expected })
  if (odds.kind === 'refused' || market.kind === 'malformed' || issues.length > 0) return issues
  if (market.kind === 'ambiguous')
    return {
      kind: 'ambiguous',
      market: typeof pick.market === 'string' ? pick.market : JSON.stringify(pick.market),
      selection: pick.selection,
      candidates: market.candidates,
      ref: pick.ref,
    }
  const { key, selection } = market
  const { field_size: fieldSize, ref } = pick
  const daySeconds = pick.date === undefined ? undefined : isoSeconds(pick.date)
  const when = { placedAtSeconds: placed, daySeconds }
  return { kind: 'pick', key, selection, odds, options, ...when, fieldSize, ref }
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
