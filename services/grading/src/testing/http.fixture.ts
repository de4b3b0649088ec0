/**
 * The application without a socket, over a memory store, with a gate that accepts every payment, for rules about HTTP
 * alone. Money is tested on a chain (grading-service.test.ts).
 */
import { createTokenKeys, mintToken, verifyToken } from '@tallystick/jwt-lite'
import { Registry, Secret, type ServiceApp } from '@tallystick/service-kit'
import {
  createMemoryReservationStore,
  createPaymentGate,
  createReceiptIssuer,
  type Facilitator,
  FacilitatorUnavailable,
  LedgerUnavailable,
  type PaymentScheme,
} from '@tallystick/x402'
import { X_LAYER_USDT0 } from '@tallystick/x402/evm'
import { expect } from 'vitest'
import { createGradingApp } from '../app.ts'
import { oneAuditPerPayer } from '../domain/grading/long-work.ts'
import { createLongWork } from '../long-work/do-long-work.ts'
import { saleTerms } from '../routes/sale-terms.ts'
import { createTelemetry, observedGate } from '../telemetry.ts'
import { gradeExample, uploadExample } from '../wire/examples.ts'
import { createGraderFixture, type GraderFixture } from './grader.fixture.ts'

const BASE_URL = 'https://grading.example'
export const PAYER = '0x00000000000000000000000000000000000000aa'
export const METRICS_TOKEN = 'a token of 24 characters'
const KEYS = createTokenKeys([Buffer.from('a token secret of the tests, 32 bytes and more')])

const PAY_TO = '0x00000000000000000000000000000000000000bb'
const RECEIPT_SEED = '07'.repeat(32)

const PAGES = { baseUrl: BASE_URL, asset: X_LAYER_USDT0 }

export type HttpFixture = GraderFixture & {
  readonly app: ServiceApp
  readonly registry: Registry
  /** Settlements that reached the facilitator. */
  settlements: number
  facilitator: 'up' | 'unreachable' | 'refusing'
  isChainDown: boolean
  isTokenWrong: boolean
  /** What the service reads as its thread's CPU time. */
  cpuMs: () => number
  /** A payment of a price in cents, as a header; equal numbers are the same payment. */
  payment(cents: 1 | 20, number: number, payer?: string): Record<string, string>
  token(over?: {
    readonly scope?: string
    readonly audience?: string
    readonly typ?: string
  }): string
}

const verified = (payload: unknown, requirement: Parameters<PaymentScheme['verify']>[1]) => {
  const { number, payer } = payload as { readonly number: number; readonly payer: string }
  return {
    id: `${requirement.network}/${number}`,
    network: requirement.network,
    asset: requirement.asset,
    amount: BigInt(requirement.amount),
    payTo: requirement.payTo,
    payer,
    payerEvmAddress: payer,
    nonce: String(number),
    memo: '',
    validFromSeconds: 0,
    validUntilSeconds: 9_999_999_999,
  }
}

function fakeScheme(fixture: { readonly isChainDown: boolean }): PaymentScheme {
  return {
    scheme: 'exact',
    networks: [X_LAYER_USDT0.network],
    async verify(payload, requirement) {
      if (fixture.isChainDown) throw new LedgerUnavailable('down')
      return { kind: 'valid', payment: verified(payload, requirement) }
    },
    find: async () => ({ kind: 'never' }),
  }
}

function fakeFacilitator(
  fixture: Pick<HttpFixture, 'facilitator'> & { settlements: number },
): Facilitator {
  return {
    async settle(payload, { network }) {
      if (fixture.facilitator === 'unreachable')
        throw new FacilitatorUnavailable('down', { nothingSent: true })
      if (fixture.facilitator === 'refusing')
        return { success: false, transaction: '', network, errorReason: 'invalid_amount' }
      fixture.settlements += 1
      const { number } = payload.payload as { readonly number: number }
      return { success: true, transaction: `0x${number}`, network, payer: PAYER }
    },
    feePayers: async () => new Map(),
  }
}

/** What the facilitators' directory says while they answer. */
const ANSWERING = {
  firstAttempt: Promise.resolve(),
  state: () => ({ readAtMs: 0, failure: undefined }),
}

/** Long work on the test's own thread; long-worker.test.ts has the other. */
const ownThread = (parts: Parameters<typeof createLongWork>[0]) =>
  oneAuditPerPayer(createLongWork(parts))

/** Builds the application; close `app` after use. */
export async function createHttpFixture(): Promise<HttpFixture> {
  const graderFixture = createGraderFixture()
  const { clock, grader, store } = graderFixture
  const registry = new Registry()
  const telemetry = createTelemetry(registry)
  telemetry.measure(() => store.counts())
  const terms = saleTerms({ asset: X_LAYER_USDT0, payTo: PAY_TO, baseUrl: BASE_URL })
  const state = {
    settlements: 0,
    facilitator: 'up' as HttpFixture['facilitator'],
    isChainDown: false,
    isTokenWrong: false,
    cpuMs: () => 0,
  }
  const receipts = createReceiptIssuer({ baseUrl: BASE_URL, privateKey: RECEIPT_SEED, clock })
  const gate = createPaymentGate({
    schemes: [fakeScheme(state)],
    receipts,
    facilitator: fakeFacilitator(state),
    reservations: createMemoryReservationStore({ clock }),
    clock,
    observe: telemetry.gate,
  })
  const app = await createGradingApp({
    grader,
    longWork: ownThread({ slates: grader, store, cpuMs: () => state.cpuMs() }),
    store,
    writeTrouble: async () => undefined,
    gate: observedGate(gate, telemetry.outcome),
    findTerms: (kind, door) => (state.isTokenWrong ? undefined : terms[door][kind]),
    didDocument: receipts.didDocument,
    report: telemetry.sold,
    reportUpload: telemetry.uploaded,
    verifyToken: (token) =>
      verifyToken(token, { keys: KEYS, audience: BASE_URL, nowSeconds: clock.unixMs() / 1_000 }),
    clock,
    cpuMs: () => state.cpuMs(),
    registry,
    metricsToken: new Secret(METRICS_TOKEN),
    facilitators: ANSWERING,
    token: { check: async () => ({ kind: state.isTokenWrong ? 'wrong_domain' : 'right' }) },
    pages: PAGES,
  })
  return Object.assign(state, graderFixture, {
    app,
    registry,
    payment(cents: 1 | 20, number: number, payer: string = PAYER) {
      const { requirements, resource } = terms.http[cents === 1 ? 'grade' : 'audit']
      const envelope = {
        x402Version: 2,
        payload: { number, payer },
        accepted: requirements[0],
        resource,
      }
      const text = Buffer.from(JSON.stringify(envelope)).toString('base64')
      return { 'payment-signature': text }
    },
    token: ({ scope = 'grading.write', audience = BASE_URL, typ = 'grading+jwt' } = {}) =>
      mintToken({
        sub: 'operator',
        scope,
        audience,
        typ,
        lifetimeSeconds: 600,
        key: KEYS,
        nowSeconds: clock.unixMs() / 1_000,
        jti: 'test',
      }),
  })
}

type SaleKind = 'grade' | 'audit'

/** One call to a paid route. */
export type Sent = {
  readonly payload?: string | object
  readonly headers?: Record<string, string>
}

/** The literal error of an answer. */
export const readError = (answer: { json(): { error?: string } }) => answer.json().error

/** The example of a grade with another pick. */
export const withPick = (change: object) => ({ pick: { ...gradeExample.pick, ...change } })

/** Wraps the fixture of a test file, which exists once its tests run. */
export function httpCalls(fixture: () => HttpFixture) {
  let payments = 0
  const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
    fixture().app.inject({ method: 'POST', url, payload, headers })
  const send = (kind: SaleKind, { payload, headers }: Sent) =>
    fixture().app.inject({
      method: 'POST',
      url: `/api/${kind}`,
      headers: headers ?? {},
      ...(payload === undefined ? {} : { payload }),
    })
  /** An unsent payment of the price. */
  const newPayment = (kind: SaleKind): Record<string, string> => {
    payments += 1
    return fixture().payment(kind === 'grade' ? 1 : 20, payments)
  }
  return {
    post,
    send,
    newPayment,
    /** Buys a grade with the payment with that number. */
    buy: (number: number, payload: object = gradeExample) =>
      post('/api/grade', payload, fixture().payment(1, number)),
    upload: (payload: object = uploadExample, token = fixture().token()) =>
      post('/api/ingest', payload, { authorization: `Bearer ${token}` }),
    /** Sends a request without and with a payment: the answers are equal, and nothing is settled. */
    refused: async (kind: SaleKind, sent: Sent) => {
      const before = fixture().settlements
      const unpaid = await send(kind, sent)
      const paid = await send(kind, { ...sent, headers: { ...sent.headers, ...newPayment(kind) } })
      expect([paid.statusCode, paid.body]).toEqual([unpaid.statusCode, unpaid.body])
      expect(unpaid.headers['payment-required']).toBeUndefined()
      expect(paid.headers['payment-response']).toBeUndefined()
      expect(unpaid.headers['cache-control']).toBe('no-store')
      expect(fixture().settlements).toBe(before)
      return { status: unpaid.statusCode, body: unpaid.json() }
    },
  }
}
