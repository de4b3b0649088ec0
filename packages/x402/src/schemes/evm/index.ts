export {
  createOkxFacilitator,
  type OkxFacilitatorOptions,
} from '../../facilitators/okx-facilitator.ts'
export {
  authorizationDigest,
  domainOf,
  domainSeparator,
  domainSeparatorHex,
  type SigningDomain,
  type TransferAuthorization,
} from './authorization-digest.ts'
export {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  type EvmTransfer,
  isPaidBy,
  TRANSFER_TOPIC,
  transferOfAuthorization,
} from './authorization-events.ts'
export { checkEvmDomain, type DomainCheck } from './check-evm-domain.ts'
export {
  assetOf,
  type EvmAsset,
  evmChainId,
  parseEvmAsset,
  X_LAYER_NETWORK,
  X_LAYER_USDT0,
} from './evm-asset.ts'
export type { EvmRefusal } from './evm-errors.ts'
export type {
  AuthorizationKey,
  EvmBlock,
  EvmLedger,
  EvmLog,
  EvmReceipt,
} from './evm-ledger.ts'
export { type EvmPayload, readEvmPayload, SIGNATURE_BYTES_MAX } from './evm-payload.ts'
export { evmRequirement } from './evm-requirement.ts'
export { type EvmSigner, evmSigner, TRANSFER_TYPES, type TransferTypedData } from './evm-signer.ts'
export { type Hex, isEvmAddress } from './evm-words.ts'
export { ExactEvmClient, type ExactEvmClientOptions } from './exact-evm-client.ts'
export { createExactEvmScheme, type ExactEvmSchemeOptions } from './exact-evm-scheme.ts'
export { ExactEvmServer } from './exact-evm-server.ts'
export {
  authorizationKeyOf,
  EVM_NEVER_AFTER_SECONDS,
  EVM_TIMEOUT_SECONDS_MAX,
  findEvmPayment,
} from './find-evm-payment.ts'
export { createJsonRpcLedger, type JsonRpcLedgerOptions } from './json-rpc-ledger.ts'
export { type EcdsaSignature, readEcdsaSignature, recoverSigner } from './recover-signer.ts'
export {
  EVM_SUBMIT_MARGIN_SECONDS,
  type EvmVerificationContext,
  VALIDITY_SLACK_SECONDS,
  verifyEvmPayment,
} from './verify-evm-payment.ts'
