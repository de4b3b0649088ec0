import secp256k1 from 'secp256k1'
import {
  authorizationDigest,
  domainSeparator,
  type SigningDomain,
  type TransferAuthorization,
} from './authorization-digest.ts'
import { type Hex, hexOfBytes, keccak } from './evm-words.ts'

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

/** Who pays: an address and something that signs typed data for it, such as an account of viem as it is. */
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
    address: hexOfBytes(keccak(point.subarray(1)).subarray(12)),
    async signTypedData({ domain, message }) {
      const digest = authorizationDigest(domainSeparator(domain), message)
      const { recid, signature } = secp256k1.ecdsaSign(digest, key)
      return hexOfBytes(Buffer.concat([signature, Buffer.from([27 + recid])]))
    },
  }
}
