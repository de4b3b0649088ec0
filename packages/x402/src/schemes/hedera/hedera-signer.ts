import { createPrivateKey, sign } from 'node:crypto'
import { ED25519_PKCS8, neededPrivateKey } from '../../private-key.ts'
import { keccak, secp256k1 } from '../../secp256k1.ts'
import type { HederaSigner } from './exact-hedera-client.ts'
import { deriveEvmAddress } from './hedera-key.ts'

/**
 * A signer for a private key in hex: 32 raw bytes (with or without `0x`), read as an ECDSA key unless `keyKind` says
 * otherwise, or DER, which names its kind. Throws RangeError for anything else; the message says what it is instead, and never
 * contains it. `evmAddress` is the ECDSA key's address, undefined for Ed25519.
 */
export function hederaSigner(options: {
  readonly accountId: string
  readonly privateKey: string
  readonly keyKind?: 'ed25519' | 'ecdsa'
}): HederaSigner & { readonly evmAddress: `0x${string}` | undefined } {
  const { accountId } = options
  const { hex, keyKind } = neededPrivateKey(options.privateKey, {
    bare: options.keyKind ?? 'ecdsa',
  })
  if (keyKind === 'ecdsa') {
    const bytes = Buffer.from(hex, 'hex')
    const publicKey = secp256k1.publicKey(bytes)
    return {
      accountId,
      keyKind,
      publicKey,
      evmAddress: deriveEvmAddress(publicKey),
      sign: (body) => secp256k1.sign(keccak(body), bytes).rs,
    }
  }
  const pkcs8 = Buffer.from(ED25519_PKCS8 + hex, 'hex')
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  return {
    accountId,
    keyKind,
    publicKey: Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url'),
    evmAddress: undefined,
    sign: (body) => sign(null, body, key),
  }
}
