export { LedgerUnavailable } from '@tallystick/x402'
export {
  type AccessAgent,
  type AccessAgentOptions,
  type AgentSigner,
  createAccessAgent,
} from './access-agent.ts'
export type { AccessStatus, Metering, Subscription } from './access-answers.ts'
export type { CancelOutcome, TopUpOutcome } from './access-contract.ts'
export {
  type AccessOutcome,
  AccessServiceUnavailable,
  type StatusOutcome,
} from './access-outcome.ts'
export { AccountUnknown, agentSigner, resolveAccountId } from './agent-signer.ts'
export { systemClock } from './clock.ts'
export { moneySentence } from './money-sentence.ts'
export type { SignedPayment } from './paid-request.ts'
export type { PurchaseEvidence } from './purchase-evidence.ts'
export { renewedPeriods, type WindowChange } from './window-watch.ts'
