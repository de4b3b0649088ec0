import { z } from 'zod'
import type { Clock } from '../clock.ts'
import {
  ask,
  type Facilitator,
  FacilitatorUnavailable,
  nonsense,
  optionalText,
  refusesRequests,
} from './facilitator.ts'
import { classifyRefusal, isNothingSubmitted } from './refusals.ts'

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
  readonly clock: Clock
}): Facilitator {
  const { clock } = options
  const base = options.url.replace(/\/+$/, '')
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
      return feePayersOf(parsed.data)
    },
  }
}

/** `extra.feePayer` of each v2 `exact` kind; one network may be offered with several. */
function feePayersOf(data: z.infer<typeof supportedSchema>): Map<string, string[]> {
  const byNetwork = new Map<string, string[]>()
  for (const kind of data.kinds) {
    const feePayer = kind.extra?.['feePayer']
    if (kind.x402Version !== 2 || kind.scheme !== 'exact' || typeof feePayer !== 'string') continue
    byNetwork.set(kind.network, [...(byNetwork.get(kind.network) ?? []), feePayer])
  }
  return byNetwork
}
