import { assert as assertProperty, string as fcString, property } from 'fast-check'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { hexOfBytes } from '../schemes/evm/evm-words.ts'
import { issuedAtMs, proofHeader, signInError, vectors, wanted } from './sign-in.fixture.ts'
import { personalDigest, signInText } from './sign-in-message.ts'
import { judgeSignIn } from './sign-in-proof.ts'

const account = privateKeyToAccount(vectors.privateKey)

describe.each(vectors.proofs.map((vector, index) => ({ ...vector, index })))(
  'golden vector: $title',
  ({ digest, index, info, signature }) => {
    test('the text and its digest equal those of the official library', async () => {
      const text = signInText(info, vectors)
      expect(hexOfBytes(personalDigest(text))).toBe(digest)
      expect(await account.signMessage({ message: text })).toBe(signature)
    })

    test('the proof is accepted, with its address in either case', () => {
      expect(judgeSignIn(proofHeader(index), wanted)).toEqual({
        kind: 'proved',
        nonce: info.nonce,
        issuedAtMs,
      })
      expect(signInError(proofHeader(index, { address: wanted.address }))).toBe('proved')
    })
  },
)

const { signature } = vectors.proofs[0] ?? { signature: '0x' }
const HALF_ORDER_TWICE = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The other signature of the same text by the same key. */
function malleated(): string {
  const s = HALF_ORDER_TWICE - BigInt(`0x${signature.slice(66, 130)}`)
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}1b`
}

describe('A17: why a proof is refused', () => {
  test.each([
    ['another host', { domain: 'evil.example' }, 'invalid_siwx_domain_mismatch'],
    ['another port', { domain: 'api.example.com:8443' }, 'invalid_siwx_domain_mismatch'],
    ['another origin', { uri: 'https://evil.example/api' }, 'invalid_siwx_uri_mismatch'],
    ['plain http', { uri: 'http://api.example.com/api' }, 'invalid_siwx_uri_mismatch'],
    ['another agent', { address: `0x${'ab'.repeat(20)}` }, 'invalid_siwx_address'],
    ['somebody else’s nonce', { nonce: 'b'.repeat(32) }, 'invalid_siwx_nonce'],
    ['another EVM chain', { chainId: 'eip155:295' }, 'invalid_siwx_chain_id'],
    ['a chain that is not EVM', { chainId: 'hedera:testnet' }, 'invalid_siwx_unsupported_chain'],
    ['another kind of key', { type: 'ed25519' }, 'invalid_siwx_unsupported_chain'],
    ['a contract’s signature', { signatureScheme: 'eip1271' }, 'invalid_siwx_unsupported_chain'],
    ['a changed statement', { statement: 'Pay.' }, 'invalid_siwx_signature'],
    ['a removed statement', { statement: undefined }, 'invalid_siwx_signature'],
    ['a later expiry', { expirationTime: '2026-11-22T12:06:00.000Z' }, 'invalid_siwx_signature'],
    ['a past expiry', { expirationTime: '2026-11-22T12:00:59.000Z' }, 'invalid_siwx_expired'],
    ['a later start', { notBefore: '2026-11-22T12:01:01.000Z' }, 'invalid_siwx_not_yet_valid'],
    ['64 bytes', { signature: signature.slice(0, 130) }, 'invalid_siwx_malformed_signature'],
    ['v = 1', { signature: `${signature.slice(0, 130)}01` }, 'invalid_siwx_malformed_signature'],
    [
      'a malleated (high-s) signature',
      { signature: malleated() },
      'invalid_siwx_malformed_signature',
    ],
    ['zeros', { signature: `0x${'00'.repeat(64)}1b` }, 'invalid_siwx_signature'],
    ['two lines in one field', { requestId: 'r\nNonce: x' }, 'sign_in_header_undecodable'],
    ['no field', { nonce: undefined }, 'sign_in_header_undecodable'],
    ['another version', { version: '2' }, 'sign_in_header_undecodable'],
    ['no time', { issuedAt: '22 November 2026' }, 'sign_in_header_undecodable'],
  ])('%s', (_what, change, error) => {
    expect(signInError(proofHeader(0, change))).toBe(error)
  })

  test('age: 300 s, and no challenge from the future except for the skew of replicas’ clocks', () => {
    expect(signInError(proofHeader(1), { nowMs: issuedAtMs + 299_999 })).toBe('proved')
    expect(signInError(proofHeader(1), { nowMs: issuedAtMs + 300_000 })).toBe(
      'invalid_siwx_issued_at_too_old',
    )
    expect(signInError(proofHeader(1), { nowMs: issuedAtMs - 5_000 })).toBe('proved')
    expect(signInError(proofHeader(1), { nowMs: issuedAtMs - 5_001 })).toBe(
      'invalid_siwx_issued_at_in_future',
    )
  })

  test('header bombs: too large is not decoded, and no text throws', () => {
    expect(signInError('A'.repeat(4_097))).toBe('sign_in_header_too_large')
    const nested = Buffer.from('['.repeat(3_000)).toString('base64').slice(0, 4_096)
    expect(signInError(nested)).toBe('sign_in_header_undecodable')
    const bomb = Array.from({ length: 1_000 }, () => 'x')
    expect(signInError(proofHeader(0, { resources: bomb }).slice(0, 4_096))).toBe(
      'sign_in_header_undecodable',
    )
    assertProperty(
      property(fcString({ maxLength: 5_000 }), (text) => {
        expect(signInError(text)).toMatch(/^sign_in_header_/)
        expect(signInError(Buffer.from(text).toString('base64'))).toMatch(/^sign_in_header_/)
      }),
    )
  })
})
