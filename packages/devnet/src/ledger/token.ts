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
  keys: Readonly<Record<TokenKeyName, AccountKey | null>>
  fees: readonly CustomFee[]
  /** Consensus timestamp of its creation, nanoseconds. */
  createdNs: bigint
}

export const TOKEN_KEYS = ['admin', 'feeSchedule', 'freeze', 'pause', 'supply', 'wipe'] as const
type TokenKeyName = (typeof TOKEN_KEYS)[number]

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
