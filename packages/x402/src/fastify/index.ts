export { logGateEvent } from '../gate/gate-event.ts'
export { type PaymentProblem, paidRoute } from './paid-route.ts'
