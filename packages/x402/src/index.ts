export type { Clock } from './clock.ts'
export {
  type Facilitator,
  FacilitatorUnavailable,
  type PaymentPayload,
  type Settlement,
} from './facilitators/facilitator.ts'
export {
  createFeePayerDirectory,
  type FeePayerDirectory,
  type FeePayerDirectoryOptions,
} from './facilitators/fee-payer-directory.ts'
export {
  createHttpFacilitator,
  type HttpFacilitatorOptions,
} from './facilitators/http-facilitator.ts'
export { classifyRefusal, type RefusalClass } from './facilitators/settlement-refusals.ts'
export { buildChallenge } from './gate/challenge.ts'
export {
  createPaymentGate,
  type PaymentGateOptions,
  type ResumingPaymentGate,
} from './gate/create-payment-gate.ts'
export type { GateEvent } from './gate/gate-event.ts'
export {
  DEFAULT_GATE_LIMITS,
  type GateLimits,
  KEPT_REQUEST_BYTES_MAX,
  PAYER_ANSWER_KEPT_SECONDS,
  PAYMENT_HEADER_BYTES_MAX,
} from './gate/gate-limits.ts'
export { acceptsRequirement } from './gate/match-requirement.ts'
export type {
  AnyPaidJob,
  Challenge,
  ChallengeError,
  KeptJob,
  KeyConflict,
  PaidJob,
  PaidJobOutcome,
  PaymentGate,
  PaymentHeaders,
  PaymentOutcome,
  PaymentTerms,
  SettledPayment,
} from './gate/payment-gate.ts'
export { encodePaymentResponse } from './gate/payment-response.ts'
export {
  describeCall,
  type JsonSchema,
  type ResourceCall,
  type ResourceDiscovery,
} from './gate/resource-discovery.ts'
export type { Resumed } from './gate/resume-open.ts'
export { fetchJson, type JsonAnswer, type JsonCall } from './http-json.ts'
export type { PaidResource, PaymentRequirement } from './payment.ts'
export {
  createMemoryReservationStore,
  type MemoryReservationStoreOptions,
} from './reservations/memory-reservation-store.ts'
export type {
  KeptAnswer,
  Reservation,
  ReservationStore,
  ReserveOutcome,
} from './reservations/reservation-store.ts'
export { payerKeyOf, type SiblingVerdict, weighSiblings } from './reservations/weigh-siblings.ts'
export {
  type LedgerFinding,
  LedgerUnavailable,
  type PaymentScheme,
  type Verification,
  type VerifiedPayment,
} from './schemes/payment-scheme.ts'
export { timedScheme } from './schemes/timed-scheme.ts'
