/** Pays with a key carried by a link of the local stack. The key stays in memory and is used on this machine only. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 as keccak256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { EvmSigner, TransferTypedData } from '@tallystick/x402/evm'
import { DOMAIN_FIELDS, TRANSFER_TYPES, typeText } from '@tallystick/x402/evm-client'

/** A signature's recovery byte: 27 or 28 says which of two points it was made with. */
const RECOVERY_BASE = 27

const textHash = (text: string): Uint8Array => keccak256(utf8ToBytes(text))

/** 32 bytes from a number or `0x` hex; an address is right-aligned in its word. */
const word = (value: string | number | bigint): Uint8Array =>
  hexToBytes(BigInt(value).toString(16).padStart(64, '0'))

/** A transfer's EIP-712 digest: the 32 bytes that are signed. */
export function transferDigest({
  domain,
  message,
}: Pick<TransferTypedData, 'domain' | 'message'>): Uint8Array {
  const separator = concatBytes(
    textHash(typeText('EIP712Domain', DOMAIN_FIELDS)),
    textHash(domain.name),
    textHash(domain.version),
    word(domain.chainId),
    word(domain.verifyingContract),
  )
  const struct = concatBytes(
    textHash(typeText('TransferWithAuthorization', TRANSFER_TYPES.TransferWithAuthorization)),
    word(message.from),
    word(message.to),
    word(message.value),
    word(message.validAfter),
    word(message.validBefore),
    word(message.nonce),
  )
  return keccak256(concatBytes(Uint8Array.of(0x19, 0x01), keccak256(separator), keccak256(struct)))
}

/** `r ‖ s ‖ v` in hex, 65 bytes, with a low s (EIP-2). */
function signDigest(digest: Uint8Array, key: Uint8Array): `0x${string}` {
  const [recovery = 0, ...rest] = secp256k1.sign(digest, key, {
    prehash: false,
    format: 'recovered',
  })
  return `0x${bytesToHex(Uint8Array.of(...rest, RECOVERY_BASE + recovery))}`
}

/** A payer for 32 bytes in hex, with or without `0x`. Throws RangeError for anything else; the message never holds the key. */
export function developmentPayer(privateKey: string): EvmSigner {
  const hex = privateKey.replace(/^0x/i, '')
  const key = /^[0-9a-fA-F]{64}$/.test(hex) ? hexToBytes(hex) : new Uint8Array(0)
  if (!secp256k1.utils.isValidSecretKey(key))
    throw new RangeError('not a private key of 32 bytes in hex')
  const publicKey = secp256k1.getPublicKey(key, false).slice(1)
  return {
    address: `0x${bytesToHex(keccak256(publicKey).slice(12))}`,
    signTypedData: async (typedData) => signDigest(transferDigest(typedData), key),
  }
}
