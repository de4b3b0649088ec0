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
export { endWebhook } from './end-webhook.ts'
export { moneySentence } from './money-sentence.ts'
export type { PurchaseEvidence } from './purchase-evidence.ts'
export type { WindowChange } from './window-watch.ts'
