export { PAYMENT_EXPOSED_HEADERS, PAYMENT_REQUEST_HEADERS } from './cors-headers.ts'
export { logGateEvent } from './log-gate-event.ts'
export {
  type PaidRoute,
  type PaidRouteOptions,
  type PaymentProblem,
  paidRoute,
} from './paid-route.ts'
export { paymentHeadersOf } from './payment-headers-of.ts'
export { sendChallenge, setPaymentResponse } from './send-challenge.ts'
