/**
 * The port through which a queue of transactions sees the ledger: one key, its nonce, its gas price, its transactions and
 * their receipts. Nothing here decides when to send or what to send again: transaction-queue.ts does.
 */

/** A signed transaction. Its hash is final: the same bytes may be sent again, never signed again. */
export type SignedTransaction = {
  readonly nonce: number
  /** Offered gas price in weibar (10^10 weibar = 1 tinybar). */
  readonly gasPriceWeibar: bigint
  /** 0x-prefixed bytes. */
  readonly rawTransaction: string
  /** 0x-prefixed Keccak-256 of those bytes. */
  readonly hash: string
}

/** The ledger's definite refusals: these bytes were not taken this time. */
type Refusal =
  /** The account's nonce is past this one, or a smaller nonce of the account is missing. */
  | { readonly kind: 'nonce-too-low' | 'nonce-too-high'; readonly nextNonce?: number | undefined }
  | { readonly kind: 'gas-price-too-low' }
  /** The account cannot hold gas limit × offered price, and the value. */
  | { readonly kind: 'insufficient-funds' }
  /** Not looked at: there was no connection, or there were too many requests. */
  | { readonly kind: 'not-taken' }
  /** Refused for a reason that no other try removes. */
  | { readonly kind: 'refused' }

/** The ledger's answer to a transaction; `error` has its own words. */
export type SendResult = { readonly kind: 'accepted' } | (Refusal & { readonly error?: unknown })

/** A signature offers this for its place on the ledger. */
type Offer = { readonly nonce: number; readonly gasPriceWeibar: bigint }

/** One key on one ledger. A request rejects with the adapter's error if the ledger does not answer. */
export type TransactionLedger<Work extends object, Receipt extends object> = {
  /** The nonce that the ledger expects next from this key, without pending transactions. It may lag. */
  readNonce(): Promise<number>
  /** The gas price that the ledger quotes now, weibar. */
  quoteGasPriceWeibar(): Promise<bigint>
  /** Signs one transaction that does this work, at once. Never sends. */
  sign(transaction: Work & Offer): SignedTransaction
  /** Sends the bytes once, without retrying. A rejection leaves open whether they arrived. */
  send(signed: Pick<SignedTransaction, 'rawTransaction' | 'nonce'>): Promise<SendResult>
  /** The receipt of a transaction, undefined while it has none. */
  readReceipt(hash: string): Promise<Receipt | undefined>
}
