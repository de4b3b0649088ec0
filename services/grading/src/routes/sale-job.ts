/**
 * What happens around one payment: the grade or audit is worked out before money moves, and kept and released after (G4).
 * The same job serves a request and, at the next start, one that a process left open.
 */
import { hash } from 'node:crypto'
import type { KeptJob, PaidJob, Reservation, Resumed, ResumingPaymentGate } from '@tallystick/x402'
import type { Grader } from '../domain/grader.ts'
import type { AuditAnswer } from '../wire/audit.ts'
import type { Card } from '../wire/cards.ts'
import { readSale, type SaleKind, type SaleRequest } from './read-sale.ts'

type SaleAnswer = Card | AuditAnswer

/** What is known of a sale before money moves. */
type PreparedSale = {
  readonly answer: SaleAnswer
  /** When the payment's first request came, Unix seconds. */
  readonly receivedAtSeconds: number
}

export type SaleDeps = {
  readonly grader: Pick<Grader, 'grade' | 'release' | 'audit'>
  /** Hears of each sale, once its answer is there. */
  readonly report: (sale: SoldAnswer) => void
}

/** An answer that was paid for. */
export type SoldAnswer =
  | { readonly kind: 'grade'; readonly card: Card }
  | { readonly kind: 'audit'; readonly audit: AuditAnswer }

/** A request as it is sold. */
type AskedSale = {
  readonly request: SaleRequest
  /** The one text of its body. */
  readonly text: string
  readonly receivedAtSeconds: number
  readonly idempotencyKey?: string | undefined
  /** Of the request, for the log; absent for a sale that an earlier process left. */
  readonly requestId?: string | undefined
}

export const salePath = (kind: SaleKind): string => `/api/${kind}`

/** Method, route and SHA-256 of the body: what a payment is tied to (X7). */
export const saleFingerprint = (kind: SaleKind, text: string): string =>
  `POST ${salePath(kind)} ${hash('sha256', text)}`

/** What is kept with a payment, so that the next process can do its work again. */
const keptSale = ({ request, receivedAtSeconds, text }: AskedSale): string =>
  `${request.kind} ${receivedAtSeconds} ${text}`

const KEPT_SALE = /^(grade|audit) (\d+(?:\.\d+)?) /

/** When a kept sale came, Unix seconds; undefined for another text. */
const receivedAtOf = (kept: string | undefined): number | undefined => {
  const match = KEPT_SALE.exec(kept ?? '')
  return match === null ? undefined : Number(match[2])
}

/** A sale that was kept, as it was asked; undefined for what is none. */
export function readKeptSale(kept: string): AskedSale | undefined {
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
): KeptJob<PreparedSale, SaleAnswer, never> {
  const { idempotencyKey, receivedAtSeconds, request, requestId, text } = asked
  const fingerprint = saleFingerprint(request.kind, text)
  return {
    fingerprint,
    requestId,
    // Nobody waits for a payer as such: a payment in flight for the same thing is found by its fingerprint.
    subject: fingerprint,
    keepsAnswer: true,
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
    async fulfil(prepared, { landedAtSeconds, payment }) {
      if (request.kind === 'audit') {
        const audit = prepared.answer as AuditAnswer
        report({ kind: 'audit', audit })
        return audit
      }
      const card = await grader.release({
        pick: request.pick,
        card: prepared.answer as Card,
        payer: payment.payer,
        paymentId: payment.id,
        // Paid for, it was received: who can hold his payment back must not choose after the start what he committed to.
        receivedAtSeconds: Math.max(prepared.receivedAtSeconds, landedAtSeconds ?? 0),
      })
      report({ kind: 'grade', card })
      return card
    },
  }
}

function unasked(): never {
  throw new Error('a payment without a request is not honoured')
}

/** A payment whose validity had ended when it was reserved: it was only looked for, and there is nothing to give. */
const nothingToGive = ({
  fingerprint,
  subject,
}: Reservation): PaidJob<PreparedSale, SaleAnswer, never> => ({
  fingerprint,
  subject,
  prepare: unasked,
  mayHonour: async () => false,
  fulfil: unasked,
})

/**
 * Takes up what an earlier process left open (X9): looked up on the ledger, and completed where it landed. Resolves when
 * each has an outcome, or is pending in the background. Throws what the store's `open` throws.
 */
export async function resumeSales(
  deps: SaleDeps & { readonly gate: Pick<ResumingPaymentGate, 'resumeOpen'> },
  hear: (resumed: Resumed) => void,
): Promise<void> {
  await deps.gate.resumeOpen((reservation) => {
    if (reservation.request === undefined) return nothingToGive(reservation)
    const asked = readKeptSale(reservation.request)
    // Paid for, perhaps, and not understood by this version: left open for one that does.
    if (asked === undefined) return undefined
    // As it was reserved: a newer version may write the same request in another order.
    const { fingerprint, subject } = reservation
    return { ...saleJob(deps, asked), fingerprint, subject }
  }, hear)
}
