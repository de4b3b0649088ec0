/** What a payer signs, an EIP-3009 `TransferWithAuthorization`, as wallets show it. */

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

export const FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
]

export const DOMAIN_FIELDS = [
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
