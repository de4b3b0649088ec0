import type { UsageSendResult } from '../domain/usage-ledger.ts'

/** How a ledger refused a transaction; `wrong-nonce` leaves open which way, `unclear` whether it refused at all. */
export type UsageSendRefusal =
  | Exclude<UsageSendResult, { kind: 'accepted' }>
  | { readonly kind: 'already-known' }
  | { readonly kind: 'wrong-nonce' }
  | { readonly kind: 'unclear' }

/**
 * The words of Hedera's relay (packages/relay/src/lib/errors/JsonRpcError.ts, codes 32001, 32002, -32009, -32000) and of
 * its consensus nodes (WRONG_NONCE, INSUFFICIENT_PAYER_BALANCE, INSUFFICIENT_TX_FEE), then those of other clients.
 */
const REFUSALS: readonly (readonly [RegExp, UsageSendRefusal])[] = [
  [/already known|known transaction|DUPLICATE_TRANSACTION/i, { kind: 'already-known' }],
  [/nonce too low/i, { kind: 'nonce-too-low' }],
  [/nonce too high/i, { kind: 'nonce-too-high' }],
  [/WRONG_NONCE/, { kind: 'wrong-nonce' }],
  [
    /below configured minimum gas price|INSUFFICIENT_TX_FEE|underpriced/i,
    { kind: 'gas-price-too-low' },
  ],
  [/insufficient funds|INSUFFICIENT_PAYER_BALANCE/i, { kind: 'insufficient-funds' }],
]

/** Reads a failed `eth_sendRawTransaction`. Only what the ledger itself said counts, not what a client makes of it. */
export function usageSendRefusal(error: unknown): UsageSendRefusal {
  const said = saidByLedger(error)
  for (const [words, refusal] of REFUSALS) if (words.test(said)) return refusal
  return { kind: 'unclear' }
}

/** viem keeps the ledger's own words in `details`, whether they came with HTTP 200 or with an error status. */
function saidByLedger(error: unknown): string {
  const words: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('details' in cause && typeof cause.details === 'string') words.push(cause.details)
  }
  return words.join('\n')
}
