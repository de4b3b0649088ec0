// One request through the official `@x402/fetch`, and whether it signed a payment. The official client sends its payment only
// once: after a 502 money may have moved, yet at the next 402 it would sign a second payment. So it gets a `fetch` that
// resends a paid request, byte for byte, while the service cannot say what became of the payment (X9).
import { isDeepStrictEqual } from 'node:util'
import { type Clock, namePayment, PAYMENT_IDENTIFIER, pause } from '@tallystick/x402'
import {
  canonicalTransactionId,
  HBAR_ASSET,
  isAccountId,
  readTransfer,
} from '@tallystick/x402/hedera'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import {
  type PaymentRequired,
  type PaymentRequirements,
  type SchemeNetworkClient,
  wrapFetchWithPayment,
  x402Client,
  x402HTTPClient,
} from '@x402/fetch'
import { z } from 'zod'

/** Header that carries a signed payment (x402 v2). */
const PAYMENT_HEADER = 'PAYMENT-SIGNATURE'

/** Pause if an answer names none: the service looks for its payments on the ledger at least every 10 s. */
const RETRY_AFTER_SECONDS = 2
/** A longer `Retry-After` is cut to this, so that the limit below bounds the wait. */
const RETRY_AFTER_SECONDS_MAX = 15

/** Answers of the service, or of a gateway that gave up on it, that leave the fate of the payment open. */
const OPEN_STATUSES: readonly number[] = [502, 504]

/** A payment that this agent signed for a request. */
export type SignedPayment = {
  /** Base units of the accepted asset: tinybar of HBAR. */
  readonly amount: bigint
  /** Account paid, `0.0.x`. */
  readonly payTo: string
  /** Id of the transfer, `0.0.x@seconds.nanoseconds`, by which any explorer shows what became of it. */
  readonly transaction: string
  /** Account debited, `0.0.x`. */
  readonly payer: string
  /** Until when anyone who holds it can submit it, Unix seconds. */
  readonly validUntilSeconds: number
  /** The challenge's offer that was accepted. */
  readonly accepted: PaymentRequirements
  /** The name of the request, if the seller takes names (X17). */
  readonly identifier: string | undefined
  /** Value of the `PAYMENT-SIGNATURE` header: whoever holds it can send only this payment. */
  readonly header: string
}

/** The most that one request may pay in an asset, in its base units; `0.0.0` is HBAR. 0 signs nothing. */
export type SpendCap = { readonly asset: string; readonly amountMax: bigint }

type PaidRequestOptions = {
  readonly url: string
  /** Method, body and headers; by default a GET. */
  readonly init?: RequestInit | undefined
  readonly fetch: typeof globalThis.fetch
  readonly clock: Clock
  /** The only CAIP-2 network that this agent pays on, e.g. `hedera:testnet`. */
  readonly network: `${string}:${string}`
  /** The payer's side of the scheme; without one nothing is signed. */
  readonly scheme: SchemeNetworkClient | undefined
  /** What this request may pay with: a cap in one asset allows no other. */
  readonly caps: readonly SpendCap[]
  /** How long one payment is resent after it was first sent, milliseconds. */
  readonly resendMs: number
  readonly requestMs: number
  /** Signed for an earlier request and not known to be settled: while it is valid, no other is signed. */
  readonly unsettled?: SignedPayment | undefined
  /** Called before each resend. */
  readonly onResend?: ((attempt: number) => void) | undefined
}

/** An answer, with what was signed for it. */
export type AnsweredExchange = {
  readonly kind: 'answered'
  readonly response: Response
  readonly challenge: PaymentRequired | undefined
  readonly payment: SignedPayment | undefined
}

export type PaidExchange =
  /** A challenge that the spend controls or the registered scheme refused: nothing was signed. */
  | {
      readonly kind: 'unsigned'
      readonly challenge: PaymentRequired
      readonly payment?: undefined
      readonly cause: unknown
    }
  | AnsweredExchange
  /** No answer came. `payment` may have moved money. */
  | {
      readonly kind: 'unanswered'
      readonly payment: SignedPayment | undefined
      readonly cause: unknown
    }

/** A challenge's offers on that network by one transfer of HBAR or a token. */
export function transferOffers(
  challenge: PaymentRequired,
  network: string,
): readonly PaymentRequirements[] {
  return challenge.accepts.filter(
    (offer) =>
      offer.scheme === 'exact' &&
      offer.network === network &&
      isAccountId(offer.asset) &&
      /^\d{1,19}$/.test(offer.amount),
  )
}

/** A challenge's offer in HBAR on that network, if it has one. */
export const hbarOffer = (
  challenge: PaymentRequired,
  network: string,
): PaymentRequirements | undefined =>
  transferOffers(challenge, network).find(({ asset }) => asset === HBAR_ASSET)

/** Every offer of a challenge, for somebody who can take none. */
export const offerNames = ({ accepts }: PaymentRequired): readonly string[] =>
  accepts.map(({ scheme, network, asset }) => `${scheme} ${network} ${asset}`)

type Trace = {
  challenge: PaymentRequired | undefined
  payment: SignedPayment | undefined
  /** This kept the scheme from signing: the official client passes on only its message. */
  failure: unknown
}

const namedSchema = z.object({ info: z.object({ id: z.string() }) })

/** Reads a payment header, which this agent's own scheme made. */
function signedPayment(header: string): SignedPayment {
  const { accepted, extensions, payload } = decodePaymentSignatureHeader(header)
  const reading = readTransfer(Buffer.from(String(payload['transaction']), 'base64'))
  const identifier = namedSchema.safeParse(extensions?.[PAYMENT_IDENTIFIER]).data?.info.id
  const { amount, payTo } = accepted
  const common = { amount: BigInt(amount), payTo, accepted, identifier, header }
  if (reading.kind !== 'transfer')
    return { ...common, transaction: '', payer: '', validUntilSeconds: 0 }
  const { lines, transactionId, validDurationSeconds } = reading.transfer
  const validUntilSeconds = Number(transactionId.validStartSeconds + validDurationSeconds)
  const payer = lines.find(({ amount: moved }) => moved < 0n)?.account ?? ''
  const transaction = canonicalTransactionId(transactionId)
  return { ...common, transaction, payer, validUntilSeconds }
}

/** `fetch` with a time limit, which notes the payment that passes through it. */
function tracingFetch(options: PaidRequestOptions, trace: Trace): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const header = request.headers.get(PAYMENT_HEADER)
    if (header !== null && trace.payment === undefined) {
      trace.payment = signedPayment(header)
    }
    // A redirect could send the payment to another host, or take the price from one.
    const redirect = 'manual'
    return await options.fetch(request, {
      redirect,
      signal: AbortSignal.timeout(options.requestMs),
    })
  }
}

function payingClient(options: PaidRequestOptions, trace: Trace): x402HTTPClient {
  const client = new x402Client().setSpendControls({
    allowedAssets: options.caps.map(({ amountMax, asset }) => ({
      network: options.network,
      asset,
      maxAmountPerPayment: amountMax.toString(),
    })),
  })
  const { scheme } = options
  if (scheme !== undefined) {
    client.register(options.network, {
      scheme: scheme.scheme,
      async createPaymentPayload(version, requirements, context) {
        try {
          const again = payloadAgain(options, requirements)
          if (again !== undefined) return { x402Version: version, payload: again }
          return await scheme.createPaymentPayload(version, requirements, context)
        } catch (error) {
          trace.failure = error
          throw error
        }
      },
    })
  }
  client.onBeforePaymentCreation(async ({ paymentRequired }) => {
    namePayment(paymentRequired.extensions)
  })
  return new x402HTTPClient(client).onPaymentRequired(async ({ paymentRequired }) => {
    trace.challenge = paymentRequired
  })
}

/** The service asks for a new payment while it may still submit the earlier one: it could collect both for one thing. */
export class EarlierPaymentValid extends Error {
  override readonly name = 'EarlierPaymentValid'
  readonly payment: SignedPayment

  constructor(payment: SignedPayment) {
    super('an earlier payment can still be submitted')
    this.payment = payment
  }
}

/** The earlier payment's payload, if the same is asked for again. Throws EarlierPaymentValid if something else is. */
function payloadAgain(
  { clock, unsettled }: PaidRequestOptions,
  requirements: PaymentRequirements,
): Record<string, unknown> | undefined {
  if (unsettled === undefined) return undefined
  if (clock.unixMs() / 1_000 > unsettled.validUntilSeconds) return undefined
  if (!isDeepStrictEqual(unsettled.accepted, requirements)) throw new EarlierPaymentValid(unsettled)
  return decodePaymentSignatureHeader(unsettled.header).payload
}

/** Sends a request and pays once if asked and allowed to. Never signs twice. */
export async function requestPaid(options: PaidRequestOptions): Promise<PaidExchange> {
  const trace: Trace = { challenge: undefined, payment: undefined, failure: undefined }
  const send = resendingFetch(options, tracingFetch(options, trace))
  try {
    const paidFetch = wrapFetchWithPayment(send, payingClient(options, trace))
    const response = await paidFetch(options.url, options.init)
    return { kind: 'answered', response, challenge: trace.challenge, payment: trace.payment }
  } catch (cause) {
    if (trace.payment === undefined && trace.challenge !== undefined) {
      return { kind: 'unsigned', challenge: trace.challenge, cause: trace.failure ?? cause }
    }
    return { kind: 'unanswered', payment: trace.payment, cause }
  }
}

/** Seconds that an answer asks to wait, at least 1; undefined if it names none or a date. */
export function retryAfterSeconds(response: Response): number | undefined {
  const text = response.headers.get('retry-after')
  if (text === null || !/^\d{1,6}$/.test(text)) return undefined
  return Math.max(1, Number(text))
}

/**
 * `fetch` that resends a request with a payment header after a 502, a 504 or no answer, until the service knows or the limit
 * is reached; then it returns the last answer or throws the last failure. Other requests are sent once.
 */
function resendingFetch(
  options: PaidRequestOptions,
  send: typeof globalThis.fetch,
): typeof globalThis.fetch {
  async function attempt(request: Request): Promise<Response | Error> {
    try {
      return await send(request.clone())
    } catch (cause) {
      return new Error('no answer to a request that carries a payment', { cause })
    }
  }

  return async (input, init) => {
    const request = new Request(input, init)
    if (!request.headers.has(PAYMENT_HEADER)) return await send(request)
    const endsAtMs = options.clock.unixMs() + options.resendMs
    for (let count = 1; ; count += 1) {
      const result = await attempt(request)
      if (result instanceof Response && !OPEN_STATUSES.includes(result.status)) return result
      const retrySeconds = result instanceof Response ? retryAfterSeconds(result) : undefined
      const pauseMs = Math.min(retrySeconds ?? RETRY_AFTER_SECONDS, RETRY_AFTER_SECONDS_MAX) * 1_000
      if (options.clock.unixMs() + pauseMs > endsAtMs) {
        if (result instanceof Response) return result
        throw result
      }
      await (result instanceof Response ? result.body?.cancel() : undefined)
      await pause(options.clock, pauseMs)
      options.onResend?.(count)
    }
  }
}
