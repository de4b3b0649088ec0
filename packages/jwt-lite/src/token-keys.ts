/**
 * The HS256 secrets that a service trusts: the first signs, all verify. To rotate, put the new secret first and drop the
 * old one once its last token has expired. Secrets live in `KeyObject`s, which print nothing.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

/** RFC 7518 §3.2: an HS256 key is at least as long as the hash. */
export const TOKEN_SECRET_BYTES_MIN = 32

export type TokenKeys = {
  /** HMAC-SHA256 of a text's UTF-8 bytes under the first secret, base64url without padding. */
  sign(signingInput: string): string
  /**
   * Whether `signature`, in strict base64url, is that of any secret. The time taken reveals neither which one nor how
   * close it was.
   */
  matches(signed: { readonly signingInput: string; readonly signature: string }): boolean
}

/** Builds a ring; the first secret signs. Throws a RangeError for an empty list or a secret under 32 bytes. */
export function createTokenKeys(secrets: readonly Uint8Array[]): TokenKeys {
  if (secrets.some((secret) => secret.length < TOKEN_SECRET_BYTES_MIN))
    throw new RangeError(`a token secret has at least ${TOKEN_SECRET_BYTES_MIN} bytes`)
  const keys = secrets.map((secret) => createSecretKey(secret))
  const [first] = keys
  if (first === undefined) throw new RangeError('a token key ring has at least one secret')
  return {
    sign: (signingInput) => computeSignature(first, signingInput),
    matches: ({ signingInput, signature }) => {
      // Compared as text: only the one strict spelling of a signature is equal, whatever a decoder would forgive.
      const presented = Buffer.from(signature, 'utf8')
      let isMatch = false
      // Every secret is tried even after a match, so that the time does not reveal which one matched.
      for (const key of keys) {
        const expected = Buffer.from(computeSignature(key, signingInput), 'utf8')
        if (presented.length === expected.length && timingSafeEqual(presented, expected))
          isMatch = true
      }
      return isMatch
    },
  }
}

/** A ring read from a configured text, or what is wrong with it, without repeating any part of the text. */
export type ParsedTokenKeys =
  | { readonly kind: 'keys'; readonly keys: TokenKeys }
  | { readonly kind: 'refused'; readonly problem: string }

/**
 * Reads the secrets from an environment variable or secret file: one per line, the signing one first, empty lines
 * ignored. A secret is the UTF-8 bytes of its line, never decoded and never trimmed. Line breaks separate secrets because
 * a one-line secret cannot contain one.
 */
export function parseTokenKeys(text: string): ParsedTokenKeys {
  const lines = text.split(/\r?\n/).filter((line) => line !== '')
  if (lines.length === 0) return { kind: 'refused', problem: 'expected at least one secret' }
  const secrets = lines.map((line) => Buffer.from(line, 'utf8'))
  const short = secrets.findIndex((secret) => secret.length < TOKEN_SECRET_BYTES_MIN)
  if (short >= 0)
    return {
      kind: 'refused',
      problem: `secret ${short + 1}: expected at least ${TOKEN_SECRET_BYTES_MIN} bytes`,
    }
  return { kind: 'keys', keys: createTokenKeys(secrets) }
}

function computeSignature(key: KeyObject, signingInput: string): string {
  return createHmac('sha256', key).update(signingInput, 'utf8').digest('base64url')
}
