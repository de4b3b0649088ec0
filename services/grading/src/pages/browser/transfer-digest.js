/** What a payer signs, as the 32 bytes that are signed (EIP-712). */
import { keccak_256 as keccak256 } from '@noble/hashes/sha3.js'
import { bytesOfHex, joinBytes, wordOf } from './hex.js'
import { DOMAIN_FIELDS, FIELDS } from './transfer-typed-data.js'

/** @typedef {import('./transfer-typed-data.js').Authorization} Authorization */
/** @typedef {import('./transfer-typed-data.js').Domain} Domain */

/** @param {string} text */
const textHash = (text) => keccak256(new TextEncoder().encode(text))

/**
 * @param {string} name
 * @param {{ name: string, type: string }[]} fields
 */
const typeHash = (name, fields) =>
  textHash(`${name}(${fields.map((field) => `${field.type} ${field.name}`).join(',')})`)

/** @param {string} value A decimal number, or hex with `0x`: an address stands right-aligned in its word. */
const word = (value) => wordOf(BigInt(value))

/**
 * The EIP-712 digest, 32 bytes.
 *
 * @param {Domain} domain
 * @param {Authorization} message
 */
export function transferDigest(domain, message) {
  const separator = keccak256(
    joinBytes(
      typeHash('EIP712Domain', DOMAIN_FIELDS),
      textHash(domain.name),
      textHash(domain.version),
      wordOf(BigInt(domain.chainId)),
      word(domain.verifyingContract),
    ),
  )
  const struct = keccak256(
    joinBytes(
      typeHash('TransferWithAuthorization', FIELDS),
      word(message.from),
      word(message.to),
      word(message.value),
      word(message.validAfter),
      word(message.validBefore),
      bytesOfHex(message.nonce),
    ),
  )
  return keccak256(joinBytes(Uint8Array.of(0x19, 0x01), separator, struct))
}
