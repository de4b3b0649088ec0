/**
 * The paying side of scheme `exact` on EVM, for `@x402/fetch` and `x402Client`: signs a transfer that the seller's
 * facilitator submits and pays gas for. It sends nothing to a chain.
 */
import { randomBytes } from 'node:crypto'
import type {
  PaymentPayloadResult,
  PaymentRequirements,
  SchemeNetworkClient,
} from '@x402/core/types'
import secp256k1 from 'secp256k1'
import type { Clock } from '../../clock.ts'
import {
  addressOfPoint,
  authorizationDigest,
  domainSeparator,
  type SigningDomain,
  TRANSFER_TYPES,
  type TransferAuthorization,
} from './authorization.ts'
import { evmChainId } from './evm-asset.ts'
import { type Hex, hexOfBytes, isEvmAddress } from './evm-words.ts'

/** A transfer as wallets show and sign it (`eth_signTypedData_v4`). */
export type TransferTypedData = {
  readonly domain: SigningDomain
  readonly types: typeof TRANSFER_TYPES
  readonly primaryType: 'TransferWithAuthorization'
  readonly message: TransferAuthorization
}

/** Who pays: an address, and something that signs typed data for it, such as a viem account. */
export type EvmSigner = {
  readonly address: Hex
  signTypedData(typedData: TransferTypedData): Promise<Hex>
}

/**
 * A signer for a private key: 32 bytes in hex, with or without `0x`. Throws RangeError for anything else; the message
 * never contains the key.
 */
export function evmSigner(options: { readonly privateKey: string }): EvmSigner {
  const hex = options.privateKey.trim().replace(/^0x/i, '')
  const key = Buffer.from(hex, 'hex')
  if (!/^[0-9a-fA-F]{64}$/.test(hex) || !secp256k1.privateKeyVerify(key)) {
    throw new RangeError('not a private key of 32 bytes in hex')
  }
  const point = secp256k1.publicKeyCreate(key, false)
  return {
    address: addressOfPoint(point),
    async signTypedData({ domain, message }) {
      const digest = authorizationDigest(domainSeparator(domain), message)
      const { recid, signature } = secp256k1.ecdsaSign(digest, key)
      return hexOfBytes(Buffer.concat([signature, Buffer.from([27 + recid])]))
    },
  }
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
  ): Promise<PaymentPayloadResult> {
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
      nonce: hexOfBytes(randomBytes(32)),
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
