import { z } from 'zod'
import { fetchJson, type JsonCall } from '../http-json.ts'
import type { PaymentPayload, PaymentRequirement, Settlement } from '../payment.ts'

/** Submits payments to the ledger. */
export type Facilitator = {
  /** Submits once and waits for the receipt. Throws FacilitatorUnavailable, after which the outcome is unknown. */
  settle(payload: PaymentPayload, requirement: PaymentRequirement): Promise<Settlement>
  /** Fee payers by network, from `/supported`. Throws FacilitatorUnavailable. */
  feePayers(): Promise<ReadonlyMap<string, readonly string[]>>
}

/** A facilitator that may settle a payment. If it is not trusted, its success is checked on the ledger. */
export type FacilitatorRoute = {
  readonly facilitator: Pick<Facilitator, 'settle'>
  readonly isTrusted: boolean
  /** Set while no payment may be asked for that only it could settle (X23). */
  readonly turningAway?: TurningAway | undefined
}

/** A facilitator that turned the last settlements away. */
export type TurningAway = {
  /** What it answered, such as `status 401`. */
  readonly answer: string
  /** When payments for it are asked for again, Unix milliseconds. */
  readonly untilMs: number
}

/** Several facilitators as one: those that may settle a payment, in the order to ask them (X19). */
export type FacilitatorRoutes = {
  routesFor(requirement: PaymentRequirement): readonly FacilitatorRoute[]
}

/** The facilitator was unreachable or slow, answered 5xx, or answered nonsense. */
export class FacilitatorUnavailable extends Error {
  override readonly name = 'FacilitatorUnavailable'
  /** True only if the facilitator cannot have submitted the payment: no connection was open, or it says it did not. */
  readonly nothingSent: boolean
  /** How it turned the request itself away, such as `status 401`, if it did: without a word about the payment (X23). */
  readonly turnedAway: string | undefined

  constructor(
    message: string,
    options: {
      readonly cause?: unknown
      readonly nothingSent?: boolean
      readonly turnedAway?: string | undefined
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.nothingSent = options.nothingSent ?? false
    this.turnedAway = options.turnedAway
  }
}

/** A facilitator's optional text, which may be null. */
export const optionalText = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined)

/** A settlement is under 1 kB and a list of kinds a few kB; anything longer is nonsense. */
const ANSWER_BYTES_MAX = 65_536

/** Asks a facilitator: its JSON, whatever the status. Throws FacilitatorUnavailable naming the facilitator. */
export async function ask(
  name: string,
  call: Omit<JsonCall, 'bytesMax'>,
): Promise<{ readonly status: number; readonly json: unknown }> {
  const answer = await fetchJson({ ...call, bytesMax: ANSWER_BYTES_MAX })
  if (answer.kind === 'answered') return answer
  if (answer.kind === 'nonsense') throw nonsense(name, answer.cause, answer.status)
  const { cause, nothingSent } = answer
  throw new FacilitatorUnavailable(`${name} is unreachable`, { cause, nothingSent })
}

/**
 * Statuses that refuse a request whatever it carries: an unknown caller, path or method, or too many calls. Only a known reason
 * beside one is about the payment.
 */
const REFUSES_REQUESTS: ReadonlySet<number> = new Set([401, 403, 404, 405, 429])

export const refusesRequests = (status: number): boolean => REFUSES_REQUESTS.has(status)

/** An answer that says nothing about a payment. With a status of the client's fault, or 503, it turned the request away (X23). */
export function nonsense(name: string, cause: unknown, status = 200): FacilitatorUnavailable {
  const isAway = (status >= 400 && status < 500) || status === 503
  const turnedAway = isAway ? `status ${status}` : undefined
  return new FacilitatorUnavailable(`${name} answered nonsense`, { cause, turnedAway })
}
