/** Paying with a key that a link of the local stack carries. It is held in memory only, and used on this machine only. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 as keccak256 } from '@noble/hashes/sha3.js'
import { bytesOfHex, hexOfBytes, joinBytes } from './hex.js'
import { transferDigest } from './transfer-digest.js'

/** @typedef {import('./transfer-typed-data.js').Authorization} Authorization */
/** @typedef {import('./transfer-typed-data.js').Domain} Domain */
/**
 * @typedef {object} Payer
 * @property {string} address Lower case.
 * @property {(domain: Domain, message: Authorization) => Promise<string>} sign 65 bytes in hex.
 */

/** A signature says which of the two points it was made with by 27 or 28. */
const RECOVERY_BASE = 27

/**
 * `r ‖ s ‖ v`, 65 bytes, with a low s (EIP-2).
 *
 * @param {Uint8Array} digest
 * @param {Uint8Array} key
 */
function signDigest(digest, key) {
  const [recovery = 0, ...rest] = secp256k1.sign(digest, key, {
    prehash: false,
    format: 'recovered',
  })
  return joinBytes(Uint8Array.from(rest), Uint8Array.of(RECOVERY_BASE + recovery))
}

/**
 * A payer for 32 bytes in hex, with or without `0x`. Throws RangeError for anything else; the message never holds the key.
 *
 * @param {string} privateKey
 * @returns {Payer}
 */
export function developmentPayer(privateKey) {
  const hex = privateKey.replace(/^0x/i, '')
  const key = /^[0-9a-fA-F]{64}$/.test(hex) ? bytesOfHex(`0x${hex}`) : new Uint8Array(0)
  if (!secp256k1.utils.isValidSecretKey(key))
    throw new RangeError('not a private key of 32 bytes in hex')
  const publicKey = secp256k1.getPublicKey(key, false).slice(1)
  return {
    address: hexOfBytes(keccak256(publicKey).slice(12)),
    sign: async (domain, message) => hexOfBytes(signDigest(transferDigest(domain, message), key)),
  }
}
