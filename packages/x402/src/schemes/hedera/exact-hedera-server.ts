import type {
  AssetAmount,
  Network,
  PaymentRequirements,
  Price,
  SchemeNetworkServer,
} from '@x402/core/types'
import { isAccountId } from './account-id.ts'
import { HBAR_ASSET } from './network.ts'

/** Digits after the decimal point of one HBAR in tinybar. */
const HBAR_DECIMALS = 8

/**
 * Scheme `exact` on Hedera for `@x402/core`'s own resource server, for those who use that instead of our gate:
 * `new x402ResourceServer(facilitator).register('hedera:testnet', new ExactHederaServer())`. Prices are amounts of
 * tinybar of asset `0.0.0`; a price in dollars is refused, since nothing here knows an exchange rate.
 */
export class ExactHederaServer implements SchemeNetworkServer {
  readonly scheme = 'exact'
  readonly defaultAssetTransferMethod = 'cryptoTransfer'
  readonly paymentFlows = {
    cryptoTransfer: { supported: ['upfront', 'authorization'], default: 'upfront' },
  } as const satisfies SchemeNetworkServer['paymentFlows']

  /** Takes `{ asset: '0.0.0', amount }`, tinybar. Throws RangeError for any other price. */
  async parsePrice(price: Price, _network: Network): Promise<AssetAmount> {
    if (typeof price !== 'object' || price.asset !== HBAR_ASSET || !/^\d+$/.test(price.amount)) {
      throw new RangeError('a price on Hedera is { asset: "0.0.0", amount: tinybar }')
    }
    return price
  }

  getAssetDecimals(asset: string, _network: Network): number | undefined {
    return asset === HBAR_ASSET ? HBAR_DECIMALS : undefined
  }

  /** Adds the facilitator's fee payer, without which a client cannot sign. Throws where `/supported` names none. */
  async enhancePaymentRequirements(
    requirements: PaymentRequirements,
    supportedKind: { readonly extra?: Record<string, unknown> },
  ): Promise<PaymentRequirements> {
    const feePayer = requirements.extra?.['feePayer'] ?? supportedKind.extra?.['feePayer']
    if (typeof feePayer !== 'string' || !isAccountId(feePayer)) {
      throw new Error('the facilitator names no fee payer for Hedera')
    }
    return { ...requirements, extra: { ...requirements.extra, feePayer } }
  }
}
