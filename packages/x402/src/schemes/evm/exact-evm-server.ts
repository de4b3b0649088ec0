import type {
  AssetAmount,
  Network,
  PaymentRequirements,
  Price,
  SchemeNetworkServer,
} from '@x402/core/types'
import { assetOf, type EvmAsset } from './evm-asset.ts'

/**
 * Scheme `exact` on EVM for `@x402/core`'s own resource server, for those who use that instead of our gate:
 * `new x402ResourceServer(facilitator).register('eip155:196', new ExactEvmServer({ assets: [X_LAYER_USDT0] }))`.
 */
export class ExactEvmServer implements SchemeNetworkServer {
  readonly scheme = 'exact'
  readonly defaultAssetTransferMethod = 'eip3009'
  readonly paymentFlows = {
    eip3009: { supported: ['upfront', 'authorization'], default: 'upfront' },
  } as const satisfies SchemeNetworkServer['paymentFlows']
  readonly #assets: readonly EvmAsset[]

  constructor(options: { readonly assets: readonly EvmAsset[] }) {
    this.#assets = options.assets
  }

  /**
   * Takes `{ asset, amount }` in base units of a known asset, or dollars such as `$0.01`, which are amounts of the
   * network's first asset. Throws RangeError for any other price, and for more decimals than the asset has.
   */
  async parsePrice(price: Price, network: Network): Promise<AssetAmount> {
    if (typeof price === 'object') {
      const isKnown = assetOf(this.#assets, { network, asset: price.asset }) !== undefined
      if (isKnown && /^\d+$/.test(price.amount)) return price
      throw new RangeError('a price is { asset, amount } of a known asset, in base units')
    }
    const asset = this.#assets.find((one) => one.network === network)
    const [, whole, fraction = ''] = /^\$?(\d+)(?:\.(\d+))?$/.exec(String(price)) ?? []
    if (asset === undefined || whole === undefined || fraction.length > asset.decimals) {
      throw new RangeError('a price in dollars needs an asset of that network with enough decimals')
    }
    const amount = BigInt(whole + fraction.padEnd(asset.decimals, '0')).toString()
    return { asset: asset.address, amount }
  }

  getAssetDecimals(asset: string, network: Network): number | undefined {
    return assetOf(this.#assets, { network, asset })?.decimals
  }

  /** Adds the token's signing domain, without which a client cannot sign. Throws for an unknown asset. */
  async enhancePaymentRequirements(
    requirements: PaymentRequirements,
  ): Promise<PaymentRequirements> {
    const asset = assetOf(this.#assets, requirements)
    if (asset === undefined) throw new Error('the asset of this requirement is not known')
    const { name, version } = asset
    return { ...requirements, extra: { name, version, ...requirements.extra } }
  }
}
