export { logGateEvent } from '../gate/gate-event.ts'
export { type PaidRouteOptions, type PaymentProblem, paidRoute } from './paid-route.ts'
