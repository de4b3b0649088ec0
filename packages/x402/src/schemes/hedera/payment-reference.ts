import { keccak } from '../../secp256k1.ts'
import { canonicalText } from './transaction-id.ts'

/** A purchase's name on the contract: the canonical text and its hash (A2). */
export type PaymentReference = {
  /** `0.0.<fee payer>@<seconds>.<nanoseconds, nine digits>`, ASCII; a child transaction's ends in `/<its number>`. */
  readonly text: string
  /** keccak-256 of `text`, `0x` and 64 lower-case hex digits. */
  readonly hash: `0x${string}`
}

/** The payment reference of a transaction id in either spelling (A2). Throws RangeError for anything else. */
export function paymentReference(transactionId: string): PaymentReference {
  const text = canonicalText(transactionId)
  return { text, hash: `0x${keccak(Buffer.from(text)).toString('hex')}` }
}
