import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKeyRing, parseKeyRing } from './seal.ts'

const key = (byte: number): Buffer => Buffer.alloc(32, byte)
const base64 = (byte: number): string => key(byte).toString('base64')

describe('C16: the key ring', () => {
  test('has the keys that it was given, and no other', () => {
    const ring = createKeyRing({
      activeId: 'b',
      keys: [
        { id: 'a', key: key(1) },
        { id: 'b', key: key(2) },
      ],
    })
    expect(ring.activeId).toBe('b')
    expect(['a', 'b'].map((id) => ring.key(id)?.export())).toEqual([key(1), key(2)])
    expect(ring.key('c')).toBeUndefined()
  })

  test('takes its nonces from the cryptographic generator by default', () => {
    const ring = createKeyRing({ activeId: 'a', keys: [{ id: 'a', key: key(1) }] })
    const seen = new Set(
      Array.from({ length: 100 }, () => Buffer.from(ring.randomBytes(12)).toString('hex')),
    )
    expect(seen.size).toBe(100)
  })

  test.each([
    ['no key for the active id', { activeId: 'b', keys: [{ id: 'a', key: key(1) }] }],
    ['a short key', { activeId: 'a', keys: [{ id: 'a', key: Buffer.alloc(31) }] }],
    ['a bad id', { activeId: 'a:b', keys: [{ id: 'a:b', key: key(1) }] }],
    ['a long id', { activeId: 'a'.repeat(65), keys: [{ id: 'a'.repeat(65), key: key(1) }] }],
    [
      'an id given twice',
      {
        activeId: 'a',
        keys: [
          { id: 'a', key: key(1) },
          { id: 'a', key: key(2) },
        ],
      },
    ],
  ])('refuses %s', (_, options) => {
    expect(() => createKeyRing(options)).toThrow(RangeError)
  })

  test('is read from id:base64,id:base64, the active key first', () => {
    const parsed = parseKeyRing(`2026-02:${base64(2)}, 2026-01:${base64(1)}`)
    if (parsed.kind !== 'ring') throw new Error(parsed.problem)
    expect(parsed.ring.activeId).toBe('2026-02')
    expect(parsed.ring.key('2026-02')?.export()).toEqual(key(2))
    expect(parsed.ring.key('2026-01')?.export()).toEqual(key(1))
  })

  test.each([
    ['', 'key 1: expected an id, a colon and a key'],
    [base64(1), 'key 1: expected an id, a colon and a key'],
    [`a:${base64(1)},`, 'key 2: expected an id, a colon and a key'],
    [`:${base64(1)}`, 'key 1: expected an id of 1 to 64 letters, digits, ".", "_" or "-"'],
    ['a:c2hvcnQ=', 'key 1: expected 32 bytes in padded base64'],
    [`a:${base64(1).slice(0, -1)}`, 'key 1: expected 32 bytes in padded base64'],
    [`a:${key(255).toString('base64url')}`, 'key 1: expected 32 bytes in padded base64'],
    [`a:${base64(1)},a:${base64(2)}`, 'key 2: expected an id that no other key has'],
  ])('a bad text is refused with its position: %j', (text, problem) => {
    expect(parseKeyRing(text)).toEqual({ kind: 'refused', problem })
  })

  test('no problem repeats part of the text, and a printed ring shows no key', () => {
    fc.assert(
      fc.property(fc.base64String({ minLength: 12 }), (secret) => {
        expect(JSON.stringify(parseKeyRing(`a:${secret}`))).not.toContain(secret)
        expect(JSON.stringify(parseKeyRing(secret))).not.toContain(secret)
      }),
    )
    const parsed = parseKeyRing(`a:${base64(1)}`)
    for (const printed of [
      inspect(parsed, { depth: 9, showHidden: true }),
      JSON.stringify(parsed),
    ]) {
      expect(printed).not.toContain(base64(1))
      expect(printed).not.toContain('01 01')
    }
  })
})
