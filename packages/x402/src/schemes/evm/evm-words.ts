/** Hex, words, hashes and event topics of the EVM. */
import { z } from 'zod'
import { keccak } from '../../secp256k1.ts'

/** Bytes in hex with `0x`. */
export type Hex = `0x${string}`

/** Hex with `0x` and any number of digits, in lower case. */
export const hexSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]*$/)
  .transform((text) => text.toLowerCase() as Hex)

/** A word of 32 bytes. */
export const wordSchema = hexSchema.refine((text) => text.length === 66)

export const addressSchema = hexSchema.refine((text) => text.length === 42)

/** keccak-256 of UTF-8: of a type, or of an event's or function's signature, such as `balanceOf(address)`. */
export function keccakOfText(text: string): Buffer {
  return keccak(Buffer.from(text, 'utf8'))
}

/** The bytes of `0x` hex whose shape the caller has checked. */
export function bytesOfHex(hex: string): Buffer {
  return Buffer.from(hex.slice(2), 'hex')
}

/** Hex with `0x`, lower case. */
export function hexOfBytes(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

/** A number as the EVM's word of 32 bytes, big endian. Throws RangeError outside 0 … 2^256 − 1. */
export function uintWord(value: bigint): Buffer {
  if (value < 0n || value >= 1n << 256n) throw new RangeError('not a 256-bit unsigned integer')
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex')
}

/** An address as a word of 32 bytes, with 12 leading zero bytes. */
export function addressWord(address: string): Buffer {
  return Buffer.from(address.slice(2).padStart(64, '0'), 'hex')
}

/** An address as an indexed event argument. */
export function addressTopic(address: string): Hex {
  return hexOfBytes(addressWord(address))
}

const eventTopic = (event: string): Hex => hexOfBytes(keccakOfText(event))

/** EIP-3009's event of a used nonce. */
export const AUTHORIZATION_USED_TOPIC = eventTopic('AuthorizationUsed(address,bytes32)')

/** EIP-3009's event of a nonce cancelled by its owner. */
export const AUTHORIZATION_CANCELED_TOPIC = eventTopic('AuthorizationCanceled(address,bytes32)')

/** ERC-20's event of a transfer. */
export const TRANSFER_TOPIC = eventTopic('Transfer(address,address,uint256)')
