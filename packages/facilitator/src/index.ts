export {
  type BuildFacilitatorOptions,
  type BuiltFacilitator,
  buildFacilitator,
} from './build-facilitator.ts'
export { facilitatorConfig } from './config.ts'
export { type ConsensusProblem, ConsensusUnavailable } from './consensus-unavailable.ts'
export { createEvmWallet, type EvmWallet, type EvmWalletOptions } from './evm/evm-wallet.ts'
export {
  ExactEvmFacilitator,
  type ExactEvmFacilitatorOptions,
} from './evm/exact-evm-facilitator.ts'
export {
  createEvmFacilitator,
  type EvmFacilitator,
  type EvmFacilitatorOptions,
  WrongToken,
} from './evm-facilitator.ts'
export { createFacilitatorApp, type FacilitatorAppOptions } from './facilitator-app.ts'
export { type ConsensusNode, parseConsensusNodes } from './hedera/consensus-nodes.ts'
export {
  ExactHederaFacilitator,
  type ExactHederaFacilitatorOptions,
} from './hedera/exact-hedera-facilitator.ts'
export {
  createHederaFacilitator,
  type HederaFacilitator,
  type HederaFacilitatorOptions,
} from './hedera-facilitator.ts'
export type { SettlementEnd, SettlementListener, SubmissionDoubt } from './settlement-end.ts'
export {
  type RunningFacilitator,
  type StartFacilitatorOptions,
  startFacilitator,
} from './start-facilitator.ts'
