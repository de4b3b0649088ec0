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
import secp256k1 from 'secp256k1'
import type { Clock } from '../../clock.ts'
import {
  addressOfPoint,
  authorizationDigest,
  domainSeparator,
  type SigningDomain,
  type TransferAuthorization,
} from './authorization.ts'
import { evmChainId } from './evm-asset.ts'
import { type Hex, hexOfBytes, isEvmAddress } from './evm-words.ts'

/** What `TransferWithAuthorization` consists of, in EIP-712's form. */
export const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** A transfer as wallets show and sign it (`eth_signTypedData_v4`). */
export type TransferTypedData = {
  readonly domain: SigningDomain
  readonly types: typeof TRANSFER_TYPES
  readonly primaryType: 'TransferWithAuthorization'
  readonly message: TransferAuthorization
}

/** Who pays: an address and something that signs typed data for it, such as an unchanged account of viem. */
export type EvmSigner = {
  readonly address: Hex
  signTypedData(typedData: TransferTypedData): Promise<Hex>
}

/**
 * A signer for a private key: 32 bytes in hex, with or without `0x`. Throws RangeError for anything else; the message
 * never holds the key.
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

export type ExactEvmClientOptions = {
  readonly signer: EvmSigner
  readonly clock?: Pick<Clock, 'unixMs'>
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
    const { clock, signer } = this.#options
    const nowSeconds = Math.floor((clock?.unixMs() ?? Date.now()) / 1_000)
    return {
      from: signer.address,
      to: payTo,
      value: BigInt(amount),
      validAfter: 0n,
      validBefore: BigInt(nowSeconds + Math.floor(maxTimeoutSeconds)),
      nonce: hexOfBytes(randomBytes(32)),
    }
  }
}
