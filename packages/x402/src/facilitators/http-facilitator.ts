import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { fetchJson, type JsonAnswer } from '../http-json.ts'
import type { Settlement } from '../payment.ts'
import { type Facilitator, FacilitatorUnavailable } from './facilitator.ts'

export type HttpFacilitatorOptions = {
  /** Base address; `/settle` and `/supported` are below it. */
  readonly url: string
  readonly clock: Clock
}

/** Longest wait for a settlement: consensus takes 3 s, a busy node retried three times 24 s. */
const SETTLE_TIMEOUT_MS = 30_000

/** `/supported` is a static answer. */
const SUPPORTED_TIMEOUT_MS = 5_000

/** A settlement is under 1 kB and a list of kinds a few; more than this is nonsense. */
const ANSWER_BYTES_MAX = 65_536

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined)
const settlementSchema = z.object({
  success: z.boolean(),
  // Some facilitators follow the specification's text, which calls it `transactionId`.
  transaction: text,
  transactionId: text,
  network: z.string().optional(),
  payer: text,
  amount: text,
  errorReason: text,
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

/**
 * The standard HTTP facilitator: `POST /settle` and `GET /supported`. A `success: false` comes through, also with
 * status 4xx; everything that is no settlement throws FacilitatorUnavailable, and so does every 5xx.
 */
export function createHttpFacilitator(options: HttpFacilitatorOptions): Facilitator {
  const { clock } = options
  const base = options.url.replace(/\/+$/, '')
  const common = { clock, bytesMax: ANSWER_BYTES_MAX }
  return {
    async settle(paymentPayload, paymentRequirements) {
      const answer = await fetchJson({
        ...common,
        url: `${base}/settle`,
        timeoutMs: SETTLE_TIMEOUT_MS,
        body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements }),
      })
      const json = jsonOf(answer, 'settle')
      const parsed = settlementSchema.safeParse(json)
      const isServerError = answer.kind === 'answered' && answer.status >= 500
      if (!parsed.success || isServerError) throw nonsense(answer, parsed.error)
      const settlement = toSettlement(parsed.data, paymentRequirements.network)
      const isRefusalStatus = answer.kind === 'answered' && answer.status >= 400
      if (settlement.success && (settlement.transaction === '' || isRefusalStatus)) {
        throw nonsense(answer, 'a success without a transaction, or with an error status')
      }
      if (settlement.network !== paymentRequirements.network) {
        throw nonsense(answer, `settled on ${settlement.network}`)
      }
      return settlement
    },
    async feePayers() {
      const answer = await fetchJson({
        ...common,
        url: `${base}/supported`,
        timeoutMs: SUPPORTED_TIMEOUT_MS,
      })
      const parsed = supportedSchema.safeParse(jsonOf(answer, 'supported'))
      if (!parsed.success || (answer.kind === 'answered' && answer.status !== 200)) {
        throw nonsense(answer, parsed.error)
      }
      return feePayersOf(parsed.data)
    },
  }
}

function jsonOf(answer: JsonAnswer, call: string): unknown {
  if (answer.kind === 'answered') return answer.json
  if (answer.kind === 'nonsense') throw nonsense(answer, answer.cause)
  const { cause, nothingSent } = answer
  throw new FacilitatorUnavailable(`facilitator unreachable at ${call}`, { cause, nothingSent })
}

function nonsense(answer: JsonAnswer, cause: unknown): FacilitatorUnavailable {
  const status = answer.kind === 'unreachable' ? undefined : answer.status
  return new FacilitatorUnavailable(`facilitator answered nonsense, status ${status}`, { cause })
}

function toSettlement(
  { transactionId, ...data }: z.infer<typeof settlementSchema>,
  network: string,
): Settlement {
  const transaction = data.transaction ?? transactionId ?? ''
  return { ...data, transaction, network: data.network ?? network }
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
