/** The payer of a transfer signs this, as wallets show it: EIP-3009 in the form of EIP-712. Pages load this file, too. */
import type { Hex } from './evm-words.ts'

/** An EIP-712 domain with the four fields that these tokens use. */
export type SigningDomain = {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly verifyingContract: Hex
}

/** The fields of such a domain, in EIP-712's form. */
export const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const

/** The fields of `TransferWithAuthorization`, in EIP-712's form. */
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

/** Who pays whom, how much (base units), and when it may be submitted: after and before these Unix seconds. */
export type TransferAuthorization = {
  readonly from: Hex
  readonly to: Hex
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: Hex
}

type Fields = readonly { readonly name: string; readonly type: string }[]

/** A type's text; its hash precedes the values in what is hashed. */
export const typeText = (type: string, fields: Fields): string =>
  `${type}(${fields.map((field) => `${field.type} ${field.name}`).join(',')})`

/** A transfer as wallets show and sign it (`eth_signTypedData_v4`). */
export type TransferTypedData = {
  readonly domain: SigningDomain
  readonly types: typeof TRANSFER_TYPES
  readonly primaryType: 'TransferWithAuthorization'
  readonly message: TransferAuthorization
}

/** Who pays: an address, and something that signs typed data for it, such as a viem account. */
export type EvmSigner = {
  readonly address: Hex
  signTypedData(typedData: TransferTypedData): Promise<Hex>
}
