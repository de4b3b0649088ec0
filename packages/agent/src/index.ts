export { LedgerUnavailable, systemClock } from '@tallystick/x402'
export {
  type AccessAgent,
  createAccessAgent,
} from './access-agent.ts'
export type { AccessStatus } from './access-answers.ts'
export {
  type AccessOutcome,
  AccessServiceUnavailable,
} from './access-outcome.ts'
export { AccountUnknown, agentSigner } from './agent-signer.ts'
export { moneySentence } from './money-sentence.ts'
export type { PurchaseEvidence } from './purchase-evidence.ts'
