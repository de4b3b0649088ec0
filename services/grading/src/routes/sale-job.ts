/**
 * The work behind both doors, the routes and the MCP tools: the grade or audit is computed before money moves, then kept and
 * released afterwards (G4). The same job serves a request and, at the next start, one that an earlier process left.
 */
import { hash } from 'node:crypto'
import type { Clock } from '@tallystick/service-kit'
import type { PaidJob, PaymentGate, PaymentTerms, Reservation, Resumed } from '@tallystick/x402'
import { auditPieces, cardText } from '../domain/card-text.ts'
import type { Grader } from '../domain/grader.ts'
import { writtenInSteps } from '../tracker/steps.ts'
import type { AuditAnswer } from '../wire/audit.ts'
import type { Card } from '../wire/cards.ts'
import { readSale, type SaleKind, type SaleRequest } from './read-sale.ts'

/** What a payment buys: a card, or an audit with all of its cards. */
export type SaleAnswer = Card | AuditAnswer

/** What is known about a sale before money moves. */
type PreparedSale = {
  readonly answer: SaleAnswer
  /** When the payment's first request came, Unix seconds. */
  readonly receivedAtSeconds: number
}

type SaleDeps = {
  readonly grader: Pick<Grader, 'grade' | 'release' | 'audit' | 'keepAudit'>
  /** Called for each sale once its answer exists. */
  readonly report: (answer: SaleAnswer) => void
}

/** Where a sale is asked for: at its route, or as a tool of MCP. */
export type SaleDoor = 'http' | 'mcp'

/** What both doors sell through. */
export type SaleDoorDeps = SaleDeps & {
  readonly gate: PaymentGate
  /** What is on sale; undefined while the network's token is not the configured one. */
  readonly termsOf: (kind: SaleKind, door: SaleDoor) => PaymentTerms | undefined
  readonly clock: Clock
}

/** A request as sold. */
type AskedSale = {
  readonly request: SaleRequest
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
  { grader, report }: SaleDeps,
  asked: AskedSale,
): PaidJob<PreparedSale, string, never> {
  const { idempotencyKey, receivedAtSeconds, request, requestId, sender, text } = asked
  const { fingerprint = saleFingerprint(request.kind, text) } = asked
  return {
    fingerprint,
    requestId,
    sender,
    // An audit takes up to seconds of work, a grade next to none.
    isHeavy: request.kind === 'audit' ? true : undefined,
    // Payers are not serialised: a payment in flight for the same thing is found by its fingerprint.
    subject: fingerprint,
    keepsAnswer: true,
    answersJson: true,
    idempotencyKey,
    request: keptSale(asked),
    async prepare(_payment, first) {
      const answer =
        request.kind === 'grade'
          ? await grader.grade(request.pick)
          : await grader.audit(request.audit)
      const prepared = { answer, receivedAtSeconds: receivedAtOf(first) ?? receivedAtSeconds }
      return { kind: 'ready', prepared }
    },
    // The gate itself honours only what its store reserved while the nonce was unused (X10).
    mayHonour: async () => true,
    async fulfil(prepared, { landedAtSeconds, payment: { id: paymentId, payer } }) {
      if (request.kind === 'audit') {
        const { picks, ...sums } = prepared.answer as AuditAnswer
        const paid = { payer, paymentId, receivedAtSeconds: prepared.receivedAtSeconds }
        const receipt = await grader.keepAudit({ ...paid, text, picks: picks.length })
        const audit = { ...sums, receipt, picks }
        report(audit)
        return await writtenInSteps(auditPieces(audit))
      }
      const card = await grader.release({
        pick: request.pick,
        card: prepared.answer as Card,
        payer,
        paymentId,
        // Received means paid: a payer must not hold a payment back and choose after the start.
        receivedAtSeconds: Math.max(prepared.receivedAtSeconds, landedAtSeconds ?? 0),
      })
      report(card)
      return cardText(card)
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
