/** The selling side of scheme `exact` on EVM: what a seller asks for, and how our gate or `@x402/core`'s server accepts it. */
import type {
  AssetAmount,
  Network,
  PaymentRequirements,
  Price,
  SchemeNetworkServer,
} from '@x402/core/types'
import type { Clock } from '../../clock.ts'
import type { PaymentRequirement } from '../../payment.ts'
import { type PaymentScheme, SALE_MARGIN_SECONDS } from '../payment-scheme.ts'
import { assetOf, type EvmAsset, evmChainId, isEvmAddress } from './evm-asset.ts'
import type { EvmLedger } from './evm-ledger.ts'
import { EVM_TIMEOUT_SECONDS_MAX, findEvmPayment } from './find-evm-payment.ts'
import { verifyEvmPayment } from './verify-evm-payment.ts'

const TRANSACTION_HASH = /^0x[0-9a-fA-F]{64}$/

/**
 * Scheme `exact` on one EVM chain as the gate sees it: EIP-3009, verified locally, found by the nonce's state and events.
 * The gate calls `isUsed` and `canPay` before it reserves a payment that it does not hold yet (X10). Throws RangeError
 * unless all assets are on one network.
 */
export function createExactEvmScheme(options: {
  /** Tokens accepted as payment, all on the chain of `ledger`. */
  readonly assets: readonly EvmAsset[]
  readonly ledger: EvmLedger
  readonly clock: Clock
  /** Whether contracts may pay (EIP-1271); by default they may. */
  readonly contractWallets?: boolean | undefined
}): PaymentScheme {
  const { assets, clock, contractWallets, ledger } = options
  const networks = [...new Set(assets.map((asset) => asset.network))]
  if (networks.length !== 1) throw new RangeError('an EVM scheme serves assets of one network')
  return {
    scheme: 'exact',
    networks,
    verify: (payload, requirement) =>
      verifyEvmPayment(payload, requirement, {
        assets,
        ledger,
        contractWallets,
        nowSeconds: Math.floor(clock.unixMs() / 1_000),
        marginSeconds: SALE_MARGIN_SECONDS,
      }),
    find: (payment) => findEvmPayment(payment, ledger),
    // The facilitator chooses the sender, so any hash may be ours. Other text names no transaction: the chain is read instead.
    isOwnTransaction: (_payment, transaction) => TRANSACTION_HASH.test(transaction),
    async isUntraced(payment, pastSeconds) {
      const { number, timestampSeconds } = await ledger.block()
      if (timestampSeconds <= pastSeconds) return false
      return !(await ledger.isAuthorizationUsed(payment, number))
    },
    isUsed: (payment) => ledger.isAuthorizationUsed(payment),
    async canPay(payment, aheadAmount = 0n) {
      const { amount, asset, payer } = payment
      if ((await ledger.balanceOf(asset, payer)) >= amount + aheadAmount) return true
      // Somebody may have submitted it meanwhile; then the missing money came to us.
      return await ledger.isAuthorizationUsed(payment)
    },
  }
}

/** How long a client has to sign and a facilitator to settle: the reference's default. */
const TIMEOUT_SECONDS = 300

/**
 * What an `accepts` entry asks for in a token with signed transfers (X3). Amount in base units: 10_000n is $0.01 at six
 * decimals. Settled up front. `extra.name` and `extra.version` are the token's signing domain. Throws RangeError for a
 * bad address, network, amount or timeout.
 */
export function evmRequirement(terms: {
  readonly asset: EvmAsset
  readonly amount: bigint
  readonly payTo: string
  readonly maxTimeoutSeconds?: number
}): PaymentRequirement {
  const { amount, asset, maxTimeoutSeconds = TIMEOUT_SECONDS, payTo } = terms
  const isAmount = amount > 0n && amount < 1n << 256n
  if (!isEvmAddress(payTo) || !isEvmAddress(asset.address) || !isAmount) {
    throw new RangeError('an EVM requirement needs two addresses and an amount above 0')
  }
  if (evmChainId(asset.network) === undefined) throw new RangeError('not an EVM network')
  const isTimeout = Number.isInteger(maxTimeoutSeconds) && maxTimeoutSeconds > 0
  if (!isTimeout || maxTimeoutSeconds > EVM_TIMEOUT_SECONDS_MAX) {
    throw new RangeError(`maxTimeoutSeconds is 1 to ${EVM_TIMEOUT_SECONDS_MAX}`)
  }
  return {
    scheme: 'exact',
    network: asset.network,
    amount: amount.toString(),
    asset: asset.address,
    payTo,
    maxTimeoutSeconds,
    extra: { name: asset.name, version: asset.version, paymentFlow: 'upfront' },
  }
}

/**
 * Scheme `exact` on EVM for `@x402/core`'s own resource server, for use instead of our gate: `new
 * x402ResourceServer(facilitator).register('eip155:196', new ExactEvmServer({ assets: [X_LAYER_USDT0] }))`.
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
   * Accepts `{ asset, amount }` in base units of a known asset, or dollars such as `$0.01`, meaning the network's first
   * asset. Throws RangeError for any other price, and for more decimals than the asset has.
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
