/** The official resource server and facilitator, unmodified, with our scheme over the stand-in's ledger. */
import { x402Facilitator } from '@x402/core/facilitator'
import {
  type HTTPAdapter,
  type HTTPProcessResult,
  x402HTTPResourceServer,
  x402ResourceServer,
} from '@x402/core/server'
import type { SchemeNetworkFacilitator, SettleResponse } from '@x402/core/types'
import { ExactHederaServer } from '../schemes/hedera/exact-hedera-scheme.ts'
import { verifyHederaPayment } from '../schemes/hedera/verify-hedera-payment.ts'
import { FEE_PAYER, HederaStandIn, NETWORK, PAY_TO } from './hedera-stand-in.fixture.ts'

/** Settles through the stand-in; the real facilitator is a separate package. */
class StandInFacilitator implements SchemeNetworkFacilitator {
  readonly scheme = 'exact'
  readonly caipFamily = 'hedera:*'
  readonly #ledger: HederaStandIn

  constructor(ledger: HederaStandIn) {
    this.#ledger = ledger
  }

  getExtra(): { feePayer: string } {
    return { feePayer: FEE_PAYER }
  }

  getSigners(): string[] {
    return [FEE_PAYER]
  }

  async verify(...[payload, requirements]: Parameters<SchemeNetworkFacilitator['verify']>) {
    const context = { accounts: this.#ledger.directory, nowSeconds: this.#ledger.nowSeconds() }
    const wanted = { ...requirements, scheme: 'exact' } as const
    const verified = await verifyHederaPayment(payload.payload, wanted, context)
    return verified.kind === 'valid'
      ? { isValid: true, payer: verified.payment.payer }
      : { isValid: false, invalidReason: verified.kind }
  }

  async settle(
    ...[payload, requirements]: Parameters<SchemeNetworkFacilitator['settle']>
  ): Promise<SettleResponse> {
    const wanted = { ...requirements, scheme: 'exact' } as const
    const settlement = await this.#ledger.facilitator.settle(
      { x402Version: 2, payload: payload.payload, accepted: wanted },
      wanted,
    )
    return { ...settlement, network: NETWORK } as SettleResponse
  }
}

export async function officialServer(ledger: HederaStandIn): Promise<x402HTTPResourceServer> {
  const facilitator = new x402Facilitator().register(NETWORK, new StandInFacilitator(ledger))
  const resourceServer = new x402ResourceServer({
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    getSupported: async () => facilitator.getSupported() as never,
  }).register(NETWORK, new ExactHederaServer())
  const http = new x402HTTPResourceServer(resourceServer, {
    'GET /paid': {
      accepts: {
        scheme: 'exact',
        network: NETWORK,
        payTo: PAY_TO,
        price: { asset: '0.0.0', amount: '500000000' },
        maxTimeoutSeconds: 180,
      },
    },
  })
  await http.initialize()
  return http
}

export function request(headers: Record<string, string> = {}) {
  const adapter: HTTPAdapter = {
    getHeader: (name) => findHeader(headers, name),
    getMethod: () => 'GET',
    getPath: () => '/paid',
    getUrl: () => 'http://shop.example/paid',
    getAcceptHeader: () => '',
    getUserAgent: () => '',
  }
  return { adapter, path: '/paid', method: 'GET' }
}

export function officialResponse(result: HTTPProcessResult) {
  if (result.type !== 'payment-error') throw new Error(`not refused: ${result.type}`)
  return result.response
}

export function findHeader(headers: Record<string, string>, wanted: string): string | undefined {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === wanted.toLowerCase())?.[1]
}
