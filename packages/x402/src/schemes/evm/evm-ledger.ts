import type { Hex } from './evm-words.ts'

/** What makes an authorization unique: the token, who signed, and the nonce. All in lower case. */
export type AuthorizationKey = { readonly asset: Hex; readonly payer: Hex; readonly nonce: Hex }

export type EvmBlock = { readonly number: bigint; readonly timestampSeconds: number }

/** One event of a contract. Address, topics and data in lower case. */
export type EvmLog = {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly logIndex: number
  readonly transaction: Hex
  readonly blockNumber: bigint
}

export type EvmReceipt = {
  readonly transaction: Hex
  readonly isSuccess: boolean
  readonly blockNumber: bigint
  /** In the order in which they were emitted. */
  readonly logs: readonly EvmLog[]
}

/** What payments need to read of an EVM chain. Every method throws LedgerUnavailable. */
export type EvmLedger = {
  chainId(): Promise<number>
  latestBlock(): Promise<EvmBlock>
  /** Throws LedgerUnavailable also where the node does not know the block. */
  block(number: bigint): Promise<EvmBlock>
  /** `authorizationState` at a block, the latest by default; true also for a cancelled nonce. */
  isAuthorizationUsed(key: AuthorizationKey, atBlock?: bigint): Promise<boolean>
  /** `AuthorizationUsed` and `AuthorizationCanceled` events of that nonce in a range of blocks, ends included. */
  authorizationLogs(
    key: AuthorizationKey,
    range: { readonly fromBlock: bigint; readonly toBlock: bigint },
  ): Promise<readonly EvmLog[]>
  /** Undefined where the transaction is in no block. */
  receipt(transaction: Hex): Promise<EvmReceipt | undefined>
  hasCode(address: Hex): Promise<boolean>
  /** Whether a contract accepts a signature as its own (EIP-1271); false where it reverts. */
  isValidSignature(asked: {
    readonly wallet: Hex
    readonly digest: Uint8Array
    readonly signature: Uint8Array
  }): Promise<boolean>
  /** A token's `DOMAIN_SEPARATOR()`. */
  domainSeparator(asset: Hex): Promise<Hex>
  /** A token balance in base units. */
  balanceOf(asset: Hex, owner: Hex): Promise<bigint>
}
