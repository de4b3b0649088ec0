/** What a payer signs, an EIP-3009 `TransferWithAuthorization`: as wallets show it, and as the 32 bytes that are signed. */
import { bytesOfHex, joinBytes, wordOf } from './hex.js'
import { keccak256 } from './keccak.js'

/** @typedef {{ name: string, version: string, chainId: number, verifyingContract: string }} Domain */
/**
 * @typedef {object} Authorization Numbers are decimal text, as they go over the wire.
 * @property {string} from
 * @property {string} to
 * @property {string} value Base units.
 * @property {string} validAfter Unix seconds.
 * @property {string} validBefore Unix seconds.
 * @property {string} nonce 32 bytes, hex.
 */

const FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
]

const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
]

/**
 * The document that `eth_signTypedData_v4` takes.
 *
 * @param {Domain} domain
 * @param {Authorization} message
 */
export function typedDataOf(domain, message) {
  return {
    types: { EIP712Domain: DOMAIN_FIELDS, TransferWithAuthorization: FIELDS },
    primaryType: 'TransferWithAuthorization',
    domain,
    message,
  }
}

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
