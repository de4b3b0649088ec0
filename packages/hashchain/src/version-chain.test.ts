import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/chain.json' with { type: 'json' }
import { GENESIS_PREV_HASH, versionHash, versionPreimage } from './version-chain.ts'

const anyText = fc.string({ unit: anyCharacter, maxLength: 40 })
describe('C8: the version hash', () => {
  test('is SHA-256 over JSON.stringify([prevHash, value, writtenAt, authorId]): golden vectors', () => {
    for (const version of vectors.versions) {
      expect(versionPreimage(version)).toBe(version.preimage)
      expect(versionHash(version)).toBe(version.versionHash)
    }
  })

  test('the first prevHash is 64 zeros', () => {
    expect(GENESIS_PREV_HASH).toMatch(/^0{64}$/)
    expect(vectors.versions[0]?.prevHash).toBe(GENESIS_PREV_HASH)
  })

  test('two contents never share a preimage', () => {
    const content = fc.record({
      prevHash: anyText,
      value: anyText,
      writtenAt: anyText,
      authorId: anyText,
    })
    fc.assert(
      fc.property(content, ({ prevHash, value, writtenAt, authorId }) => {
        const preimage = versionPreimage({ prevHash, value, writtenAt, authorId })
        expect(JSON.parse(preimage)).toEqual([prevHash, value, writtenAt, authorId])
      }),
    )
  })
})
