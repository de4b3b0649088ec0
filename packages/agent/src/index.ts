export {
  type AccessAgent,
  type AccessAgentOptions,
  type AgentSigner,
  createAccessAgent,
} from './access-agent.ts'
export type { AccessStatus, Metering, Subscription } from './access-answers.ts'
export {
  type AccessOutcome,
  AccessServiceUnavailable,
  type CancelOutcome,
  type SignedPayment,
  type StatusOutcome,
  type TopUpOutcome,
} from './access-outcome.ts'
export { agentSigner } from './agent-signer.ts'
export { LedgerUnavailable } from './contract-call.ts'
export { AccountUnknown, resolveAccountId } from './resolve-account-id.ts'
export { systemClock } from './system-clock.ts'
export { renewedPeriods, type WindowChange } from './window-watch.ts'
