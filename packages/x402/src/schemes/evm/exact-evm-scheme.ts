import type { Clock } from '../../clock.ts'
import type { PaymentScheme } from '../payment-scheme.ts'
import type { EvmAsset } from './evm-asset.ts'
import type { EvmLedger } from './evm-ledger.ts'
import { authorizationKeyOf, findEvmPayment } from './find-evm-payment.ts'
import { verifyEvmPayment } from './verify-evm-payment.ts'

const TRANSACTION_HASH = /^0x[0-9a-fA-F]{64}$/

export type ExactEvmSchemeOptions = {
  /** Tokens that payments are taken in, all on one chain: that of `ledger`. */
  readonly assets: readonly EvmAsset[]
  readonly ledger: EvmLedger
  readonly clock: Clock
}

/**
 * Scheme `exact` on one EVM chain as the gate sees it: EIP-3009, verified locally, found by the nonce's state and events.
 * The gate asks `isUsed` and `canPay` before it reserves a payment that it does not hold yet (X10). Throws RangeError
 * where the assets are none or of several networks.
 */
export function createExactEvmScheme(options: ExactEvmSchemeOptions): PaymentScheme {
  const { assets, clock, ledger } = options
  const networks = [...new Set(assets.map((asset) => asset.network))]
  if (networks.length !== 1) throw new RangeError('an EVM scheme serves assets of one network')
  return {
    scheme: 'exact',
    networks,
    verify: (payload, requirement) =>
      verifyEvmPayment(payload, requirement, {
        assets,
        ledger,
        nowSeconds: Math.floor(clock.unixMs() / 1_000),
      }),
    find: (payment) => findEvmPayment(payment, ledger),
    // Who sends it is the facilitator's choice; what is no hash at all names nothing, and the chain is asked instead.
    isOwnTransaction: (_payment, transaction) => TRANSACTION_HASH.test(transaction),
    isUsed: (payment) => ledger.isAuthorizationUsed(authorizationKeyOf(payment)),
    async canPay(payment) {
      const key = authorizationKeyOf(payment)
      if ((await ledger.balanceOf(key.asset, key.payer)) >= payment.amount) return true
      // Somebody may have submitted it in the meantime: then the money that is missing came to us.
      return await ledger.isAuthorizationUsed(key)
    },
  }
}
