/**
 * The paying side of scheme `exact` on EVM, for `@x402/fetch` and `x402Client`: signs a transfer that the seller's
 * facilitator submits and pays gas for. It sends nothing to a chain. Pages load this file, too.
 */
import type {
  PaymentPayloadResult,
  PaymentRequirements,
  SchemeNetworkClient,
} from '@x402/core/types'
import type { Clock } from '../../clock.ts'
import { evmChainId, isEvmAddress } from './evm-asset.ts'
import type { Hex } from './evm-words.ts'
import type { TransferAuthorization } from './transfer-typed-data.ts'
import { type EvmSigner, TRANSFER_TYPES } from './transfer-typed-data.ts'

export { DOMAIN_FIELDS, TRANSFER_TYPES, typeText } from './transfer-typed-data.ts'

/** A signed transfer as the scheme's payload has it: numbers in decimals. */
type EvmPayment = {
  readonly authorization: Readonly<Record<keyof TransferAuthorization, string>>
  readonly signature: Hex
}

/** 32 random bytes in hex: each of a payer's transfers needs its own. */
function newNonce(): Hex {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** Scheme `exact` on EVM, client side. `client.register('eip155:*', new ExactEvmClient({ signer }))`. */
export class ExactEvmClient implements SchemeNetworkClient {
  readonly scheme = 'exact'
  readonly #signer: EvmSigner
  readonly #clock: Pick<Clock, 'unixMs'>

  constructor(options: { readonly signer: EvmSigner; readonly clock?: Pick<Clock, 'unixMs'> }) {
    this.#signer = options.signer
    this.#clock = options.clock ?? { unixMs: Date.now }
  }

  /** Signs the requested payment. Throws RangeError if it is not a signed transfer of a token. */
  async createPaymentPayload(
    x402Version: number,
    requirements: PaymentRequirements,
  ): Promise<PaymentPayloadResult & { readonly payload: EvmPayment }> {
    const { amount, asset, maxTimeoutSeconds, network, payTo } = requirements
    const { assetTransferMethod = 'eip3009', name, version } = requirements.extra ?? {}
    const chainId = evmChainId(network)
    if (chainId === undefined || !isEvmAddress(asset) || !isEvmAddress(payTo)) {
      throw new RangeError(
        'an EVM payment needs an EVM network, a token address and a payTo address',
      )
    }
    const isSignable = typeof name === 'string' && typeof version === 'string'
    if (!isSignable || assetTransferMethod !== 'eip3009') {
      throw new RangeError('an EVM payment needs extra.name and extra.version of a token')
    }
    if (!/^[1-9]\d{0,77}$/.test(amount)) throw new RangeError('amount is not a positive integer')
    const nowSeconds = Math.floor(this.#clock.unixMs() / 1_000)
    const message = {
      from: this.#signer.address,
      to: payTo,
      value: BigInt(amount),
      validAfter: 0n,
      validBefore: BigInt(nowSeconds + Math.floor(maxTimeoutSeconds)),
      nonce: newNonce(),
    }
    const signature = await this.#signer.signTypedData({
      domain: { name, version, chainId, verifyingContract: asset },
      types: TRANSFER_TYPES,
      primaryType: 'TransferWithAuthorization',
      message,
    })
    const validBefore = message.validBefore.toString()
    const authorization = { ...message, value: amount, validAfter: '0', validBefore }
    return { x402Version, payload: { authorization, signature } }
  }
}
