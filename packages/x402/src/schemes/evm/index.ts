export { createOkxFacilitator, OKX_URL } from '../../facilitators/okx-facilitator.ts'
export {
  authorizationDigest,
  domainSeparator,
  type EvmPayload,
  evmSigner,
  readEcdsaSignature,
  readEvmPayload,
  recoverSigner,
  signingDomain,
} from './authorization.ts'
export {
  type EvmAsset,
  evmChainId,
  findAsset,
  isEvmAddress,
  parseEvmAsset,
  X_LAYER_NETWORK,
  X_LAYER_USDT0,
} from './evm-asset.ts'
export {
  checkEvmDomain,
  createJsonRpcLedger,
  type DomainCheck,
  type EvmLedger,
  type EvmReceipt,
  isContractFault,
  TRANSFER_GAS_MAX,
} from './evm-ledger.ts'
export type { Hex } from './evm-words.ts'
export { ExactEvmClient } from './exact-evm-client.ts'
export {
  createExactEvmScheme,
  ExactEvmServer,
  evmRequirement,
  isSignedByKey,
  verifyEvmPayment,
} from './exact-evm-scheme.ts'
export { isPaidBy } from './find-evm-payment.ts'
export type { EvmSigner, TransferTypedData } from './transfer-typed-data.ts'
