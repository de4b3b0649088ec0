export type { Clock } from './clock.ts'
export {
  type Facilitator,
  FacilitatorUnavailable,
  type PaymentPayload,
  type Settlement,
} from './facilitator.ts'
export type {
  Challenge,
  ChallengeError,
  PaidJob,
  PaymentGate,
  PaymentHeaders,
  PaymentOutcome,
  PaymentTerms,
  SettledPayment,
} from './payment-gate.ts'
export type { PaidResource, PaymentRequirement } from './payment-requirement.ts'
export {
  type LedgerFinding,
  LedgerUnavailable,
  type PaymentScheme,
  type Verification,
  type VerifiedPayment,
} from './payment-scheme.ts'
export type { Reservation, ReservationStore, ReserveOutcome } from './reservation-store.ts'
