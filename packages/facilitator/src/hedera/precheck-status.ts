import type { ConsensusProblem } from '../consensus-unavailable.ts'

/** What a consensus node's precheck code means for a payment whose payer's signature was verified before. */
export type PrecheckMeaning =
  /** This node did not take it; another may. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'duplicate' }
  /** Not the payment's fault. */
  | { readonly kind: 'ours'; readonly problem: ConsensusProblem }
  | { readonly kind: 'refused'; readonly reason: string }

/** Codes of a node that did not take the transaction and says nothing about it. */
export const BUSY_STATUSES: ReadonlySet<string> = new Set([
  'BUSY',
  'PLATFORM_NOT_ACTIVE',
  'PLATFORM_TRANSACTION_NOT_CREATED',
  'INVALID_NODE_ACCOUNT',
])

/** At precheck only the fee payer's account, balance and signature are looked at. */
const OURS: Readonly<Record<string, ConsensusProblem>> = {
  INSUFFICIENT_PAYER_BALANCE: 'fee_payer_balance_too_low',
  INVALID_SIGNATURE: 'fee_payer_unusable',
  INVALID_PAYER_SIGNATURE: 'fee_payer_unusable',
  PAYER_ACCOUNT_NOT_FOUND: 'fee_payer_unusable',
  PAYER_ACCOUNT_DELETED: 'fee_payer_unusable',
  PAYER_ACCOUNT_UNAUTHORIZED: 'fee_payer_unusable',
}

const REASONS: Readonly<Record<string, string>> = {
  TRANSACTION_EXPIRED: 'transaction_expired',
  INVALID_TRANSACTION_START: 'invalid_exact_hedera_payload_not_yet_valid',
  INVALID_TRANSACTION_DURATION: 'invalid_exact_hedera_payload_validity',
  KEY_PREFIX_MISMATCH: 'invalid_exact_hedera_payload_signature_invalid',
  INSUFFICIENT_ACCOUNT_BALANCE: 'insufficient_funds',
}

/** Maps a precheck code. What has no name of its own is `preflight_failed`: the node refused it, nothing moved. */
export function judgePrecheck(status: string): PrecheckMeaning {
  if (BUSY_STATUSES.has(status)) return { kind: 'busy' }
  if (status === 'DUPLICATE_TRANSACTION') return { kind: 'duplicate' }
  const problem = OURS[status]
  if (problem !== undefined) return { kind: 'ours', problem }
  const reason = REASONS[status] ?? 'invalid_exact_hedera_payload_preflight_failed'
  return { kind: 'refused', reason }
}
