/** The port to facilitators, which submit payments to the ledger, and the client of one that speaks the standard HTTP API. */
import { z } from 'zod'
import { httpUrl } from '../bad-argument.ts'
import { type Clock, systemClock } from '../clock.ts'
import { fetchJson, type JsonCall } from '../http-json.ts'
import type { PaymentPayload, PaymentRequirement, Settlement } from '../payment.ts'
import { classifyRefusal } from './refusals.ts'

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
  /** It answered this, such as `status 401`. */
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

const refusesRequests = (status: number): boolean => REFUSES_REQUESTS.has(status)

/** An answer that says nothing about a payment. With a status of the client's fault, or 503, it turned the request away (X23). */
export function nonsense(name: string, cause: unknown, status = 200): FacilitatorUnavailable {
  const isAway = (status >= 400 && status < 500) || status === 503
  const turnedAway = isAway ? `status ${status}` : undefined
  return new FacilitatorUnavailable(`${name} answered nonsense`, { cause, turnedAway })
}

/** Longest wait for a settlement: consensus takes 3 s, and 24 s if a busy node is retried three times. */
const SETTLE_TIMEOUT_MS = 30_000

/** `/supported` is a static answer. */
const SUPPORTED_TIMEOUT_MS = 5_000

const settlementSchema = z.object({
  success: z.boolean(),
  // Some facilitators follow the text of the specification, which says `transactionId`.
  transaction: optionalText,
  transactionId: optionalText,
  network: z.string().optional(),
  payer: optionalText,
  amount: optionalText,
  errorReason: optionalText,
})

const supportedSchema = z.object({
  kinds: z.array(
    z.object({
      x402Version: z.number(),
      scheme: z.string(),
      network: z.string(),
      extra: z.record(z.string(), z.unknown()).nullish(),
    }),
  ),
})

const unsubmittedSchema = z.object({ error: z.unknown().refine(isNothingSubmitted) })

const NAME = 'the facilitator'

/**
 * The standard HTTP facilitator: `POST /settle` and `GET /supported`. A `success: false` passes through, even with status
 * 4xx. Anything that is not a settlement, and every 5xx, throws FacilitatorUnavailable; a 503 with a code from the closed
 * list means that nothing was submitted, and a 4xx or 503 without a settlement that the request was turned away.
 */
export function createHttpFacilitator(options: {
  /** Base address; `/settle` and `/supported` are below it. */
  readonly url: string
  readonly clock?: Clock | undefined
}): Facilitator {
  const { clock = systemClock } = options
  const base = httpUrl('url', options.url)
  return {
    async settle(paymentPayload, paymentRequirements) {
      const { json, status } = await ask(NAME, {
        clock,
        url: `${base}/settle`,
        timeoutMs: SETTLE_TIMEOUT_MS,
        body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements }),
      })
      const unsubmitted = unsubmittedSchema.safeParse(json)
      if (status === 503 && unsubmitted.success) {
        const message = `${NAME} could not submit: ${unsubmitted.data.error}`
        throw new FacilitatorUnavailable(message, { nothingSent: true })
      }
      const parsed = settlementSchema.safeParse(json)
      if (!parsed.success) throw nonsense(NAME, parsed.error, status)
      if (status >= 500) throw nonsense(NAME, `status ${status}`)
      const { transactionId, ...data } = parsed.data
      const transaction = data.transaction ?? transactionId ?? ''
      if (!data.success && refusesRequests(status)) {
        // Without a known reason, such as a blocked payer's, the status speaks of us and not of the payment.
        const isAboutPayment = classifyRefusal({ ...data, transaction }) !== 'unclear'
        if (transaction === '' && !isAboutPayment) throw nonsense(NAME, data.errorReason, status)
      }
      if (data.success && (transaction === '' || status >= 400)) {
        throw nonsense(NAME, 'a success without a transaction, or with an error status')
      }
      const { network = paymentRequirements.network } = data
      if (network !== paymentRequirements.network) throw nonsense(NAME, `settled on ${network}`)
      return { ...data, transaction, network }
    },
    async feePayers() {
      const call = { clock, url: `${base}/supported`, timeoutMs: SUPPORTED_TIMEOUT_MS }
      const { json, status } = await ask(NAME, call)
      const parsed = supportedSchema.safeParse(json)
      if (!parsed.success || status !== 200)
        throw nonsense(NAME, parsed.error ?? `status ${status}`)
      return readFeePayers(parsed.data)
    },
  }
}

/** `extra.feePayer` of each v2 `exact` kind; one network may be offered with several. */
function readFeePayers(data: z.infer<typeof supportedSchema>): Map<string, string[]> {
  const byNetwork = new Map<string, string[]>()
  for (const kind of data.kinds) {
    const feePayer = kind.extra?.['feePayer']
    if (kind.x402Version !== 2 || kind.scheme !== 'exact' || typeof feePayer !== 'string') continue
    byNetwork.set(kind.network, [...(byNetwork.get(kind.network) ?? []), feePayer])
  }
  return byNetwork
}

/** Why our facilitator could not submit a good payment: codes of its 503, sent only if nothing has left it. */
const NOTHING_SUBMITTED = [
  /** No node that the payment is addressed to was reachable, all were busy, or too many settlements are in flight. */
  'consensus_unavailable',
  /** The account that pays the fee or gas cannot. */
  'fee_payer_balance_too_low',
  /** The fee payer's account does not exist, is deleted, or has a key other than FEE_PAYER_KEY. */
  'fee_payer_unusable',
  /** An account, a balance or the gas needed could not be read. */
  'ledger_unavailable',
] as const

export type NothingSubmitted = (typeof NOTHING_SUBMITTED)[number]

/** Whether this `error` in a facilitator's 503 says that it submitted nothing (X8). */
export function isNothingSubmitted(error: unknown): error is NothingSubmitted {
  return typeof error === 'string' && (NOTHING_SUBMITTED as readonly string[]).includes(error)
}
