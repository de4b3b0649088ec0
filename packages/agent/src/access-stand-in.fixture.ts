// A stand-in for the access service: it speaks access.md over real HTTP and answers what a test tells it to, one answer
// per request to `/access`. It records what it was sent.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Clock, signInChallenge } from '@tallystick/x402'
import { canonicalTransactionId, readTransfer } from '@tallystick/x402/hedera'
import { decodePaymentSignatureHeader } from '@x402/core/http'

export const CONTRACT = `0x${'c0'.repeat(20)}`
export const PRICE_TINYBAR = 1_200_000_000n
const SCHEDULE = `0x${'0'.repeat(34)}9f9174`

/** In a `PAYMENT-RESPONSE`: the transaction of the payment that the request carries. */
const PAID_HERE = 'the payment of this request'

/** What `/access` answers to one request; `hang-up` closes the connection without an answer, `hang` keeps it. */
export type Answer =
  | {
      readonly status: number
      readonly body: unknown
      readonly headers?: Readonly<Record<string, string>>
    }
  | 'hang-up'
  | 'hang'

export type StandIn = {
  readonly baseUrl: string
  /** Payment headers that `/access` got, in order; undefined for a request without one. */
  readonly payments: readonly (string | undefined)[]
  /** Proof and bearer token that `/access` got, in order. */
  readonly sessions: readonly { readonly proof?: string; readonly token?: string }[]
  /** Query strings of every request. */
  readonly urls: readonly string[]
  /** What `/.well-known/did.json` answers. */
  didDocument: unknown
  /** The next answers of `/access`, or functions that make them; the last one repeats. */
  script(...answers: readonly (Answer | (() => Answer))[]): void
  stop(): Promise<void>
}

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

/** A 402 with a challenge in body and header (X2, X3). */
export function challenge(
  change: Readonly<Record<string, unknown>> = {},
  error = 'payment_required',
): Answer {
  const body = {
    x402Version: 2,
    error,
    resource: {
      url: 'http://access.test/api/svc/access',
      description: '4 windows',
      mimeType: 'application/json',
    },
    accepts: [
      {
        scheme: 'exact',
        network: 'hedera:testnet',
        amount: PRICE_TINYBAR.toString(),
        asset: '0.0.0',
        payTo: '0.0.1002',
        maxTimeoutSeconds: 180,
        extra: { feePayer: '0.0.1003', paymentFlow: 'upfront' },
        price: { asset: '0.0.0', amount: PRICE_TINYBAR.toString() },
        ...change,
      },
    ],
  }
  return { status: 402, body, headers: { 'payment-required': base64(body) } }
}

/** A 402 that asks for a proof of the key behind an agent, as the service at `baseUrl` sends it. */
export function proofWanted(baseUrl: string, error = 'sign_in_required'): Answer {
  const url = `${baseUrl}/api/svc/access`
  const { body, headers } = signInChallenge({
    error,
    resource: { url, description: '4 windows', mimeType: 'application/json' },
    statement: 'Prove that you hold the key of this agent.',
    chainId: 'eip155:296',
    issuedAtMs: Date.now(),
    serial: 1,
    makeNonce: () => 'a1b2c3d4e5f67890',
  })
  return { status: 402, body: JSON.parse(body), headers }
}

/** The body of a 200 of `/access`. */
export function grantedBody(isPaid: boolean) {
  return {
    access: 'granted',
    paidThisRequest: isPaid,
    subscription: {
      expiresAt: 1_763_600_020,
      secondsRemaining: 20,
      periodSeconds: 20,
      balanceTinybar: '900000000',
      active: true,
      nextRenewalSchedule: SCHEDULE,
    },
    metering: { callsRemainingThisPeriod: 19, recordedOnChain: `0x${'ab'.repeat(32)}` },
    resource: { hbarUsd: 0.08 },
  }
}

/** A 200 of `/access`. */
export function granted(isPaid: boolean): Answer {
  const settlement = {
    success: true,
    transaction: PAID_HERE,
    network: 'hedera:testnet',
    payer: '0.0.1004',
  }
  return {
    status: 200,
    body: grantedBody(isPaid),
    ...(isPaid ? { headers: { 'payment-response': base64(settlement) } } : {}),
  }
}

/** An error answer, with `Retry-After` if seconds are given. */
export function failed(status: number, error: string, retryAfter?: number): Answer {
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  return { status, body: { error }, headers }
}

/** A 200 of `/status`. */
export function statusBody(change: Readonly<Record<string, unknown>> = {}) {
  return {
    agent: `0x${'a1'.repeat(20)}`,
    contract: CONTRACT,
    hasAccess: true,
    expiresAt: 1_763_600_020,
    secondsRemaining: 12,
    periodSeconds: 20,
    pricePerPeriodTinybar: '300000000',
    balanceTinybar: '900000000',
    periodsFunded: 3,
    active: true,
    nextRenewalSchedule: SCHEDULE,
    renewalsReserveCanArm: 7,
    usage: { callsUsed: 3, callsAllowed: 20, callsRemaining: 17, resetsAt: 1_763_600_020 },
    ended: null as unknown,
    unavailable: [],
    now: 1_763_600_008,
    ...change,
  }
}

/** The part of a status that says why access has ended (A27). */
export const endedBody = {
  why: 'spent',
  since: 1_763_600_020,
  sentence: 'Spent: since 2025-11-20T00:53:40Z the balance pays for no period.',
  purchase: { amountTinybar: '1200000000', amountHbar: '12', periods: 4, until: 1_763_600_120 },
} as const

/** A settlement of the payment that was sent, unless the test names another. */
function settledHere(header: string, payment: string | undefined): string {
  const text = Buffer.from(header, 'base64').toString()
  if (payment === undefined || !text.includes(PAID_HERE)) return header
  return Buffer.from(text.replace(PAID_HERE, readTransaction(payment))).toString('base64')
}

function send(response: ServerResponse, answer: Answer, payment?: string): void {
  if (answer === 'hang') return
  if (answer === 'hang-up') {
    response.socket?.destroy()
    return
  }
  const { 'payment-response': settled, ...headers } = answer.headers ?? {}
  response.writeHead(answer.status, {
    'content-type': 'application/json',
    ...headers,
    ...(settled !== undefined && { 'payment-response': settledHere(settled, payment) }),
  })
  response.end(JSON.stringify(answer.body))
}

/** Starts on a free port. */
export async function startStandIn(): Promise<StandIn> {
  const payments: (string | undefined)[] = []
  const sessions: { proof?: string; token?: string }[] = []
  const urls: string[] = []
  let script: (Answer | (() => Answer))[] = [challenge()]
  const server = createServer((request: IncomingMessage, response) => {
    urls.push(request.url ?? '')
    if (request.url?.startsWith('/api/svc/status') === true) {
      send(response, { status: 200, body: statusBody() })
      return
    }
    if (request.url === '/.well-known/did.json') {
      send(response, { status: 200, body: standIn.didDocument })
      return
    }
    const header = request.headers['payment-signature']
    payments.push(typeof header === 'string' ? header : undefined)
    const { authorization: token } = request.headers
    const proof = request.headers['sign-in-with-x']?.toString()
    sessions.push({ ...(proof && { proof }), ...(token && { token }) })
    const [answer] = script
    if (script.length > 1) script = script.slice(1)
    send(
      response,
      typeof answer === 'function' ? answer() : (answer ?? 'hang-up'),
      header?.toString(),
    )
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const standIn: StandIn = {
    baseUrl: `http://127.0.0.1:${port}`,
    didDocument: {},
    payments,
    sessions,
    urls,
    script: (...answers) => {
      script = [...answers]
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return standIn
}

/** What a payment header signs. Throws if that is not a transfer. */
export function signedTransfer(header: string | undefined) {
  if (header === undefined) throw new Error('there is no payment header')
  const { payload } = decodePaymentSignatureHeader(header)
  const reading = readTransfer(Buffer.from(String(payload['transaction']), 'base64'))
  if (reading.kind !== 'transfer') throw new Error(`no transfer: ${reading.kind}`)
  return reading.transfer
}

/** The id of the transfer that a payment header signs. */
export function readTransaction(header: string | undefined): string {
  return canonicalTransactionId(signedTransfer(header).transactionId)
}

/** A clock in which every wait is over at once; `waitsMs` records the waits. */
export function hurriedClock(): Clock & { readonly waitsMs: number[] } {
  let nowMs = Date.now()
  const waitsMs: number[] = []
  return {
    waitsMs,
    unixMs: () => nowMs,
    after(ms, run) {
      waitsMs.push(ms)
      nowMs += ms
      const handle = setImmediate(run)
      return () => clearImmediate(handle)
    },
  }
}
