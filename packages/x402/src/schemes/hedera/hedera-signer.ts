import { createPrivateKey, hash, sign } from 'node:crypto'
import secp256k1 from 'secp256k1'
import { evmAddressOf } from './signature-check.ts'

/** Who pays: an account and something that signs for it. The private key stays behind `sign`. */
export type HederaSigner = {
  /** `0.0.x`. */
  readonly accountId: string
  readonly keyKind: 'ed25519' | 'ecdsa'
  /** Raw: 32 bytes, or 33 compressed. */
  readonly publicKey: Uint8Array
  /** 64 bytes over a transaction body; for ECDSA over its keccak-256. */
  sign(bodyBytes: Uint8Array): Promise<Uint8Array> | Uint8Array
}

/** DER before a raw Ed25519 private key (RFC 8410). */
const ED25519_PKCS8_PREFIX = '302e020100300506032b657004220420'

/** What stands before the 32 bytes of a key in the DER form that Hedera's portal prints, by kind of key. */
const DER_PREFIXES = [
  { keyKind: 'ed25519', hex: ED25519_PKCS8_PREFIX },
  { keyKind: 'ecdsa', hex: '3030020100300706052b8104000a04220420' },
] as const

/**
 * A signer for a private key in hex: 32 raw bytes (with or without `0x`), an ECDSA key unless `keyKind` says otherwise,
 * or the DER form that Hedera's portal prints, which names its kind. Throws RangeError for anything else; the message
 * never holds the key. `evmAddress` is the ECDSA key's address, undefined for Ed25519.
 */
export function hederaSigner(options: {
  readonly accountId: string
  readonly privateKey: string
  readonly keyKind?: 'ed25519' | 'ecdsa'
}): HederaSigner & { readonly evmAddress: `0x${string}` | undefined } {
  const { accountId } = options
  const { keyKind, bytes } = readPrivateKey(options.privateKey, options.keyKind ?? 'ecdsa')
  if (keyKind === 'ecdsa') {
    const publicKey = secp256k1.publicKeyCreate(bytes)
    return {
      accountId,
      keyKind,
      publicKey,
      evmAddress: evmAddressOf(publicKey),
      sign: (body) => secp256k1.ecdsaSign(hash('keccak-256', body, 'buffer'), bytes).signature,
    }
  }
  const der = Buffer.concat([Buffer.from(ED25519_PKCS8_PREFIX, 'hex'), bytes])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return {
    accountId,
    keyKind,
    publicKey: Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url'),
    evmAddress: undefined,
    sign: (body) => sign(null, body, key),
  }
}

function readPrivateKey(
  text: string,
  rawKind: 'ed25519' | 'ecdsa',
): { keyKind: 'ed25519' | 'ecdsa'; bytes: Uint8Array } {
  const hex = text.trim().replace(/^0x/i, '').toLowerCase()
  const der = DER_PREFIXES.find((one) => hex.startsWith(one.hex))
  const keyKind = der?.keyKind ?? rawKind
  const raw = der === undefined ? hex : hex.slice(der.hex.length)
  if (!/^[0-9a-f]{64}$/.test(raw)) throw new RangeError('not a private key of 32 bytes in hex')
  const bytes = Buffer.from(raw, 'hex')
  if (keyKind === 'ecdsa' && !secp256k1.privateKeyVerify(bytes)) {
    throw new RangeError('not a private key of secp256k1')
  }
  return { keyKind, bytes }
}
