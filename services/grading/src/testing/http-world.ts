/**
 * The application without a socket, over a memory store, with a gate that believes every payment: for rules that are about
 * HTTP alone. What money does is tested on a chain (grading-service.test.ts).
 */
import { createTokenKeys, mintToken, verifyToken } from '@tallystick/jwt-lite'
import { Registry, Secret, type ServiceApp } from '@tallystick/service-kit'
import {
  createMemoryReservationStore,
  createPaymentGate,
  type Facilitator,
  FacilitatorUnavailable,
  LedgerUnavailable,
  type PaymentScheme,
} from '@tallystick/x402'
import { X_LAYER_USDT0 } from '@tallystick/x402/evm'
import { buildGradingApp } from '../app.ts'
import { methodsAnswer } from '../methods-answer.ts'
import { saleTerms } from '../sale-terms.ts'
import { createTelemetry, observedGate, registerLedgerFigures } from '../telemetry.ts'
import { createGraderWorld, type GraderWorld } from './grader-world.ts'

export const BASE_URL = 'https://grading.example'
export const PAYER = '0x00000000000000000000000000000000000000aa'
export const METRICS_TOKEN = 'a token of 24 characters'
const KEYS = createTokenKeys([Buffer.from('a token secret of the tests, 32 bytes and more')])

export type HttpWorld = GraderWorld & {
  readonly app: ServiceApp
  readonly registry: Registry
  /** Settlements that reached the facilitator. */
  settlements: number
  facilitator: 'up' | 'unreachable' | 'refusing'
  isChainDown: boolean
  isTokenWrong: boolean
  /** A payment for a price in cents, as a header; the same number is the same payment. */
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

function fakeScheme(world: { readonly isChainDown: boolean }): PaymentScheme {
  return {
    scheme: 'exact',
    networks: [X_LAYER_USDT0.network],
    async verify(payload, requirement) {
      if (world.isChainDown) throw new LedgerUnavailable('down')
      return { kind: 'valid', payment: verified(payload, requirement) }
    },
    find: async () => ({ kind: 'never' }),
  }
}

function fakeFacilitator(
  world: Pick<HttpWorld, 'facilitator'> & { settlements: number },
): Facilitator {
  return {
    async settle(payload, { network }) {
      if (world.facilitator === 'unreachable')
        throw new FacilitatorUnavailable('down', { nothingSent: true })
      if (world.facilitator === 'refusing')
        return { success: false, transaction: '', network, errorReason: 'invalid_amount' }
      world.settlements += 1
      const { number } = payload.payload as { readonly number: number }
      return { success: true, transaction: `0x${number}`, network, payer: PAYER }
    },
    feePayers: async () => new Map(),
  }
}

/** Makes the application; close `app` after use. */
export async function createHttpWorld(): Promise<HttpWorld> {
  const graderWorld = createGraderWorld()
  const { clock, grader, store } = graderWorld
  const registry = new Registry()
  const telemetry = createTelemetry(registry)
  registerLedgerFigures(registry, () => store.counts())
  const terms = saleTerms({
    asset: X_LAYER_USDT0,
    payTo: '0x00000000000000000000000000000000000000bb',
    baseUrl: BASE_URL,
  })
  const state = {
    settlements: 0,
    facilitator: 'up' as HttpWorld['facilitator'],
    isChainDown: false,
    isTokenWrong: false,
  }
  const gate = createPaymentGate({
    schemes: [fakeScheme(state)],
    facilitator: fakeFacilitator(state),
    reservations: createMemoryReservationStore({ clock }),
    clock,
    observe: telemetry.gate,
  })
  const app = await buildGradingApp({
    grader,
    store,
    gate: observedGate(gate, telemetry.outcome),
    termsOf: (kind) => (state.isTokenWrong ? undefined : terms[kind]),
    report: telemetry.sold,
    reportUpload: telemetry.uploaded,
    methods: methodsAnswer(),
    verifyToken: (token) =>
      verifyToken(token, { keys: KEYS, audience: BASE_URL, nowSeconds: clock.unixMs() / 1_000 }),
    clock,
    registry,
    metricsToken: new Secret(METRICS_TOKEN),
  })
  return Object.assign(state, graderWorld, {
    app,
    registry,
    payment(cents: 1 | 20, number: number, payer: string = PAYER) {
      const { requirements, resource } = terms[cents === 1 ? 'grade' : 'audit']
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
