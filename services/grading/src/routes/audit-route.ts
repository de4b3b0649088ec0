import type { ServiceApp } from '@tallystick/service-kit'
import { auditAnswerSchema } from '../wire/audit.ts'
import { auditSchema } from '../wire/requests.ts'
import { addSaleRoute, type SaleRouteDeps } from './sale-route.ts'

/**
 * 1,000 picks of 1,000 bytes: some three times the longest real one. What is kept of it with its payment, its one
 * text, may be a little longer than what was sent, and has to stay below the gate's KEPT_REQUEST_BYTES_MAX.
 */
const AUDIT_BODY_BYTES_MAX = 1_000_000

/** Serves `POST /api/audit`: up to 1,000 picks, for $0.20. */
export function addAuditRoute(app: ServiceApp, deps: SaleRouteDeps): void {
  addSaleRoute(app, deps, {
    kind: 'audit',
    summary: 'Audit up to 1,000 picks: raw ROI beside a Sharp Score: $0.20.',
    description:
      'Paid like /api/grade. Every number can be recomputed from the cards in the answer. An audit commits no pick: it changes nothing in the truth table.',
    body: auditSchema,
    answer: auditAnswerSchema,
    bodyLimitBytes: AUDIT_BODY_BYTES_MAX,
  })
}
