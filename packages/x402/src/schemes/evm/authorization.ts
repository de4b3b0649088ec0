/**
 * A signed transfer of a token (EIP-3009): reading it from the wire, the EIP-712 digest that its payer signs, and who
 * signed it. https://eips.ethereum.org/EIPS/eip-3009, https://eips.ethereum.org/EIPS/eip-712
 */
import { z } from 'zod'
import { neededPrivateKey } from '../../private-key.ts'
import { keccak, SECP256K1_ORDER, secp256k1 } from '../../secp256k1.ts'
import { type EvmAsset, evmChainId } from './evm-asset.ts'
import {
  addressSchema,
  addressWord,
  bytesOfHex,
  type Hex,
  hexOfBytes,
  keccakOfText,
  uintWord,
  wordSchema,
} from './evm-words.ts'
import {
  DOMAIN_FIELDS,
  type EvmSigner,
  type SigningDomain,
  TRANSFER_TYPES,
  type TransferAuthorization,
  typeText,
} from './transfer-typed-data.ts'

/** Longest signature considered: wallets that are contracts sign with several keys or a passkey, under 2 KiB. */
const SIGNATURE_BYTES_MAX = 2_048

const uint = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,77})$/)
  .transform(BigInt)
  .refine((value) => value < 1n << 256n)
const payload = z.strictObject({
  authorization: z.strictObject({
    from: addressSchema,
    to: addressSchema,
    /** Base units. */
    value: uint,
    /** Unix seconds; valid strictly after it. */
    validAfter: uint,
    /** Unix seconds; valid strictly before it. */
    validBefore: uint,
    nonce: wordSchema,
  }),
  signature: z
    .string()
    .max(2 + 2 * SIGNATURE_BYTES_MAX)
    .regex(/^0x(?:[0-9a-fA-F]{2})+$/)
    .transform(bytesOfHex),
})

/** A payment as received, parsed: addresses and nonce in lower case, the signature's bytes. */
export type EvmPayload = Readonly<z.output<typeof payload>>

/** Reads a scheme payload; undefined for every shape but `{authorization{six fields}, signature}` with strict decimals and hex. */
export function readEvmPayload(value: unknown): EvmPayload | undefined {
  return payload.safeParse(value).data
}

const DOMAIN_TYPE = keccakOfText(typeText('EIP712Domain', DOMAIN_FIELDS))
const TRANSFER_TYPE = keccakOfText(
  typeText('TransferWithAuthorization', TRANSFER_TYPES.TransferWithAuthorization),
)

/** The signing domain of an asset. Throws RangeError if its network is not `eip155:…`. */
export function signingDomain(asset: Omit<EvmAsset, 'decimals'>): SigningDomain {
  const chainId = evmChainId(asset.network)
  if (chainId === undefined) throw new RangeError(`${asset.network} is not an EVM network`)
  const { address: verifyingContract, name, version } = asset
  return { name, version, chainId, verifyingContract }
}

/** The EIP-712 domain separator, 32 bytes; must equal the contract's `DOMAIN_SEPARATOR()`. */
export function domainSeparator(domain: SigningDomain): Buffer {
  return keccak(
    Buffer.concat([
      DOMAIN_TYPE,
      keccakOfText(domain.name),
      keccakOfText(domain.version),
      uintWord(BigInt(domain.chainId)),
      addressWord(domain.verifyingContract),
    ]),
  )
}

/** The 32 bytes signed for a transfer under a domain. Throws RangeError for a number that does not fit a word. */
export function authorizationDigest(
  separator: Uint8Array,
  authorization: TransferAuthorization,
): Buffer {
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  const structHash = keccak(
    Buffer.concat([
      TRANSFER_TYPE,
      addressWord(from),
      addressWord(to),
      uintWord(value),
      uintWord(validAfter),
      uintWord(validBefore),
      bytesOfHex(nonce),
    ]),
  )
  return keccak(Buffer.concat([Buffer.from([0x19, 0x01]), separator, structHash]))
}

/** A signature with an s above half the order has a twin, and tokens refuse it (EIP-2). */
const HALF_ORDER = uintWord(SECP256K1_ORDER / 2n)

/** Reads `r ‖ s ‖ v` with v 27, 28, 0 or 1 and a low s, as tokens require before recovery; undefined for anything else. */
export function readEcdsaSignature(
  bytes: Uint8Array,
): { readonly rs: Uint8Array; readonly recovery: 0 | 1 } | undefined {
  if (bytes.length !== 65) return undefined
  const v = bytes[64] ?? -1
  const recovery = v >= 27 ? v - 27 : v
  if (recovery !== 0 && recovery !== 1) return undefined
  if (Buffer.compare(bytes.subarray(32, 64), HALF_ORDER) > 0) return undefined
  return { rs: bytes.subarray(0, 64), recovery }
}

/** The address whose key signed a digest, lower case; undefined if the signature is invalid. */
export function recoverSigner(
  digest: Uint8Array,
  signature: { readonly rs: Uint8Array; readonly recovery: 0 | 1 },
): Hex | undefined {
  const point = secp256k1.recover(digest, signature)
  return point === undefined ? undefined : addressOfPoint(point)
}

/** The address of an uncompressed public key, lower case. */
export function addressOfPoint(point: Uint8Array): Hex {
  return hexOfBytes(keccak(point.subarray(1)).subarray(12))
}

/**
 * A signer for an ECDSA private key, 32 bytes or DER in hex. Throws RangeError for anything else; the message says what it is
 * instead, and never contains it.
 */
export function evmSigner(options: { readonly privateKey: string }): EvmSigner {
  const key = Buffer.from(neededPrivateKey(options.privateKey, { only: 'ecdsa' }).hex, 'hex')
  return {
    address: addressOfPoint(secp256k1.pointOfKey(key)),
    async signTypedData({ domain, message }) {
      const digest = authorizationDigest(domainSeparator(domain), message)
      const { recovery, rs } = secp256k1.sign(digest, key)
      return hexOfBytes(Buffer.concat([rs, Buffer.from([27 + recovery])]))
    },
  }
}
