/** What a payer signs, an EIP-3009 `TransferWithAuthorization` in the form of EIP-712, and who signs it. */

export type Domain = {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly verifyingContract: string
}

/** Numbers are decimal text, as on the wire. */
export type Authorization = {
  readonly from: string
  readonly to: string
  /** Base units. */
  readonly value: string
  /** Unix seconds. */
  readonly validAfter: string
  readonly validBefore: string
  /** 32 bytes, hex. */
  readonly nonce: string
}

export type Payer = {
  /** Lower case. */
  readonly address: string
  /** Resolves to 65 bytes in hex. */
  sign(domain: Domain, message: Authorization): Promise<string>
}

export const TYPES = {
  EIP712Domain: [
    { name: 'name', type: 'string' },
    { name: 'version', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ],
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** The input of `eth_signTypedData_v4`. */
export const typedDataOf = (domain: Domain, message: Authorization) => ({
  types: TYPES,
  primaryType: 'TransferWithAuthorization',
  domain,
  message,
})

/** An EVM network's number from its CAIP-2 name; undefined for any other text. */
export function chainIdOf(network: string): number | undefined {
  const digits = /^eip155:([1-9]\d{0,15})$/.exec(network)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
