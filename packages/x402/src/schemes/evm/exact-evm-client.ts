/**
 * The paying side of scheme `exact` on EVM, as `@x402/fetch` and `x402Client` take it: signs a transfer that the seller's
 * facilitator submits and pays the gas of. Nothing is sent to a chain from here.
 */
import { randomBytes } from 'node:crypto'
import type {
  PaymentPayloadContext,
  PaymentPayloadResult,
  PaymentRequirements,
  SchemeNetworkClient,
} from '@x402/core/types'
import type { Clock } from '../../clock.ts'
import type { TransferAuthorization } from './authorization-digest.ts'
import { evmChainId } from './evm-asset.ts'
import { type EvmSigner, TRANSFER_TYPES } from './evm-signer.ts'
import { hexOfBytes, isEvmAddress } from './evm-words.ts'

export type ExactEvmClientOptions = {
  readonly signer: EvmSigner
  readonly clock?: Pick<Clock, 'unixMs'>
  /** 32 bytes that were never used with this token. */
  readonly randomNonce?: () => Uint8Array
}

/** Scheme `exact` on EVM, client side. `client.register('eip155:*', new ExactEvmClient({ signer }))`. */
export class ExactEvmClient implements SchemeNetworkClient {
  readonly scheme = 'exact'
  readonly #options: ExactEvmClientOptions

  constructor(options: ExactEvmClientOptions) {
    this.#options = options
  }

  /** Signs a payment of what is asked. Throws RangeError where that is no signed transfer of a token. */
  async createPaymentPayload(
    x402Version: number,
    requirements: PaymentRequirements,
    _context?: PaymentPayloadContext,
  ): Promise<PaymentPayloadResult> {
    const { asset, extra, network, payTo } = requirements
    const chainId = evmChainId(network)
    const name: unknown = extra?.['name']
    const version: unknown = extra?.['version']
    const method: unknown = extra?.['assetTransferMethod'] ?? 'eip3009'
    if (chainId === undefined || !isEvmAddress(asset) || !isEvmAddress(payTo)) {
      throw new RangeError('only tokens on an EVM network can be paid, to an address')
    }
    if (typeof name !== 'string' || typeof version !== 'string' || method !== 'eip3009') {
      throw new RangeError('an EVM payment needs extra.name and extra.version of a token')
    }
    const message = this.#authorization(requirements)
    const signature = await this.#options.signer.signTypedData({
      domain: { name, version, chainId, verifyingContract: asset },
      types: TRANSFER_TYPES,
      primaryType: 'TransferWithAuthorization',
      message,
    })
    const { from, nonce, to, validAfter, validBefore, value } = message
    const authorization = {
      from,
      to,
      value: value.toString(),
      validAfter: validAfter.toString(),
      validBefore: validBefore.toString(),
      nonce,
    }
    return { x402Version, payload: { authorization, signature } }
  }

  #authorization({ amount, maxTimeoutSeconds, payTo }: PaymentRequirements): TransferAuthorization {
    if (!/^[1-9]\d{0,77}$/.test(amount)) throw new RangeError('amount is not a positive integer')
    if (!isEvmAddress(payTo)) throw new RangeError('payTo is no address')
    const { clock, randomNonce = () => randomBytes(32), signer } = this.#options
    const nowSeconds = Math.floor((clock?.unixMs() ?? Date.now()) / 1_000)
    return {
      from: signer.address,
      to: payTo,
      value: BigInt(amount),
      validAfter: 0n,
      validBefore: BigInt(nowSeconds + Math.floor(maxTimeoutSeconds)),
      nonce: hexOfBytes(randomNonce()),
    }
  }
}
