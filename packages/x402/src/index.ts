export { buildChallenge } from './challenge.ts'
export type { Clock } from './clock.ts'
export {
  createPaymentGate,
  type PaymentGateOptions,
  type ResumingPaymentGate,
} from './create-payment-gate.ts'
export {
  type Facilitator,
  FacilitatorUnavailable,
  type PaymentPayload,
  type Settlement,
} from './facilitator.ts'
export {
  createFeePayerDirectory,
  type FeePayerDirectory,
  type FeePayerDirectoryOptions,
} from './fee-payer-directory.ts'
export { fetchJson, type JsonAnswer, type JsonCall } from './fetch-json.ts'
export type { GateEvent } from './gate-event.ts'
export {
  DEFAULT_GATE_LIMITS,
  type GateLimits,
  KEPT_REQUEST_BYTES_MAX,
  PAYER_ANSWER_KEPT_SECONDS,
  PAYMENT_HEADER_BYTES_MAX,
} from './gate-limits.ts'
export { createHttpFacilitator, type HttpFacilitatorOptions } from './http-facilitator.ts'
export { acceptsRequirement } from './match-requirement.ts'
export {
  createMemoryReservationStore,
  type MemoryReservationStoreOptions,
} from './memory-reservation-store.ts'
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
} from './payment-gate.ts'
export type { PaidResource, PaymentRequirement } from './payment-requirement.ts'
export { encodePaymentResponse } from './payment-response.ts'
export {
  type LedgerFinding,
  LedgerUnavailable,
  type PaymentScheme,
  type Verification,
  type VerifiedPayment,
} from './payment-scheme.ts'
export type {
  KeptAnswer,
  Reservation,
  ReservationStore,
  ReserveOutcome,
} from './reservation-store.ts'
export {
  describeCall,
  type JsonSchema,
  type ResourceCall,
  type ResourceDiscovery,
} from './resource-discovery.ts'
export type { Resumed } from './resume-open.ts'
export { classifyRefusal, type RefusalClass } from './settlement-refusals.ts'
export { timedScheme } from './timed-scheme.ts'
export { payerKeyOf, type SiblingVerdict, weighSiblings } from './weigh-siblings.ts'
