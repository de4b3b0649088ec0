/** keccak-256, natively where Node's OpenSSL offers it (Node 26), otherwise in JavaScript, which takes about ten times as long. */
import { getHashes, hash } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'

const NATIVE = 'keccak-256'

/** keccak-256 of bytes, 32 bytes. */
export const keccak: (bytes: Uint8Array) => Buffer = getHashes().includes(NATIVE)
  ? (bytes) => hash(NATIVE, bytes, 'buffer')
  : keccakInJavaScript

/** The same on every version of Node. */
export function keccakInJavaScript(bytes: Uint8Array): Buffer {
  return Buffer.from(keccak_256(bytes))
}
