import { toMirrorKey } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp } from '../ledger/timestamp.ts'
import { formatTransactionId, type TransactionRecord } from '../ledger/transaction-record.ts'

/** Everything that the mirror node has taken in by now: consensus nanoseconds up to which readers see. */
export function visibleNs(ledger: Ledger): bigint {
  return BigInt(Math.floor(ledger.clock.unixMs() - ledger.faults.mirrorLagMs)) * 1_000_000n
}

/** Whether the mirror node has taken a record in. */
export function isVisible(ledger: Ledger, recordedAtMs: number): boolean {
  const { mirrorLagMs } = ledger.faults
  return mirrorLagMs === 0 || recordedAtMs <= ledger.clock.unixMs() - mirrorLagMs
}

/** A record as `/api/v1/transactions` shows it. */
export function toMirrorTransaction(record: TransactionRecord): { [name: string]: unknown } {
  return {
    batch_key: null,
    bytes: null,
    charged_tx_fee: Number(record.chargedFeeTinybar),
    consensus_timestamp: formatTimestamp(record.consensusNs),
    entity_id: record.entityId,
    max_custom_fees: [],
    max_fee: record.maxFeeTinybar.toString(),
    memo_base64: Buffer.from(record.memo).toString('base64'),
    name: record.name,
    nft_transfers: [],
    node: record.node,
    nonce: record.id.nonce,
    parent_consensus_timestamp: null,
    result: record.result,
    scheduled: record.id.scheduled,
    staking_reward_transfers: [],
    token_transfers: [],
    transaction_hash: Buffer.from(record.hash).toString('base64'),
    transaction_id: formatTransactionId(record.id),
    transfers: (record.transfers ?? []).map(({ account, amountTinybar, isApproval }) => ({
      account,
      amount: Number(amountTinybar),
      is_approval: isApproval,
    })),
    valid_duration_seconds:
      record.validDurationSeconds === null ? null : String(record.validDurationSeconds),
    valid_start_timestamp: formatTimestamp(record.id.validStartNs),
  }
}

/** An entity as `/api/v1/accounts` shows it. */
export function toMirrorAccount(options: {
  entity: Entity
  balanceTinybar: bigint
  nonce: number
  nowNs: bigint
}): { [name: string]: unknown } {
  const { entity } = options
  return {
    account: entity.id,
    alias: aliasOf(entity),
    auto_renew_period: entity.kind === 'account' ? 7_776_000 : null,
    balance: {
      balance: Number(options.balanceTinybar),
      timestamp: formatTimestamp(options.nowNs),
      tokens: [],
    },
    created_timestamp: formatTimestamp(entity.createdNs),
    decline_reward: false,
    deleted: false,
    ethereum_nonce: options.nonce,
    evm_address: entity.address,
    expiry_timestamp: null,
    key: toMirrorKey(entity.key),
    max_automatic_token_associations: entity.key === null ? -1 : 0,
    memo: entity.memo,
    pending_reward: 0,
    receiver_sig_required: false,
    staked_account_id: null,
    staked_node_id: null,
    stake_period_start: null,
  }
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Base32 of the alias, which for accounts with an EVM address is that address; null for those without. */
function aliasOf(entity: Entity): string | null {
  if (entity.kind === 'contract' || entity.address.startsWith(`0x${'0'.repeat(24)}`)) return null
  let bits = ''
  for (const byte of Buffer.from(entity.address.slice(2), 'hex')) {
    bits += byte.toString(2).padStart(8, '0')
  }
  return (bits.match(/.{1,5}/g) ?? [])
    .map((group) => BASE32[Number.parseInt(group.padEnd(5, '0'), 2)])
    .join('')
}
