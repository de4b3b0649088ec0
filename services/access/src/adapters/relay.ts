/**
 * JSON-RPC to the ledger's relay, in one place: simultaneous reads are one request, each on a kept connection. A send has
 * its own request, goes out once, and may take as long as consensus; reads never wait for it. What the ledger says to a
 * transaction is read here; what calls mean is the other adapters' business.
 */
import type { Clock } from '@tallystick/service-kit'
import { callJsonRpcOnce, createJsonRpc, type JsonRpcOutcome } from '@tallystick/x402'
import type { RelayBudget } from '../domain/relay-budget.ts'
import type { SendResult, SignedTransaction } from '../transactions/transaction-ledger.ts'

/** Reads take well under a second, 3 s on a busy relay; beyond this the ledger counts as unreachable. */
const READ_LIMIT_MS = 5_000

/** Hedera's relay answers a send only after consensus, 3–8 s; at twice that the endpoint is dead. */
const SEND_LIMIT_MS = 15_000

/** Most reads in one request: half of what Hedera's relay takes, so that an answer stays small. */
const BATCH_READS_MAX = 50

/** How long others gather behind a request under way, milliseconds: after that the relay is slow, not busy. */
const GATHER_MS = 50

/** Read requests under way at once; those that come meanwhile gather. */
const REQUESTS_MAX = 8

/** Longest answer that is read: fifty receipts of full batches are 3 MB. */
const ANSWER_BYTES_MAX = 8_388_608

export type Relay = ReturnType<typeof createRelay>

type RelayFailure = {
  readonly cause?: unknown
  readonly nothingSent?: boolean
  readonly isRateLimit?: boolean
}

/** The relay did not answer, or not in JSON-RPC, or had too many requests. */
export class RelayUnavailable extends Error {
  override readonly name = 'RelayUnavailable'
  /** There was no connection, or the relay had too many requests: it has not looked at the call. */
  readonly nothingSent: boolean
  /** The relay had too many requests of this process. */
  readonly isRateLimit: boolean

  constructor(message: string, options: RelayFailure = {}) {
    super(message, { cause: options.cause })
    this.isRateLimit = options.isRateLimit ?? false
    this.nothingSent = options.nothingSent ?? this.isRateLimit
  }
}

/** The relay answered a call with an error. `details` are its own words. */
export class RelayRefusal extends Error {
  override readonly name = 'RelayRefusal'
  readonly details: string
  readonly data: string | undefined

  constructor(details: string, data: string | undefined) {
    super(`the relay refused: ${details}`)
    this.details = details
    this.data = data
  }
}

type RelayOptions = {
  readonly url: string
  readonly clock: Clock
  /** Counts every call that is sent, and hears when the relay refuses a read because it had too many. */
  readonly budget?: Pick<RelayBudget, 'spent' | 'refused'> | undefined
}

/** A client of the relay. It connects to nothing yet. */
export function createRelay(options: RelayOptions) {
  const { budget, clock, url } = options
  const onCalls = (methods: readonly string[]): void => budget?.spent(methods)
  const node = { url, clock, onCalls, bytesMax: ANSWER_BYTES_MAX }
  const read = createJsonRpc({
    ...node,
    timeoutMs: READ_LIMIT_MS,
    callsMax: BATCH_READS_MAX,
    gatherMs: GATHER_MS,
    requestsMax: REQUESTS_MAX,
  })
  return {
    /** The result of one read. Throws RelayRefusal or RelayUnavailable. */
    async read(method: string, params: readonly unknown[]): Promise<unknown> {
      const outcome = await read(method, params)
      if (isRateLimit(outcome)) budget?.refused()
      return readResult(outcome)
    },
    /** Sends signed bytes once. Throws RelayRefusal, or RelayUnavailable, which leaves open whether they arrived. */
    async send(rawTransaction: string): Promise<void> {
      const method = 'eth_sendRawTransaction'
      onCalls([method])
      // Once: a second send of taken bytes looks like a lost nonce.
      const sending = { ...node, timeoutMs: SEND_LIMIT_MS }
      readResult(await callJsonRpcOnce(sending, method, [rawTransaction]))
    },
  }
}

/** HTTP's status, and the code of Hedera's relay (JsonRpcError.ts), for too many requests. */
const TOO_MANY_REQUESTS = 429
const RATE_LIMIT_CODE = -32_605

function isRateLimit(outcome: JsonRpcOutcome): boolean {
  switch (outcome.kind) {
    case 'result':
      return false
    case 'refused':
      return outcome.code === RATE_LIMIT_CODE
    case 'failed':
      return outcome.answer.kind === 'nonsense' && outcome.answer.status === TOO_MANY_REQUESTS
    default:
      return outcome satisfies never
  }
}

/** The result that the relay answered. Throws RelayRefusal or RelayUnavailable. */
function readResult(outcome: JsonRpcOutcome): unknown {
  if (isRateLimit(outcome))
    throw new RelayUnavailable('the relay had too many requests', { isRateLimit: true })
  switch (outcome.kind) {
    case 'result':
      return outcome.result
    case 'refused':
      throw new RelayRefusal(outcome.message, outcome.data)
    case 'failed': {
      const { answer } = outcome
      const nothingSent = answer.kind === 'unreachable' && answer.nothingSent
      throw new RelayUnavailable('the relay did not answer', { cause: answer.cause, nothingSent })
    }
    default:
      return outcome satisfies never
  }
}

type Refusal = Exclude<SendResult['kind'], 'accepted' | 'refused'> | 'wrong-nonce' | 'already-known'

/** `wrong-nonce` does not say which way. Rejects with the relay's error if it leaves open whether the bytes were refused. */
export async function sendTransaction(
  relay: Pick<Relay, 'send'>,
  { rawTransaction }: Pick<SignedTransaction, 'rawTransaction'>,
): Promise<SendResult | { readonly kind: 'wrong-nonce'; readonly error: unknown }> {
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
        throw error
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
