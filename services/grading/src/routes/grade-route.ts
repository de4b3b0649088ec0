import type { ServiceApp } from '@tallystick/service-kit'
import { cardSchema } from '../wire/cards.ts'
import { gradeSchema } from '../wire/requests.ts'
import { addSaleRoute, type SaleRouteDeps } from './sale-route.ts'

/** One pick with every text at its longest, twice over. */
const GRADE_BODY_BYTES_MAX = 8_192

/** Serves `POST /api/grade`: one pick against its closing line, for $0.01. */
export function addGradeRoute(app: ServiceApp, deps: SaleRouteDeps): void {
  addSaleRoute(app, deps, {
    kind: 'grade',
    summary: 'Grade one pick against its closing line: $0.01.',
    description:
      'Without a payment the answer is 402 with an x402 challenge, in the body and, base64, in PAYMENT-REQUIRED; malformed input is 400 before that. Repeat the call with PAYMENT-SIGNATURE. A pick without a recorded closing line is the paid outcome UNGRADED.',
    body: gradeSchema,
    answer: cardSchema,
    bodyLimitBytes: GRADE_BODY_BYTES_MAX,
  })
}
