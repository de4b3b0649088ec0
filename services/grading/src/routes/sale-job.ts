/**
 * A sale, behind both doors, the routes and the MCP tools: its body is read before any challenge (G3), the grade or audit is
 * computed before money moves, then kept and released afterwards (G4). The same job serves a request and, at the next start, one
 * that an earlier process left.
 */
import { hash } from 'node:crypto'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Clock, RequestIssue } from '@tallystick/service-kit'
import type { PaidJob, PaymentGate, PaymentTerms } from '@tallystick/x402'
import { toolCallHash } from '@tallystick/x402/mcp'
import type { AuditRequest } from '../domain/audits/slate-grader.ts'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import type { Grader } from '../domain/grading/grader.ts'
import {
  type AuditBody,
  type AuditJson,
  type GradeCount,
  type LongWork,
  LongWorkUnavailable,
  underReceipt,
} from '../domain/grading/long-work.ts'
import type { AskedPick } from '../domain/markets/pick-request.ts'
import type { Card } from '../wire/cards.ts'
import { auditFrameSchema, gradeSchema } from '../wire/requests.ts'
import { readMembers } from './read-body.ts'
import { readGradeOptions, readPick, readPicks } from './read-picks.ts'

/** What was sold: a card, or an audit with all of its cards. */
export type Sold = { readonly kind: SaleKind; readonly grades: readonly GradeCount[] }

/** What is known about a sale before money moves. */
export type PreparedSale = {
  readonly answer: Card | AuditJson
  /** When the payment's first request came, Unix seconds. */
  readonly receivedAtSeconds: number
}

export type SaleDeps = {
  readonly grader: Pick<Grader, 'grade' | 'release' | 'keepAudit'>
  readonly longWork: Pick<LongWork, 'audit' | 'readAudit'>
  /** Called for each sale once its answer exists. */
  readonly report: (sold: Sold) => void
}

/** Where a sale is asked for: at its route, or as a tool of MCP. */
export type SaleDoor = 'http' | 'mcp'

/** What both doors sell through. */
export type SaleDoorDeps = SaleDeps & {
  readonly gate: PaymentGate
  /** What is on sale; undefined while the network's token is not the configured one. */
  readonly findTerms: (kind: SaleKind, door: SaleDoor) => PaymentTerms | undefined
  readonly clock: Clock
}

/** A request as sold. */
type AskedSale = {
  readonly request: SoldRequest
  /** What the payment buys, if not just this body at its route: one call of a tool. */
  readonly fingerprint?: string | undefined
  /** The client's address. */
  readonly sender?: string | undefined
  /** The canonical text of its body. */
  readonly text: string
  readonly receivedAtSeconds: number
  readonly idempotencyKey?: string | undefined
  /** The request's id, for the log; absent for a sale that an earlier process left. */
  readonly requestId?: string | undefined
}

export const salePath = (kind: SaleKind): string => `/api/${kind}`

/** Method, route and SHA-256 of the body: what a payment is tied to (X7). */
const saleFingerprint = (kind: SaleKind, text: string): string =>
  `POST ${salePath(kind)} ${hash('sha256', text)}`

/** What is kept with a payment, so that the next process can repeat its work. */
const keptSale = ({ request, receivedAtSeconds, text }: AskedSale): string =>
  `${request.kind} ${receivedAtSeconds} ${text}`

const KEPT_SALE = /^(grade|audit) (\d+(?:\.\d+)?) /

/** When a kept sale was received, Unix seconds; undefined for any other text. */
const readReceivedAt = (text: string | undefined): number | undefined => {
  const match = KEPT_SALE.exec(text ?? '')
  return match === null ? undefined : Number(match[2])
}

/**
 * A kept sale as requested; undefined for any other text. It may be paid, so one that the thread of long work cannot read now is
 * read here, in some milliseconds: reading needs nothing of the ledger.
 */
export async function readKeptSale(
  longWork: AuditReader,
  text: string,
): Promise<AskedSale | undefined> {
  const match = KEPT_SALE.exec(text)
  if (match === null) return undefined
  const kind = match[1] as SaleKind
  const body: unknown = JSON.parse(text.slice(match[0].length))
  const read = await readSold(longWork, kind, { body }).catch((error: unknown) => {
    if (error instanceof LongWorkUnavailable || error instanceof GradingStoreUnavailable)
      return readSale(kind, body)
    throw error
  })
  if (read.kind !== 'asked') return undefined
  return { request: read.request, text: read.text, receivedAtSeconds: Number(match[2]) }
}

/** The work of one paid request. */
export function saleJob(
  { grader, longWork, report }: SaleDeps,
  sale: AskedSale,
): PaidJob<PreparedSale, string, never> {
  const { idempotencyKey, receivedAtSeconds, request, requestId, sender, text } = sale
  const { fingerprint = saleFingerprint(request.kind, text) } = sale
  return {
    fingerprint,
    requestId,
    sender,
    // Payers are not serialised: a payment in flight for the same thing is found by its fingerprint.
    subject: fingerprint,
    keepsAnswer: true,
    answersJson: true,
    idempotencyKey,
    request: keptSale(sale),
    async prepare({ network, payer }, first) {
      const answer =
        request.kind === 'grade'
          ? await grader.grade(request.pick)
          : await longWork.audit({ text, payer: `${network}/${payer}` })
      const prepared = { answer, receivedAtSeconds: readReceivedAt(first) ?? receivedAtSeconds }
      return { kind: 'ready', prepared }
    },
    // The gate itself honours only what its store reserved while the nonce was unused (X10).
    mayHonour: async () => true,
    async fulfil(prepared, { landedAtSeconds, payment: { id: paymentId, payer } }) {
      if (request.kind === 'audit') {
        const { grades, json, picks } = prepared.answer as AuditJson
        const paid = { payer, paymentId, receivedAtSeconds: prepared.receivedAtSeconds }
        const receipt = await grader.keepAudit({ ...paid, text, picks })
        // What follows keeps, signs and sends an answer of megabytes, some 10 ms: it has an iteration of its own.
        await nextIteration()
        report({ kind: 'audit', grades })
        return underReceipt(json, receipt)
      }
      const card = await grader.release({
        pick: request.pick,
        card: prepared.answer as Card,
        payer,
        paymentId,
        // Received means paid: a payer must not hold a payment back and choose after the start.
        receivedAtSeconds: Math.max(prepared.receivedAtSeconds, landedAtSeconds ?? 0),
      })
      report({ kind: 'grade', grades: countGrades([card]) })
      return JSON.stringify(card)
    },
  }
}

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
  | {
      readonly kind: 'asked'
      readonly request: Request
      readonly text: string
      /** Of a paid call; absent if no JSON holds its arguments. */
      readonly callHash?: string | undefined
    }

const malformed = (issues: readonly RequestIssue[]): ReadSale => ({ kind: 'malformed', issues })

function isEmpty(body: unknown): boolean {
  if (body === undefined) return true
  return typeof body === 'object' && body !== null && !Array.isArray(body)
    ? Object.keys(body).length === 0
    : false
}

/** A parsed body has its members in schema order, so its text does not depend on how it was written. */
const sale = (request: SaleRequest, parsed: object): ReadSale => ({
  kind: 'asked',
  request,
  text: JSON.stringify(parsed),
})

function readGrade(body: unknown): ReadSale {
  const parsed = readMembers(gradeSchema, body, 'body')
  if (parsed.kind === 'faulty') return malformed(parsed.issues)
  const options = readGradeOptions(parsed.data.options)
  const pick = readPick(parsed.data.pick, { field: 'body.pick', options })
  return 'issues' in pick ? malformed(pick.issues) : sale({ kind: 'grade', pick }, parsed.data)
}

function readAudit(body: unknown): ReadSale {
  const parsed = readMembers(auditFrameSchema, body, 'body')
  if (parsed.kind === 'faulty') return malformed(parsed.issues)
  const { label } = parsed.data
  const read = readPicks(parsed.data, readGradeOptions(parsed.data.options))
  if (read.kind === 'unreadable') return malformed(read.issues)
  const rows = [...read.rows]
  const issues = rows.flatMap((row) => (row.kind === 'faulty' ? row.issues : []))
  if (issues.length > 0) return malformed(issues)
  const picks = rows.flatMap((row) => (row.kind === 'asked' ? [row.pick] : []))
  const wire = rows.flatMap((row) => (row.kind === 'asked' ? [row.wire] : []))
  const text = parsed.data.picks === undefined ? parsed.data : { ...parsed.data, picks: wire }
  return sale({ kind: 'audit', audit: { picks, label } }, text)
}

/** Reads a body, parsed from JSON; an audit's takes some milliseconds. Never throws. */
export function readSale(kind: SaleKind, body: unknown): ReadSale {
  if (isEmpty(body)) return { kind: 'probe' }
  return kind === 'grade' ? readGrade(body) : readAudit(body)
}

type AuditReader = Pick<LongWork, 'readAudit'>

/** The hash of a paid call (X20); undefined if there is none, or for arguments that canonical JSON cannot hold. */
export function hashCall({ body, paidCall }: AuditBody): string | undefined {
  try {
    return paidCall && toolCallHash({ ...paidCall, arguments: body })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Reads a body as `readSale` does, and hashes its call; an audit's on the thread of long work. */
export async function readSold(
  longWork: AuditReader,
  kind: SaleKind,
  sent: AuditBody,
): Promise<ReadSale<SoldRequest>> {
  if (kind === 'grade' || isEmpty(sent.body)) {
    const read = readSale(kind, sent.body)
    return read.kind === 'asked' ? { ...read, callHash: hashCall(sent) } : read
  }
  const read = await longWork.readAudit(sent)
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

export function countGrades(cards: readonly Card[]): readonly GradeCount[] {
  const counts = new Map<string, GradeCount>()
  for (const card of cards) {
    const reason = card.outcome === 'UNGRADED' ? card.reason.code : ''
    const key = `${card.grade} ${reason}`
    const count = (counts.get(key)?.count ?? 0) + 1
    counts.set(key, { grade: card.grade, reason, count })
  }
  return [...counts.values()]
}
