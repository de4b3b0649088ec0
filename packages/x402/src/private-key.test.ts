import { generateKeyPairSync } from 'node:crypto'
import { PrivateKey } from '@hiero-ledger/sdk'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readPrivateKey } from './private-key.ts'

const ECDSA = '11'.repeat(32)
const ED25519 = '22'.repeat(32)
const portal = (key: PrivateKey): string => key.toStringDer()

describe('a private key', () => {
  const openssl = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey
  const d = Buffer.from(openssl.export({ format: 'jwk' }).d ?? '', 'base64url').toString('hex')
  const der = (type: 'pkcs8' | 'sec1') => openssl.export({ format: 'der', type }).toString('hex')

  test.each([
    ['32 bytes', ECDSA, 'ecdsa', ECDSA],
    ['with 0x', `0x${ECDSA}`, 'ecdsa', ECDSA],
    ['in quotes, with spaces', ` "0x${ECDSA.toUpperCase()}"\n`, 'ecdsa', ECDSA],
    ['in single quotes', `'${ECDSA}'`, 'ecdsa', ECDSA],
    ['as the portal prints ECDSA', portal(PrivateKey.fromStringECDSA(ECDSA)), 'ecdsa', ECDSA],
    [
      'as the portal prints Ed25519',
      portal(PrivateKey.fromStringED25519(ED25519)),
      'ed25519',
      ED25519,
    ],
    ['as OpenSSL writes PKCS#8', der('pkcs8'), 'ecdsa', d.padStart(64, '0')],
    ['as OpenSSL writes SEC 1', `0x${der('sec1')}`, 'ecdsa', d.padStart(64, '0')],
  ])('is read: %s', (_form, text, ...[keyKind, hex]) => {
    expect(readPrivateKey(text)).toEqual({ kind: 'key', keyKind, hex })
  })

  test.each([
    ['', 'empty'],
    ['""', 'empty'],
    [`0x${'ab'.repeat(20)}`, '20 bytes: an address?'],
    [`02${'ab'.repeat(32)}`, '33 bytes: a public key?'],
    [`04${'ab'.repeat(64)}`, '65 bytes: a public key?'],
    [PrivateKey.fromStringED25519(ED25519).publicKey.toStringDer(), '44 bytes: a public key?'],
    ['0.0.1001', 'an account id'],
    ['ab'.repeat(31), '31 bytes'],
    ['a'.repeat(63), '63 hexadecimal digits: one is missing or too many'],
    ['00'.repeat(32), '32 bytes that are no key of secp256k1'],
    ['ff'.repeat(32), '32 bytes that are no key of secp256k1'],
    ['-----BEGIN PRIVATE KEY-----\nMC4C', 'PEM: give its DER in hex'],
    [Array(24).fill('abandon').join(' '), '24 words: a recovery phrase?'],
    ['${AGENT_KEY}', '12 characters, not all of them hexadecimal'],
  ])('%j is none, and what it is instead is said', (text, what) => {
    expect(readPrivateKey(text)).toEqual({ kind: 'not_a_key', what })
  })

  test('of the other kind is named, where one kind is needed', () => {
    const text = portal(PrivateKey.fromStringED25519(ED25519))
    const what = 'an Ed25519 key, not an ECDSA key'
    expect(readPrivateKey(text, { only: 'ecdsa' })).toEqual({ kind: 'not_a_key', what })
  })

  test('no message repeats what was given', () => {
    const text = fc.oneof(
      fc.string({ minLength: 12 }),
      fc.string({ minLength: 12, unit: fc.constantFrom('0', '1', '3', 'a', 'f') }),
    )
    fc.assert(
      fc.property(text, (secret) => {
        const { what = '' } = { ...readPrivateKey(secret) } as { readonly what?: string }
        expect(what).not.toContain(secret)
      }),
    )
  })
})
