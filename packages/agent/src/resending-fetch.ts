// Sends a paid request again, byte for byte, while the service cannot say what became of the payment (X9).
// The official `wrapFetchWithPayment` sends its payment once: at a 502 the caller would be left with money perhaps moved
// and, at the next 402, would sign a second payment. So the function that it is given as `fetch` is this one.
import type { Clock } from '@tallystick/x402'

/** Header that carries a signed payment (x402 v2). */
export const PAYMENT_HEADER = 'PAYMENT-SIGNATURE'

/** Pause where an answer names none: the service looks its payments up on the ledger every 10 s at most. */
const RETRY_AFTER_SECONDS = 2
/** A longer `Retry-After` is cut to this, so that the limit below bounds the wait. */
const RETRY_AFTER_SECONDS_MAX = 15

/** What the service, or a gateway that waited for it in vain, answers where the fate of the payment is open. */
const OPEN_STATUSES: readonly number[] = [502, 504]

export type ResendOptions = {
  readonly fetch: typeof globalThis.fetch
  readonly clock: Clock
  /** How long one payment is resent, milliseconds, from its first sending. */
  readonly resendMs: number
  /** Called before each resend. */
  readonly onResend?: ((attempt: number) => void) | undefined
}

/** Seconds that an answer asks to wait, at least 1; `undefined` where it names none or names it as a date. */
export function retryAfterSeconds(response: Response): number | undefined {
  const text = response.headers.get('retry-after')
  if (text === null || !/^\d{1,6}$/.test(text)) return undefined
  return Math.max(1, Number(text))
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve))
}

/**
 * `fetch` that resends a request with a payment header after a 502 or 504, or after no answer at all, until the service
 * knows or the limit is reached; then it gives the last answer, or throws the last failure. Other requests are sent once.
 */
export function createResendingFetch(options: ResendOptions): typeof globalThis.fetch {
  async function attempt(request: Request): Promise<Response | Error> {
    try {
      return await options.fetch(request.clone())
    } catch (cause) {
      return new Error('no answer to a request that carries a payment', { cause })
    }
  }

  return async (input, init) => {
    const request = new Request(input, init)
    if (!request.headers.has(PAYMENT_HEADER)) return await options.fetch(request)
    const endsAtMs = options.clock.unixMs() + options.resendMs
    for (let count = 1; ; count += 1) {
      const result = await attempt(request)
      if (result instanceof Response && !OPEN_STATUSES.includes(result.status)) return result
      const asked = result instanceof Response ? retryAfterSeconds(result) : undefined
      const pauseMs = Math.min(asked ?? RETRY_AFTER_SECONDS, RETRY_AFTER_SECONDS_MAX) * 1_000
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
