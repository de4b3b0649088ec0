import type { Settlement } from '../facilitators/facilitator.ts'

/** The value of `PAYMENT-RESPONSE`: base64 of the settlement's UTF-8 JSON. */
export function encodePaymentResponse(settlement: Settlement): string {
  return Buffer.from(JSON.stringify(settlement), 'utf8').toString('base64')
}
