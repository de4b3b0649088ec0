/** Every limit of the queue of transactions, with its unit and the reason for it. */
import type { BackOffLimits } from '@tallystick/service-kit'

/** Transactions sent without a receipt: one a second over the slowest ledger's 10 s, several times over. */
export const SENT_MAX = 64
/** A quoted gas price is used this long for signatures that must be ready at once. Milliseconds. */
export const GAS_QUOTE_MS = 30_000
/** A10: bytes that the ledger may have are sent again this long after they left, at the earliest: the slowest relay takes
 * 8 s for a send, and the nonce that shows it is read from a mirror that lags up to 10 s. Milliseconds. */
export const RESEND_AFTER_MS = 20_000
/** Receipts that are read in one batch once the first of them has come. */
export const RECEIPTS_AT_ONCE = 16
/** Pauses between two rounds of receipts while none comes: 30 requests a minute stay below public rate limits. */
export const RECEIPT_POLL: BackOffLimits = { firstMs: 250, maxMs: 2_000 }
/** A receipt this late is looked into: public mirrors lag up to 10 s. Milliseconds. */
export const RECEIPT_PATIENCE_MS = 15_000
/** A transaction without a receipt whose nonce is consumed is given up after this time. Milliseconds. */
export const RECEIPT_GIVE_UP_MS = 120_000
/** Least time between two transactions that are to prove a consumed nonce: at most two are sent. Milliseconds. */
export const PROBE_AGAIN_MS = 60_000
/** A nonce gap must last this long before it is filled: the read of the nonce lags up to 10 s. Milliseconds. */
export const GAP_PATIENCE_MS = 15_000
/** Missing nonces that are filled with empty transactions; a wider gap means another ledger. */
export const GAP_FILL_MAX = 64
