import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/seal.json' with { type: 'json' }
import { createKeyRing, isSealed, openValue, sealedKeyId, sealValue } from './seal.ts'
import { byteFlips } from './testing/byte-flips.ts'
import { countingRandomBytes } from './testing/counting-random-bytes.ts'

const slot = 'p-17|medication|3|user'
const oldKey = { id: 'old', key: Buffer.alloc(32, 1) }
const newKey = { id: 'new', key: Buffer.alloc(32, 2) }
const ring = createKeyRing({
  activeId: 'old',
  keys: [oldKey],
  randomBytes: countingRandomBytes(),
})
const anyText = fc.string({ unit: anyCharacter })

describe('C16: sealing', () => {
  test.each(vectors.values)('golden vector $keyId: sealed byte for byte, and opened', (vector) => {
    const own = createKeyRing({
      activeId: vector.keyId,
      keys: [{ id: vector.keyId, key: Buffer.from(vector.key, 'hex') }],
      randomBytes: () => Buffer.from(vector.nonce, 'hex'),
    })
    const { value } = vector
    const sealed = sealValue({ ring: own, value, slot: vector.slot })
    expect(Buffer.from(sealed).toString('hex')).toBe(vector.sealed)
    expect(openValue({ ring: own, sealed, slot: vector.slot })).toEqual({ kind: 'opened', value })
    expect(sealedKeyId(sealed)).toBe(vector.keyId)
  })

  test('a sealed value opens in its slot, whatever the value', () => {
    fc.assert(
      fc.property(anyText, anyText, (value, anySlot) => {
        const sealed = sealValue({ ring, value, slot: anySlot })
        expect(openValue({ ring, sealed, slot: anySlot })).toEqual({ kind: 'opened', value })
      }),
    )
  })

  test('the same value is never sealed to the same bytes', () => {
    const hexes = Array.from({ length: 50 }, () =>
      Buffer.from(sealValue({ ring, value: 'same', slot })).toString('hex'),
    )
    expect(new Set(hexes).size).toBe(50)
  })

  test('every flipped byte is detected', () => {
    const sealed = sealValue({ ring, value: 'Take one tablet.', slot })
    const reasons = new Set<string>()
    for (const { flipped } of byteFlips(sealed)) {
      const opened = openValue({ ring, sealed: flipped, slot })
      reasons.add(opened.kind === 'opened' ? opened.kind : opened.reason)
    }
    expect([...reasons].toSorted()).toEqual(['key_missing', 'malformed', 'seal'])
  })

  test('every truncation and every extra byte is detected', () => {
    const sealed = Buffer.from(sealValue({ ring, value: 'Take one tablet.', slot }))
    for (let length = 0; length < sealed.length; length += 1)
      expect(openValue({ ring, sealed: sealed.subarray(0, length), slot }).kind).toBe('unopened')
    const longer = Buffer.concat([sealed, Buffer.of(0)])
    expect(openValue({ ring, sealed: longer, slot })).toMatchObject({ reason: 'seal' })
  })

  test('ciphertext moved to another slot fails to open: patient, domain, version and audience', () => {
    const sealed = sealValue({ ring, value: 'Take one tablet.', slot })
    for (const other of [
      'p-18|medication|3|user',
      'p-17|diet|3|user',
      'p-17|medication|4|user',
      'p-17|medication|3|assistant',
    ])
      expect(openValue({ ring, sealed, slot: other })).toEqual({
        kind: 'unopened',
        reason: 'seal',
        keyId: 'old',
      })
  })

  test('a value under a key that the ring lacks: key_missing, with the id', () => {
    const sealed = sealValue({ ring, value: 'a', slot })
    const other = createKeyRing({ activeId: 'new', keys: [newKey] })
    expect(openValue({ ring: other, sealed, slot })).toEqual({
      kind: 'unopened',
      reason: 'key_missing',
      keyId: 'old',
    })
  })

  test('after a rotation, old values open and new ones are sealed under the new key', () => {
    const rotated = createKeyRing({ activeId: 'new', keys: [newKey, oldKey] })
    const sealed = sealValue({ ring, value: 'a', slot })
    expect(openValue({ ring: rotated, sealed, slot })).toEqual({ kind: 'opened', value: 'a' })
    expect(sealedKeyId(sealValue({ ring: rotated, value: 'a', slot }))).toBe('new')
  })

  test('another key under the same id does not open', () => {
    const sealed = sealValue({ ring, value: 'a', slot })
    const other = createKeyRing({ activeId: 'old', keys: [{ id: 'old', key: newKey.key }] })
    expect(openValue({ ring: other, sealed, slot })).toMatchObject({ reason: 'seal' })
  })

  test('no UTF-8 text passes for a sealed value, and random bytes never throw or open', () => {
    fc.assert(
      fc.property(anyText, fc.uint8Array({ maxLength: 80 }), (text, bytes) => {
        expect(isSealed(Buffer.from(text))).toBe(false)
        expect(sealedKeyId(Buffer.from(text))).toBeUndefined()
        const forged = Buffer.concat([Buffer.of(0xf9), bytes])
        expect(openValue({ ring, sealed: bytes, slot }).kind).toBe('unopened')
        expect(openValue({ ring, sealed: forged, slot }).kind).toBe('unopened')
      }),
    )
    expect(isSealed(sealValue({ ring, value: '', slot }))).toBe(true)
  })

  test('a text without a UTF-8 form and a nonce of the wrong length are refused', () => {
    expect(() => sealValue({ ring, value: '\ud800', slot })).toThrow(RangeError)
    expect(() => sealValue({ ring, value: 'a', slot: '\udc00' })).toThrow(RangeError)
    const short = createKeyRing({
      activeId: 'old',
      keys: [oldKey],
      randomBytes: () => Buffer.alloc(11),
    })
    expect(() => sealValue({ ring: short, value: 'a', slot })).toThrow(RangeError)
  })
})
