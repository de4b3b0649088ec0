/**
 * OKX's facilitator for X Layer: the standard bodies inside a signed envelope. The OK-ACCESS headers of each call sign
 * its time, method, path and body. A `pending` or `timeout` settlement is not settled: it is polled until a deadline,
 * then left to the ledger.
 */
import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { httpUrl } from '../bad-argument.ts'
import { type Clock, pause, systemClock } from '../clock.ts'
import type { Settlement } from '../payment.ts'
import {
  ask,
  type Facilitator,
  FacilitatorUnavailable,
  nonsense,
  optionalText,
} from './facilitator.ts'

const NAME = 'OKX'
/** Origin of OKX's facilitator. */
export const OKX_URL = 'https://web3.okx.com'
/** Path below it; also signed. */
const PATH = '/api/v6/pay/x402'

/** `syncSettle` waits for the block, which takes a few seconds. */
const CALL_TIMEOUT_MS = 15_000

/**
 * Longest wait for a pending settlement, from the settle call on. Below a gate's 45 s, to leave time to ask the ledger.
 */
const SETTLE_DEADLINE_MS = 25_000

/** Between two polls of a pending settlement: X Layer makes a block every second. */
const POLL_MS = 1_000

/**
 * Whether OKX stopped before the payment: it refused the credentials, signature or time (501xx), a parameter (50014, 51000)
 * or the rate of calls (50011), per web3.okx.com/onchainos/dev-docs/market/payment-error-handling. A `50026` is OKX's own
 * failure and leaves the outcome open.
 */
const isUnread = (code: string): boolean => /^(?:501(?:0\d|1[0-3])|5001[14]|51000)$/.test(code)

const envelope = z.object({
  code: z.union([z.string(), z.number()]).transform(String),
  msg: z.string().nullish(),
  data: z.unknown(),
})
const settlement = z.object({
  success: z.boolean(),
  status: optionalText,
  transaction: optionalText,
  txHash: optionalText,
  network: z.union([z.string(), z.number()]).nullish(),
  payer: optionalText,
  amount: optionalText,
  errorReason: optionalText,
})
const supported = z.object({ kinds: z.array(z.looseObject({ network: z.unknown() })) })

type OkxSettlement = z.output<typeof settlement>

/**
 * OKX as a facilitator. A payment that OKX did not read is FacilitatorUnavailable with `nothingSent`; every other failure
 * leaves the outcome open.
 */
export function createOkxFacilitator(options: {
  /** Origin of the API. */
  readonly url?: string
  readonly apiKey: string
  readonly passphrase: string
  /** Used to sign; never sent. */
  readonly secretKey: string
  readonly clock?: Clock | undefined
}): Facilitator {
  const { clock = systemClock } = options
  const askSigned = signedAsk(options)
  return {
    async settle(paymentPayload, paymentRequirements) {
      const { network } = paymentRequirements
      const deadlineMs = clock.unixMs() + SETTLE_DEADLINE_MS
      const request = { x402Version: 2, paymentPayload, paymentRequirements, syncSettle: true }
      const answer = readSettlement(await askSigned('/settle', JSON.stringify(request)), network)
      let latest = answer
      while (isUnfinished(latest) && clock.unixMs() + POLL_MS <= deadlineMs) {
        const transaction = findHash(answer) || findHash(latest)
        if (transaction === '') break
        await pause(clock, POLL_MS)
        const path = `/settle/status?txHash=${encodeURIComponent(transaction)}`
        // A failed poll is repeated: the settlement proceeds without us.
        const polled = await askSigned(path)
          .then((json) => readSettlement(json, network))
          .catch(() => undefined)
        if (polled !== undefined) latest = polled
      }
      return toSettlement(latest, { network, transaction: findHash(latest) || findHash(answer) })
    },
    async feePayers() {
      const parsed = supported.safeParse(await askSigned('/supported'))
      if (!parsed.success) throw nonsense(NAME, parsed.error)
      // A payer need not know who pays the gas for an EVM payment.
      return new Map()
    },
  }
}

function signedAsk(options: Parameters<typeof createOkxFacilitator>[0]) {
  const { apiKey, clock = systemClock, passphrase, secretKey } = options
  const base = httpUrl('url', options.url ?? OKX_URL)
  return async (path: string, body?: string): Promise<unknown> => {
    const timestamp = new Date(clock.unixMs()).toISOString()
    const method = body === undefined ? 'GET' : 'POST'
    const signed = `${timestamp}${method}${PATH}${path}${body ?? ''}`
    const { json, status } = await ask(NAME, {
      url: `${base}${PATH}${path}`,
      clock,
      timeoutMs: CALL_TIMEOUT_MS,
      body,
      headers: {
        'OK-ACCESS-KEY': apiKey,
        'OK-ACCESS-PASSPHRASE': passphrase,
        'OK-ACCESS-TIMESTAMP': timestamp,
        'OK-ACCESS-SIGN': createHmac('sha256', secretKey).update(signed).digest('base64'),
      },
    })
    return unwrap(json, status)
  }
}

/** The envelope's content, or the answer itself if it has none. Throws for a code other than 0. */
function unwrap(json: unknown, status: number): unknown {
  const wrapped = envelope.safeParse(json)
  if (wrapped.success && wrapped.data.code !== '0') {
    const { code, msg } = wrapped.data
    const nothingSent = isUnread(code)
    const turnedAway = nothingSent ? `code ${code}` : undefined
    const options = { cause: msg, nothingSent, turnedAway }
    throw new FacilitatorUnavailable(`${NAME} answered code ${code}`, options)
  }
  const isSettlement = settlement.safeParse(json).success
  if (status >= 500 || (status >= 400 && !isSettlement))
    throw nonsense(NAME, `status ${status}`, isSettlement ? undefined : status)
  if (!wrapped.success) return json
  // Some of its endpoints answer with lists of one.
  const { data } = wrapped.data
  return Array.isArray(data) && data.length === 1 ? data[0] : data
}

function readSettlement(json: unknown, network: string): OkxSettlement {
  const parsed = settlement.safeParse(json)
  if (!parsed.success) throw nonsense(NAME, parsed.error)
  const named = parsed.data.network
  if (named !== null && named !== undefined && String(named) !== '') {
    const caip = /^\d+$/.test(String(named)) ? `eip155:${named}` : String(named)
    if (caip !== network) throw nonsense(NAME, `settled on ${caip}`)
  }
  return parsed.data
}

function isUnfinished({ status }: OkxSettlement): boolean {
  return status === 'pending' || status === 'timeout'
}

function findHash({ transaction, txHash }: OkxSettlement): string {
  return transaction || txHash || ''
}

function toSettlement(
  answer: OkxSettlement,
  known: { readonly network: string; readonly transaction: string },
): Settlement {
  const isSettled = answer.success && !isUnfinished(answer)
  if (isSettled && known.transaction === '') throw nonsense(NAME, 'a success without a hash')
  const errorReason = isUnfinished(answer) ? 'settlement_pending' : answer.errorReason
  return {
    success: isSettled,
    ...known,
    payer: answer.payer,
    amount: answer.amount,
    errorReason: isSettled ? undefined : errorReason,
  }
}
