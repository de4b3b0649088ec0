export type { AccountDirectory, LedgerAccount } from './account-directory.ts'
export {
  type AccountName,
  isAccountId,
  longZeroAddress,
  mirrorNameOf,
  readAccountName,
} from './account-id.ts'
export {
  ExactHederaClient,
  type ExactHederaClientOptions,
  type PaymentMemo,
} from './exact-hedera-client.ts'
export { createExactHederaScheme, type ExactHederaSchemeOptions } from './exact-hedera-scheme.ts'
export { ExactHederaServer } from './exact-hedera-server.ts'
export { findHederaPayment, NEVER_AFTER_SECONDS } from './find-hedera-payment.ts'
export { formatHbar, parseHbar } from './hbar.ts'
export type { HederaRefusal } from './hedera-errors.ts'
export { type HederaKey, readHederaKey } from './hedera-key.ts'
export { hederaRequirement } from './hedera-requirement.ts'
export { type HederaSigner, hederaSigner } from './hedera-signer.ts'
export { type LedgerRecord, type LedgerTransfer, netByAccount } from './ledger-record.ts'
export {
  createMirrorAccountDirectory,
  type MirrorAccountDirectoryOptions,
} from './mirror-account-directory.ts'
export {
  createMirrorNode,
  type MirrorNode,
  type MirrorNodeOptions,
  type TransfersSince,
} from './mirror-node.ts'
export {
  DEFAULT_NODE_ACCOUNT_IDS,
  HBAR_ASSET,
  HEDERA_NETWORKS,
  MEMO_BYTES_MAX,
  TINYBAR_PER_HBAR,
  VALID_DURATION_SECONDS_MAX,
  VALID_DURATION_SECONDS_MIN,
} from './network.ts'
export { agentMemo, agentOfMemo, refundMemo, refundOfMemo } from './payment-memo.ts'
export {
  type HbarTransfer,
  NODES_MAX,
  readTransfer,
  type SignaturePair,
  type SignedBody,
  TRANSACTION_BYTES_MAX,
  type TransferLine,
  type TransferReading,
} from './read-transfer.ts'
export { evmAddressOf, isSignedBy, secp256k1Implementation } from './signature-check.ts'
export {
  canonicalTransactionId,
  mirrorTransactionId,
  type PaymentReference,
  parseTransactionId,
  paymentReference,
  type TransactionId,
} from './transaction-id.ts'
export {
  FEE_MAX_TINYBAR,
  type HederaVerificationContext,
  START_SKEW_SECONDS,
  SUBMIT_MARGIN_SECONDS,
  verifyHederaPayment,
} from './verify-hedera-payment.ts'
export {
  type BodySignature,
  splitTransactionList,
  type TransferDraft,
  writeTransactionList,
  writeTransferBody,
} from './write-transfer.ts'
