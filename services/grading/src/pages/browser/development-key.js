/** Paying with a key that a link of the local stack carries. It is held in memory only, and used on this machine only. */
import { bytesOfHex, hexOfBytes } from './hex.js'
import { keccak256 } from './keccak.js'
import { isPrivateKey, publicKeyOf, signDigest } from './secp256k1.js'
import { transferDigest } from './transfer-typed-data.js'

/** @typedef {import('./transfer-typed-data.js').Authorization} Authorization */
/** @typedef {import('./transfer-typed-data.js').Domain} Domain */
/**
 * @typedef {object} Payer
 * @property {string} address Lower case.
 * @property {(domain: Domain, message: Authorization) => Promise<string>} sign 65 bytes in hex.
 */

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/**
 * Whether a key in a link may be used: only where the service runs on the reader's own machine. A key that is worth
 * something belongs in a wallet, and this page must not train anybody to put one into an address.
 *
 * @param {string} hostname
 */
export const takesDevelopmentKeys = (hostname) => LOOPBACK.includes(hostname)

/**
 * A payer for 32 bytes in hex, with or without `0x`. Throws RangeError for anything else; the message never holds the key.
 *
 * @param {string} privateKey
 * @returns {Payer}
 */
export function developmentPayer(privateKey) {
  const hex = privateKey.replace(/^0x/i, '')
  const key = /^[0-9a-fA-F]{64}$/.test(hex) ? bytesOfHex(`0x${hex}`) : new Uint8Array(0)
  if (!isPrivateKey(key)) throw new RangeError('not a private key of 32 bytes in hex')
  return {
    address: hexOfBytes(keccak256(publicKeyOf(key)).slice(12)),
    sign: async (domain, message) =>
      hexOfBytes(
        signDigest(transferDigest(domain, message), {
          key,
          random: crypto.getRandomValues(new Uint8Array(32)),
        }),
      ),
  }
}
