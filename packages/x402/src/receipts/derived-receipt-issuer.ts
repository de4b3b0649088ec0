/** A receipt issuer whose key is derived from a secret that the service already has. */
import { hash, hkdfSync } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { createReceiptIssuer, type ReceiptIssuer } from './receipt-issuer.ts'

/** A key's name in the document, derived from its public half, so that a new key has a new name. */
const keyNameOf = (x: string): string => `receipts-${hash('sha256', x).slice(0, 8)}`

/**
 * An issuer whose seed is HKDF-SHA-256 (RFC 5869) of `secret` for `purpose`: every replica signs alike, and there is no other
 * secret to keep. When the secret changes, list the previous public keys in `earlierKeys`, so that what they signed can still
 * be checked.
 */
export function createDerivedReceiptIssuer(options: {
  readonly secret: Uint8Array
  /** Separates this key from every other use of the secret, such as `tallystick grading receipts`. */
  readonly purpose: string
  readonly baseUrl: string
  readonly clock: Pick<Clock, 'unixMs'>
  /** Ed25519 public keys, base64url, as `/.well-known/did.json` had them. */
  readonly earlierKeys?: readonly string[] | undefined
}): ReceiptIssuer {
  const { baseUrl, clock, earlierKeys = [], purpose, secret } = options
  const seed = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
  const key = { baseUrl, privateKey: seed.toString('hex'), clock }
  const { publicKey } = createReceiptIssuer(key)
  return createReceiptIssuer({
    ...key,
    keyName: keyNameOf(publicKey),
    earlierKeys: earlierKeys
      .filter((x) => x !== publicKey)
      .map((x) => ({ keyName: keyNameOf(x), x })),
  })
}
