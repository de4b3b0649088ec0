export { type Clock, pause, systemClock } from './clock.ts'
export { namePayment, PAYMENT_IDENTIFIER } from './extensions/payment-identifier.ts'
export { sellerFields } from './extensions/seller-fields.ts'
export {
  createHttpFacilitator,
  type Facilitator,
  type FacilitatorRoutes,
  FacilitatorUnavailable,
  type NothingSubmitted,
} from './facilitators/facilitator.ts'
export { createFacilitatorPool } from './facilitators/facilitator-pool.ts'
export type { FeePayerDirectory } from './facilitators/fee-payers.ts'
export type { Challenge, ChallengeError, PaymentTerms } from './gate/challenge.ts'
export { type GateEvent, timedScheme } from './gate/gate-event.ts'
export type { JobOptions, PaidJob, PaymentOutcome } from './gate/paid-job.ts'
export { respond } from './gate/paid-response.ts'
export {
  type Admission,
  createPaymentGate,
  type PaymentGate,
  type Resumed,
} from './gate/payment-gate.ts'
export {
  acceptsRequirement,
  encodePaymentResponse,
  type PaymentHeaders,
} from './gate/payment-headers.ts'
export { describeCall, type JsonSchema } from './gate/resource-discovery.ts'
export { fetchJson } from './http-json.ts'
export { callJsonRpcOnce, createJsonRpc, type JsonRpcOutcome } from './json-rpc.ts'
export type { PaymentRequirement, Settlement, VerifiedPayment } from './payment.ts'
export {
  createDerivedReceiptIssuer,
  createReceiptIssuer,
  type ReceiptIssuer,
} from './receipts/receipt-issuer.ts'
export {
  createReceiptVerifier,
  type StatementVerdict,
  type UnprovenReason,
} from './receipts/receipt-verifier.ts'
export type {
  OfferStatement,
  ReceiptStatement,
} from './receipts/signed-statement.ts'
export { createMemoryReservationStore } from './reservations/memory-reservation-store.ts'
export {
  payerKey,
  type Reservation,
  type ReservationStore,
  type ReserveLimits,
  type ReserveOutcome,
  weighSiblings,
} from './reservations/reservation-store.ts'
export { addGuess, type Guesses } from './reservations/same-purchase.ts'
export {
  LedgerUnavailable,
  type PaymentScheme,
  type Verification,
} from './schemes/payment-scheme.ts'
export { answerSignIn, signInChallenge } from './sign-in/sign-in-challenge.ts'
export { judgeSignIn, type SignInRefusal } from './sign-in/sign-in-proof.ts'
