import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTokenKeys, parseTokenKeys } from './token-keys.ts'

const first = 'first secret, thirty-two bytes long'
const second = 'second, with spaces , and commas = '
const bytes = (text: string): Buffer => Buffer.from(text, 'utf8')

const parsed = (text: string) => {
  const result = parseTokenKeys(text)
  if (result.kind !== 'keys') throw new Error(result.problem)
  return result.keys
}

describe('C20: the ring of HS256 secrets', () => {
  test('the first secret signs, all of them verify, no other secret does', () => {
    const ring = createTokenKeys([bytes(first), bytes(second)])
    const signingInput = 'header.claims'
    const others = [first, second, 'a secret that is not trusted here'].map((secret) =>
      createTokenKeys([bytes(secret)]).sign(signingInput),
    )
    expect(ring.sign(signingInput)).toBe(others[0])
    expect(others.map((signature) => ring.matches({ signingInput, signature }))).toEqual([
      true,
      true,
      false,
    ])
  })

  test('no other spelling of a signature holds', () => {
    const ring = createTokenKeys([bytes(first)])
    const signature = ring.sign('input')
    const last = signature.slice(-1)
    // The last of 43 characters carries two bits that a decoder drops, so the same bytes have three more spellings.
    const twins = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      .split('')
      .map((character) => signature.slice(0, -1) + character)
      .filter((twin) => Buffer.from(twin, 'base64url').equals(Buffer.from(signature, 'base64url')))
    expect(twins).toHaveLength(4)
    for (const twin of [...twins, `${signature}=`, ` ${signature}`, `${signature}\n`])
      expect(ring.matches({ signingInput: 'input', signature: twin })).toBe(twin === signature)
    // A character whose low byte equals the right one's.
    const wide = signature.slice(0, -1) + String.fromCharCode(0x100 + last.charCodeAt(0))
    expect(ring.matches({ signingInput: 'input', signature: wide })).toBe(false)
  })

  test('S3: secrets are the UTF-8 bytes of a line, never decoded and never trimmed', () => {
    const hex = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'
    for (const secret of [hex, second, 'geheimnis mit ü, 32 bytes und mehr'])
      expect(parsed(secret).sign('x')).toBe(createTokenKeys([bytes(secret)]).sign('x'))
  })

  test.each([
    [`${first}\n${second}`, 2],
    [`${first}\r\n\r\n${second}\r\n`, 2],
    [`\n${first}\n`, 1],
    [`${first},${second}`, 1],
  ])('one secret per line, empty lines ignored: %j', (text, count) => {
    const keys = parsed(text)
    const lines = text.split(/\r?\n/).filter(Boolean)
    expect(lines).toHaveLength(count)
    const signatures = lines.map((line) => createTokenKeys([bytes(line)]).sign('x'))
    expect(keys.sign('x')).toBe(signatures[0])
    for (const signature of signatures)
      expect(keys.matches({ signingInput: 'x', signature })).toBe(true)
  })

  test.each([
    ['', 'expected at least one secret'],
    ['\n\n', 'expected at least one secret'],
    ['short', 'secret 1: expected at least 32 bytes'],
    [`${first}\n${'x'.repeat(31)}`, 'secret 2: expected at least 32 bytes'],
  ])('a bad text is refused with its position: %j', (text, problem) => {
    expect(parseTokenKeys(text)).toEqual({ kind: 'refused', problem })
  })

  test('an empty ring and a secret under 32 bytes (RFC 7518 §3.2) are refused', () => {
    expect(() => createTokenKeys([])).toThrow(RangeError)
    expect(() => createTokenKeys([bytes('x'.repeat(31))])).toThrow(RangeError)
    expect(createTokenKeys([bytes('x'.repeat(32))]).sign('x')).toHaveLength(43)
  })

  test('no printed form holds a secret', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8, maxLength: 60, unit: 'grapheme-ascii' }), (secret) => {
        const result = parseTokenKeys(secret)
        const shown = inspect(result, { depth: 9, showHidden: true }) + JSON.stringify(result)
        expect(shown).not.toContain(secret)
      }),
    )
  })
})
