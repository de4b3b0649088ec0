export { keyInArguments, readPrivateKey } from '../../private-key.ts'
export { type AccountDirectory, createMirrorAccountDirectory } from './account-directory.ts'
export { isAccountId, longZeroAddress, toBase32 } from './account-id.ts'
export { ExactHederaClient, type HederaSigner, signTransfer } from './exact-hedera-client.ts'
export {
  createExactHederaScheme,
  ExactHederaServer,
  hederaRequirement,
} from './exact-hedera-scheme.ts'
export { createFeeFloor, type FeeFloor } from './fee-floor.ts'
export {
  FEE_MAX_TINYBAR,
  formatHbar,
  HBAR_ASSET,
  HEDERA_NETWORKS,
  PAYMENT_OVER_SECONDS,
  parseHbar,
  TINYBAR_PER_HBAR,
  VALID_DURATION_SECONDS_MAX,
} from './hbar.ts'
export { deriveEvmAddress } from './hedera-key.ts'
export { hederaSigner } from './hedera-signer.ts'
export { HEDERA_USDC, type HederaToken } from './hedera-token.ts'
export {
  checkHederaToken,
  createTokenJudge,
  type TokenJudge,
  type TokenReader,
} from './judge-token-payment.ts'
export type { LedgerTransfer } from './ledger-record.ts'
export { createMirrorNode, type LedgerTime, type MirrorNode } from './mirror-node.ts'
export {
  agentMemo,
  agentOfMemo,
  isReservedMemo,
  refundMemo,
  refundOfMemo,
} from './payment-memo.ts'
export { type PaymentReference, paymentReference } from './payment-reference.ts'
export { readTransfer } from './read-transfer.ts'
export {
  canonicalTransactionId,
  mirrorTransactionId,
  parseTransactionId,
  type TransactionId,
} from './transaction-id.ts'
export { verifyHederaPayment } from './verify-hedera-payment.ts'
export { splitTransactionList } from './write-transfer.ts'
