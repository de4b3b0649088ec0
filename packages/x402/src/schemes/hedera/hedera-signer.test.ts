import { PrivateKey } from '@hiero-ledger/sdk'
import { describe, expect, test } from 'vitest'
import { hederaSigner } from './hedera-signer.ts'

const accountId = '0.0.9001'
const raw = '5a'.repeat(32)

describe('a private key in every form that Hedera’s tools print', () => {
  const ecdsa = PrivateKey.fromStringECDSA(raw)
  const ed25519 = PrivateKey.fromStringED25519(raw)

  test.each([
    ['raw hex', raw],
    ['0x and hex', `0x${raw}`],
    ['DER', ecdsa.toStringDer()],
  ])('ECDSA as %s', (_name, privateKey) => {
    const signer = hederaSigner({ accountId, privateKey })
    expect(signer.keyKind).toBe('ecdsa')
    expect(Buffer.from(signer.publicKey)).toEqual(Buffer.from(ecdsa.publicKey.toBytesRaw()))
    expect(signer.evmAddress).toBe(`0x${ecdsa.publicKey.toEvmAddress()}`)
  })

  test.each([
    ['DER', { privateKey: ed25519.toStringDer() }],
    ['raw hex with its kind named', { privateKey: raw, keyKind: 'ed25519' as const }],
  ])('Ed25519 as %s', (_name, options) => {
    const signer = hederaSigner({ accountId, ...options })
    expect(signer.keyKind).toBe('ed25519')
    expect(Buffer.from(signer.publicKey)).toEqual(Buffer.from(ed25519.publicKey.toBytesRaw()))
    expect(signer.evmAddress).toBeUndefined()
  })

  test('the SDK verifies what both kinds sign', async () => {
    const body = Buffer.from('any body')
    const first = await hederaSigner({ accountId, privateKey: raw }).sign(body)
    const second = await hederaSigner({ accountId, privateKey: ed25519.toStringDer() }).sign(body)
    expect(ecdsa.publicKey.verify(body, first)).toBe(true)
    expect(ed25519.publicKey.verify(body, second)).toBe(true)
  })
})

test.each(['', 'secret', '00'.repeat(32), 'ff'.repeat(32), '11'.repeat(31), '11'.repeat(33)])(
  'an invalid private key is refused without being repeated',
  (privateKey) => {
    expect(() => hederaSigner({ accountId, privateKey })).toThrow(
      /^privateKey: expected 32 bytes in hex, or DER in hex; it is (?!.*secret)/,
    )
  },
)
