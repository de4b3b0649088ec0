/** Judges the proof of a key that a client sends in `SIGN-IN-WITH-X`, in the reference's order and with its codes. */
import { z } from 'zod'
import { jsonOfBase64 } from '../gate/payment-headers.ts'
import { readEcdsaSignature, recoverSigner } from '../schemes/evm/authorization.ts'
import { addressSchema, bytesOfHex, type Hex } from '../schemes/evm/evm-words.ts'
import { SIGN_IN_AGE_MS_MAX } from './sign-in-challenge.ts'
import {
  eip155Chain,
  personalDigest,
  SIGN_IN_TYPE,
  signInInfoSchema,
  signInText,
} from './sign-in-message.ts'

/** Largest header, in characters, checked before decoding: official clients send 620 to 832. */
const HEADER_CHARS_MAX = 4_096

/** How far ahead the clock of the replica that issued the challenge may be, milliseconds. */
const CLOCK_SKEW_MS = 5_000

const proofSchema = signInInfoSchema.extend({
  address: addressSchema,
  chainId: z.string(),
  type: z.string(),
  signatureScheme: z.string().optional(),
  signature: z.string().max(1_000),
})

type Proof = z.infer<typeof proofSchema>

/** Why a proof is refused: the `error` of the 402 that asks for another. */
export type SignInRefusal =
  | 'sign_in_header_too_large'
  | 'sign_in_header_undecodable'
  | `invalid_siwx_${
      | 'address'
      | 'chain_id'
      | 'domain_mismatch'
      | 'expired'
      | 'issued_at_in_future'
      | 'issued_at_too_old'
      | 'malformed_signature'
      | 'nonce'
      | 'not_yet_valid'
      | 'signature'
      | 'unsupported_chain'
      | 'uri_mismatch'}`

export type SignInWanted = {
  /** Public address of the service; the client's `Host` is ignored. */
  readonly baseUrl: string
  /** The one chain whose keys count, `eip155:…`. */
  readonly chainId: string
  /** Whose proof it must be, lower case. */
  readonly address: Hex
  readonly nowMs: number
  /** Whether that nonce was issued for that address at that time. */
  readonly isNonce: (nonce: string, issuedAt: string) => boolean
}

type SignInVerdict =
  /** The same header proves the same thing until 300 s after `issuedAtMs`: a caller that acts on it must remember its nonce. */
  | { readonly kind: 'proved'; readonly nonce: string; readonly issuedAtMs: number }
  | { readonly kind: 'refused'; readonly error: SignInRefusal }

/** Judges the header's value; cheap checks first, the signature last (about 70 µs). Never throws. */
export function judgeSignIn(header: string, wanted: SignInWanted): SignInVerdict {
  const proof = readProof(header)
  if (typeof proof === 'string') return { kind: 'refused', error: proof }
  const error = findRefusal(proof, wanted)
  if (error !== undefined) return { kind: 'refused', error }
  return { kind: 'proved', nonce: proof.nonce, issuedAtMs: Date.parse(proof.issuedAt) }
}

function readProof(header: string): Proof | SignInRefusal {
  if (header.length > HEADER_CHARS_MAX) return 'sign_in_header_too_large'
  return proofSchema.safeParse(jsonOfBase64(header)).data ?? 'sign_in_header_undecodable'
}

function findRefusal(proof: Proof, wanted: SignInWanted): SignInRefusal | undefined {
  const base = new URL(wanted.baseUrl)
  if (proof.domain !== base.host) return 'invalid_siwx_domain_mismatch'
  if (URL.parse(proof.uri)?.origin !== base.origin) return 'invalid_siwx_uri_mismatch'
  const timeRefusal = findTimeRefusal(proof, wanted.nowMs)
  if (timeRefusal !== undefined) return timeRefusal
  if (proof.address !== wanted.address) return 'invalid_siwx_address'
  if (!wanted.isNonce(proof.nonce, proof.issuedAt)) return 'invalid_siwx_nonce'
  const { chainId, signatureScheme = SIGN_IN_TYPE, type } = proof
  const isEip155 = eip155Chain.safeParse(chainId).success
  if (!isEip155 || type !== SIGN_IN_TYPE || signatureScheme !== SIGN_IN_TYPE)
    return 'invalid_siwx_unsupported_chain'
  if (chainId !== wanted.chainId) return 'invalid_siwx_chain_id'
  return findSignatureRefusal(proof)
}

function findTimeRefusal(proof: Proof, nowMs: number): SignInRefusal | undefined {
  const { expirationTime, notBefore } = proof
  const ageMs = nowMs - Date.parse(proof.issuedAt)
  if (ageMs >= SIGN_IN_AGE_MS_MAX) return 'invalid_siwx_issued_at_too_old'
  if (ageMs < -CLOCK_SKEW_MS) return 'invalid_siwx_issued_at_in_future'
  if (expirationTime !== undefined && Date.parse(expirationTime) <= nowMs)
    return 'invalid_siwx_expired'
  if (notBefore !== undefined && Date.parse(notBefore) > nowMs) return 'invalid_siwx_not_yet_valid'
  return undefined
}

/**
 * The text is rebuilt from the fields, so only what was judged can have been signed. A signature has one spelling: 65
 * bytes, a low s, v 27 or 28.
 */
function findSignatureRefusal(proof: Proof): SignInRefusal | undefined {
  if (!/^0x[0-9a-fA-F]{130}$/.test(proof.signature)) return 'invalid_siwx_malformed_signature'
  const bytes = bytesOfHex(proof.signature)
  const signature = (bytes[64] ?? 0) < 27 ? undefined : readEcdsaSignature(bytes)
  if (signature === undefined) return 'invalid_siwx_malformed_signature'
  const signer = recoverSigner(personalDigest(signInText(proof, proof)), signature)
  return signer === proof.address ? undefined : 'invalid_siwx_signature'
}
