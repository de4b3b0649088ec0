/**
 * The work behind both doors, the routes and the MCP tools: the grade or audit is computed before money moves, then kept and
 * released afterwards (G4). The same job serves a request and, at the next start, one that an earlier process left.
 */
import { hash } from 'node:crypto'
import type { Clock } from '@tallystick/service-kit'
import type { PaidJob, PaymentGate, PaymentTerms, Reservation, Resumed } from '@tallystick/x402'
import type { Grader } from '../domain/grader.ts'
import {
  type AuditJson,
  countGrades,
  type GradeCount,
  type LongWork,
  underReceipt,
} from '../domain/long-work.ts'
import type { Card } from '../wire/cards.ts'
import { readSale, type SaleKind, type SoldRequest } from './read-sale.ts'

/** What was sold: a card, or an audit with all of its cards. */
export type Sold = { readonly kind: SaleKind; readonly grades: readonly GradeCount[] }

/** What is known about a sale before money moves. */
type PreparedSale = {
  readonly answer: Card | AuditJson
  /** When the payment's first request came, Unix seconds. */
  readonly receivedAtSeconds: number
}

type SaleDeps = {
  readonly grader: Pick<Grader, 'grade' | 'release' | 'keepAudit'>
  readonly longWork: Pick<LongWork, 'audit'>
  /** Called for each sale once its answer exists. */
  readonly report: (sold: Sold) => void
}

/** Where a sale is asked for: at its route, or as a tool of MCP. */
export type SaleDoor = 'http' | 'mcp'

/** What both doors sell through. */
export type SaleDoorDeps = SaleDeps & {
  readonly longWork: Pick<LongWork, 'audit' | 'readAudit'>
  readonly gate: PaymentGate
  /** What is on sale; undefined while the network's token is not the configured one. */
  readonly termsOf: (kind: SaleKind, door: SaleDoor) => PaymentTerms | undefined
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
const receivedAtOf = (kept: string | undefined): number | undefined => {
  const match = KEPT_SALE.exec(kept ?? '')
  return match === null ? undefined : Number(match[2])
}

/** A kept sale as requested; undefined for any other text. */
function readKeptSale(kept: string): AskedSale | undefined {
  const match = KEPT_SALE.exec(kept)
  if (match === null) return undefined
  const read = readSale(match[1] as SaleKind, JSON.parse(kept.slice(match[0].length)))
  if (read.kind !== 'asked') return undefined
  return { request: read.request, text: read.text, receivedAtSeconds: Number(match[2]) }
}

/** The work of one paid request. */
export function saleJob(
  { grader, longWork, report }: SaleDeps,
  asked: AskedSale,
): PaidJob<PreparedSale, string, never> {
  const { idempotencyKey, receivedAtSeconds, request, requestId, sender, text } = asked
  const { fingerprint = saleFingerprint(request.kind, text) } = asked
  return {
    fingerprint,
    requestId,
    sender,
    // Payers are not serialised: a payment in flight for the same thing is found by its fingerprint.
    subject: fingerprint,
    keepsAnswer: true,
    answersJson: true,
    idempotencyKey,
    request: keptSale(asked),
    async prepare({ network, payer }, first) {
      const answer =
        request.kind === 'grade'
          ? await grader.grade(request.pick)
          : await longWork.audit({ text, payer: `${network}/${payer}` })
      const prepared = { answer, receivedAtSeconds: receivedAtOf(first) ?? receivedAtSeconds }
      return { kind: 'ready', prepared }
    },
    // The gate itself honours only what its store reserved while the nonce was unused (X10).
    mayHonour: async () => true,
    async fulfil(prepared, { landedAtSeconds, payment: { id: paymentId, payer } }) {
      if (request.kind === 'audit') {
        const { grades, json, picks } = prepared.answer as AuditJson
        const paid = { payer, paymentId, receivedAtSeconds: prepared.receivedAtSeconds }
        const receipt = await grader.keepAudit({ ...paid, text, picks })
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

function unasked(): never {
  throw new Error('a payment without a request is not honoured')
}

/** A payment that had expired when it was reserved was only looked up: there is nothing to release. */
const nothingToGive = ({
  fingerprint,
  subject,
}: Reservation): PaidJob<PreparedSale, string, never> => ({
  fingerprint,
  subject,
  prepare: unasked,
  mayHonour: async () => false,
  fulfil: unasked,
})

/**
 * Resumes what an earlier process left open (X9): looks each sale up on the ledger, and completes it if its payment
 * landed. Resolves when each has an outcome or is pending in the background. Throws what the store's `open` throws.
 */
export async function resumeSales(
  deps: SaleDeps & { readonly gate: Pick<PaymentGate, 'resumeOpen'> },
  hear: (resumed: Resumed) => void,
): Promise<void> {
  await deps.gate.resumeOpen((reservation) => {
    if (reservation.request === undefined) return nothingToGive(reservation)
    const asked = readKeptSale(reservation.request)
    // Perhaps paid, but unreadable to this version: left open for a version that can read it.
    if (asked === undefined) return undefined
    // As reserved: a newer version may write the same request in another order.
    const { fingerprint, subject } = reservation
    return { ...saleJob(deps, asked), fingerprint, subject }
  }, hear)
}
