import type { AccountKey } from './account-key.ts'
import type { Entity } from './account-registry.ts'

export type Token = {
  number: number
  /** `0.0.<number>`. */
  id: string
  name: string
  symbol: string
  decimals: number
  /** In the token's smallest unit, as all amounts. Nothing mints or burns. */
  totalSupply: bigint
  /** 0 for an infinite supply. */
  maxSupply: bigint
  treasury: Entity
  memo: string
  metadata: Uint8Array
  keys: Readonly<Record<TokenKeyName, AccountKey | null>>
  fees: readonly CustomFee[]
  /** Whether it freezes whoever is associated with it, but for its treasury. */
  startsFrozen: boolean
  isPaused: boolean
  isDeleted: boolean
  renewal: Renewal
  /** Consensus timestamp of its creation, nanoseconds. */
  createdNs: bigint
}

/** Who pays for the renewal of a token or a topic, and for how long; nothing ends here. */
export type Renewal = { account: Entity | null; periodSeconds: number }

export const TOKEN_KEYS = [
  'admin',
  'feeSchedule',
  'freeze',
  'kyc',
  'metadata',
  'pause',
  'supply',
  'wipe',
] as const
export type TokenKeyName = (typeof TOKEN_KEYS)[number]

/** One line of a record's token transfers. */
export type TokenTransfer = { token: string; account: string; amount: bigint; isApproval: boolean }

export type CustomFee = { collector: Entity; isEveryCollectorExempt: boolean } & (
  | {
      kind: 'fixed'
      amount: bigint
      /** Number of the token in which it is paid; undefined for HBAR. */
      token: number | undefined
    }
  | {
      kind: 'fractional'
      numerator: bigint
      denominator: bigint
      min: bigint
      /** 0 for no limit. */
      max: bigint
      /** Whether the sender pays it besides. */
      isNetOfTransfers: boolean
    }
)
