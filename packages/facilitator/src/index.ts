export { parseConsensusNodes } from './hedera/consensus-client.ts'
export { startFacilitator } from './service.ts'
