import type { PaymentRequirement } from '../../payment.ts'
import { type EvmAsset, evmChainId } from './evm-asset.ts'
import { isEvmAddress } from './evm-words.ts'
import { EVM_TIMEOUT_SECONDS_MAX } from './find-evm-payment.ts'

/** How long a client has for signing and a facilitator for settling: the reference's default. */
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
  if (
    !isEvmAddress(payTo) ||
    !isEvmAddress(asset.address) ||
    amount <= 0n ||
    amount >= 1n << 256n
  ) {
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
