/**
 * What happens around one payment: the grade or audit is worked out before money moves, and kept and released after (G4).
 * The same job serves a request and, at the next start, one that a process left open.
 */
import { hash } from 'node:crypto'
import type { PaidJob } from '@tallystick/x402'
import type { AuditAnswer } from './domain/audit-answer.ts'
import type { Card } from './domain/card.ts'
import type { Grader } from './domain/grader.ts'
import type { PaidRequestLog } from './domain/paid-request-log.ts'
import type { SaleKind, SaleRequest } from './routes/read-sale.ts'

export type SaleAnswer = Card | AuditAnswer

/** What is known of a sale before money moves. */
export type PreparedSale = {
  readonly answer: SaleAnswer
  /** When the payment's first request came, Unix seconds. */
  readonly receivedAtSeconds: number
}

export type SaleJob = PaidJob<PreparedSale, SaleAnswer, never>

export type SaleDeps = {
  readonly grader: Pick<Grader, 'grade' | 'release' | 'audit'>
  readonly requests: Pick<PaidRequestLog, 'keep'>
  /** Hears of each sale, once its answer is there. */
  readonly report: (sale: SoldAnswer) => void
}

/** An answer that was paid for. */
export type SoldAnswer =
  | { readonly kind: 'grade'; readonly card: Card }
  | { readonly kind: 'audit'; readonly audit: AuditAnswer }

/** A request as it is sold. */
export type AskedSale = {
  readonly request: SaleRequest
  readonly text: string
  readonly receivedAtSeconds: number
}

export const salePath = (kind: SaleKind): string => `/api/${kind}`

/** Method, route and SHA-256 of the body: what a payment is tied to (X7). */
export const saleFingerprint = (kind: SaleKind, text: string): string =>
  `POST ${salePath(kind)} ${hash('sha256', text)}`

/** The work of one paid request. */
export function saleJob(deps: SaleDeps, asked: AskedSale): SaleJob {
  const { grader, report, requests } = deps
  const { receivedAtSeconds, request, text } = asked
  const fingerprint = saleFingerprint(request.kind, text)
  return {
    fingerprint,
    // Nobody waits for a payer as such; what is under way for the same thing is found by its fingerprint.
    subject: fingerprint,
    async prepare(payment) {
      const answer =
        request.kind === 'grade'
          ? await grader.grade(request.pick)
          : await grader.audit(request.audit)
      const kept = await requests.keep(payment.id, { kind: request.kind, text, receivedAtSeconds })
      return { kind: 'ready', prepared: { answer, receivedAtSeconds: kept.receivedAtSeconds } }
    },
    // The gate itself honours only what its store reserved while the nonce was unused (X10).
    mayHonour: async () => true,
    async fulfil(prepared, { payment }) {
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
        receivedAtSeconds: prepared.receivedAtSeconds,
      })
      report({ kind: 'grade', card })
      return card
    },
  }
}
