// One request through the official `@x402/fetch`, with what an agent must know about it afterwards: what was asked, and
// whether a payment was signed. The official client decides and signs; nothing of it is changed.
import type { Clock } from '@tallystick/x402'
import { canonicalTransactionId, HBAR_ASSET, readTransfer } from '@tallystick/x402/hedera'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import {
  type PaymentRequired,
  type PaymentRequirements,
  type SchemeNetworkClient,
  wrapFetchWithPayment,
  x402Client,
  x402HTTPClient,
} from '@x402/fetch'
import type { SignedPayment } from './access-outcome.ts'
import { createResendingFetch, PAYMENT_HEADER } from './resending-fetch.ts'

export type PaidRequestOptions = {
  readonly url: string
  readonly fetch: typeof globalThis.fetch
  readonly clock: Clock
  /** CAIP-2 network that this agent pays on, e.g. `hedera:testnet`; it never pays on another. */
  readonly network: `${string}:${string}`
  /** The payer's side of the scheme; without one nothing is signed. */
  readonly scheme: SchemeNetworkClient | undefined
  /** The most that this request may pay, tinybar; 0 signs nothing. */
  readonly maxPaymentTinybar: bigint
  readonly resendMs: number
  readonly requestMs: number
  readonly onResend?: ((attempt: number) => void) | undefined
}

export type PaidExchange =
  /** A challenge that the spend controls or the registered scheme refuse: nothing was signed. */
  | {
      readonly kind: 'unsigned'
      readonly challenge: PaymentRequired
      readonly cause: unknown
    }
  | {
      readonly kind: 'answered'
      readonly response: Response
      readonly payment: SignedPayment | undefined
    }
  /** No answer came. `payment` may have moved money. */
  | {
      readonly kind: 'unanswered'
      readonly payment: SignedPayment | undefined
      readonly cause: unknown
    }

/** The offer of a challenge that is paid in HBAR on that network, if it has one. */
export function hbarOffer(
  challenge: PaymentRequired,
  network: string,
): PaymentRequirements | undefined {
  return challenge.accepts.find(
    (offer) =>
      offer.scheme === 'exact' &&
      offer.network === network &&
      offer.asset === HBAR_ASSET &&
      /^\d{1,19}$/.test(offer.amount),
  )
}

type Trace = {
  challenge: PaymentRequired | undefined
  payment: SignedPayment | undefined
  /** What kept the scheme from signing: the official client tells only its message. */
  failure: unknown
}

/** What a payment header says; it was made by the scheme that this agent registered. */
function signedPayment(header: string): SignedPayment {
  const { accepted, payload } = decodePaymentSignatureHeader(header)
  const reading = readTransfer(Buffer.from(String(payload['transaction']), 'base64'))
  const transaction =
    reading.kind === 'transfer' ? canonicalTransactionId(reading.transfer.transactionId) : ''
  return { amountTinybar: BigInt(accepted.amount), payTo: accepted.payTo, transaction, header }
}

/** `fetch` with a time limit that notes the payment which passes through it. */
function tracingFetch(options: PaidRequestOptions, trace: Trace): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const header = request.headers.get(PAYMENT_HEADER)
    if (header !== null && trace.payment === undefined) {
      trace.payment = signedPayment(header)
    }
    return await options.fetch(request, { signal: AbortSignal.timeout(options.requestMs) })
  }
}

function payingClient(options: PaidRequestOptions, trace: Trace): x402HTTPClient {
  const client = new x402Client().setSpendControls({
    allowedAssets: [
      {
        network: options.network,
        asset: HBAR_ASSET,
        maxAmountPerPayment: options.maxPaymentTinybar.toString(),
      },
    ],
  })
  const { scheme } = options
  if (scheme !== undefined) {
    client.register(options.network, {
      scheme: scheme.scheme,
      async createPaymentPayload(version, requirements, context) {
        try {
          return await scheme.createPaymentPayload(version, requirements, context)
        } catch (error) {
          trace.failure = error
          throw error
        }
      },
    })
  }
  return new x402HTTPClient(client).onPaymentRequired(async ({ paymentRequired }) => {
    trace.challenge = paymentRequired
  })
}

/** Sends a GET, paying once if it is asked to and may. Never signs twice. */
export async function requestPaid(options: PaidRequestOptions): Promise<PaidExchange> {
  const trace: Trace = { challenge: undefined, payment: undefined, failure: undefined }
  const inner = createResendingFetch({
    fetch: tracingFetch(options, trace),
    clock: options.clock,
    resendMs: options.resendMs,
    onResend: options.onResend,
  })
  try {
    const paidFetch = wrapFetchWithPayment(inner, payingClient(options, trace))
    const response = await paidFetch(options.url, { headers: { accept: 'application/json' } })
    return { kind: 'answered', response, payment: trace.payment }
  } catch (cause) {
    if (trace.payment === undefined && trace.challenge !== undefined) {
      return { kind: 'unsigned', challenge: trace.challenge, cause: trace.failure ?? cause }
    }
    return { kind: 'unanswered', payment: trace.payment, cause }
  }
}
