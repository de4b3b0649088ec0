/**
 * Sends a signed transaction once, and reads in one place what a ledger said to it: for single calls (call-sender.ts) and for
 * the recorder (recorder-ledger.ts).
 */
import type { SendResult, SignedTransaction } from '../transactions/transaction-ledger.ts'
import { type Relay, RelayRefusal, RelayUnavailable } from './relay.ts'

/** `wrong-nonce` does not say which way, `unclear` not even whether it was refused. */
type OpenResult =
  | { readonly kind: 'wrong-nonce'; readonly error: unknown }
  | { readonly kind: 'unclear'; readonly error: unknown }

type Refusal = Exclude<SendResult['kind'], 'accepted' | 'refused'> | 'wrong-nonce' | 'already-known'

/** Never rejects. */
export async function sendTransaction(
  relay: Pick<Relay, 'send'>,
  { rawTransaction }: Pick<SignedTransaction, 'rawTransaction'>,
): Promise<SendResult | OpenResult> {
  try {
    await relay.send(rawTransaction)
    return { kind: 'accepted' }
  } catch (error) {
    const kind = readRefusal(error)
    switch (kind) {
      case 'already-known':
        return { kind: 'accepted' }
      case 'nonce-too-low':
      case 'nonce-too-high':
        return { kind, nextNonce: readNextNonce(error), error }
      case undefined:
        return { kind: 'unclear', error }
      case 'wrong-nonce':
      case 'gas-price-too-low':
      case 'insufficient-funds':
      case 'not-taken':
        return { kind, error }
      default:
        return kind satisfies never
    }
  }
}

/**
 * The words of Hedera's relay (packages/relay/src/lib/errors/JsonRpcError.ts, codes 32001, 32002, -32009, -32000) and of
 * its consensus nodes (WRONG_NONCE, INSUFFICIENT_PAYER_BALANCE, INSUFFICIENT_TX_FEE), then those of other clients.
 */
const REFUSALS: readonly (readonly [RegExp, Refusal])[] = [
  [/already known|known transaction|DUPLICATE_TRANSACTION/i, 'already-known'],
  [/nonce too low/i, 'nonce-too-low'],
  [/nonce too high/i, 'nonce-too-high'],
  [/WRONG_NONCE/, 'wrong-nonce'],
  [/below configured minimum gas price|INSUFFICIENT_TX_FEE|underpriced/i, 'gas-price-too-low'],
  [/insufficient funds|INSUFFICIENT_PAYER_BALANCE/i, 'insufficient-funds'],
  [/rate limit/i, 'not-taken'],
]

/** Reads a failed send. Only the ledger's own words count, not a client's reading of them. */
function readRefusal(error: unknown): Refusal | undefined {
  if (error instanceof RelayUnavailable && error.nothingSent) return 'not-taken'
  const words = ledgersWords(error)
  return REFUSALS.find(([pattern]) => pattern.test(words))?.[1]
}

/** The nonce that the ledger says it wants, if it names one. */
function readNextNonce(error: unknown): number | undefined {
  const [, nonce] = /(?:current|expected) nonce:?\s*(\d+)/i.exec(ledgersWords(error)) ?? []
  return nonce === undefined ? undefined : Number(nonce)
}

/** The ledger's own words, whether they came with HTTP 200 or with an error status. */
const ledgersWords = (error: unknown): string =>
  error instanceof RelayRefusal ? error.details : ''
