/**
 * What a ledger said to `eth_sendRawTransaction`, read in one place for both keys that send: those of single calls (call-sender.ts)
 * and the recorder's (recorder-ledger.ts).
 */
import { RelayRefusal, RelayUnavailable } from './relay.ts'

/** How a transaction was refused. `wrong-nonce` does not say which way, `unclear` not even whether it was refused. */
type SendRefusal =
  | 'already-known'
  | 'nonce-too-low'
  | 'nonce-too-high'
  | 'wrong-nonce'
  | 'gas-price-too-low'
  | 'insufficient-funds'
  /** Not looked at: there was no connection, or there were too many requests. */
  | 'not-taken'
  | 'unclear'

/**
 * The words of Hedera's relay (packages/relay/src/lib/errors/JsonRpcError.ts, codes 32001, 32002, -32009, -32000) and of
 * its consensus nodes (WRONG_NONCE, INSUFFICIENT_PAYER_BALANCE, INSUFFICIENT_TX_FEE), then those of other clients.
 */
const REFUSALS: readonly (readonly [RegExp, SendRefusal])[] = [
  [/already known|known transaction|DUPLICATE_TRANSACTION/i, 'already-known'],
  [/nonce too low/i, 'nonce-too-low'],
  [/nonce too high/i, 'nonce-too-high'],
  [/WRONG_NONCE/, 'wrong-nonce'],
  [/below configured minimum gas price|INSUFFICIENT_TX_FEE|underpriced/i, 'gas-price-too-low'],
  [/insufficient funds|INSUFFICIENT_PAYER_BALANCE/i, 'insufficient-funds'],
  [/rate limit/i, 'not-taken'],
]

/** Reads a failed send. Only the ledger's own words count, not a client's reading of them. */
export function sendRefusal(error: unknown): SendRefusal {
  if (error instanceof RelayUnavailable && error.nothingSent) return 'not-taken'
  const said = saidByLedger(error)
  for (const [words, refusal] of REFUSALS) if (words.test(said)) return refusal
  return 'unclear'
}

/** The nonce that the ledger says it wants, if it names one. */
export function expectedNonce(error: unknown): number | undefined {
  const [, nonce] = /(?:current|expected) nonce:?\s*(\d+)/i.exec(saidByLedger(error)) ?? []
  return nonce === undefined ? undefined : Number(nonce)
}

/** The ledger's own words, whether they came with HTTP 200 or with an error status. */
const saidByLedger = (error: unknown): string =>
  error instanceof RelayRefusal ? error.details : ''
