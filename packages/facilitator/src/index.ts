export { facilitatorConfig } from './config.ts'
export { createEvmFacilitator, type EvmChain, WrongToken } from './evm/evm-facilitator.ts'
export { type ConsensusNode, parseConsensusNodes } from './hedera/consensus-client.ts'
export { createHederaFacilitator, type HederaNetwork } from './hedera/hedera-facilitator.ts'
export { type StartOptions, startFacilitator } from './service.ts'
export {
  ConsensusUnavailable,
  type SettlementEnd,
  type SettlementListener,
  type SubmissionDoubt,
} from './settlement.ts'
