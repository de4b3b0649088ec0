export { logGateEvent } from '../gate/gate-event.ts'
export type { PaymentProblem } from '../gate/paid-job.ts'
export { paidRoute } from './paid-route.ts'
