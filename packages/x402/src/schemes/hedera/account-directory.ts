import type { HederaKey } from './hedera-key.ts'

/** An account as the ledger knows it. */
export type LedgerAccount = {
  /** `shard.realm.num`. */
  readonly accountId: string
  /** `0x` and 40 lower-case hex digits; the long-zero form where the account has no EVM alias. */
  readonly evmAddress: `0x${string}`
  /** Null for a hollow account, whose first signature brings its key. */
  readonly key: HederaKey | null
  readonly isDeleted: boolean
}

/** Where accounts are looked up, by id, by EVM address or by key alias. */
export type AccountDirectory = {
  /** May answer from a cache. Undefined for an account that does not exist. Throws LedgerUnavailable. */
  account(name: string): Promise<LedgerAccount | undefined>
  /** Asks the ledger anew, for a key that may have changed; still bounded in how often. Throws LedgerUnavailable. */
  refresh(name: string): Promise<LedgerAccount | undefined>
}
