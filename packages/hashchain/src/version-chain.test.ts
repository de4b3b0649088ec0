import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/chain.json' with { type: 'json' }
import { byteFlips } from './testing/byte-flips.ts'
import { chainOf } from './testing/chain-of.ts'
import {
  type ChainedVersion,
  type ChainVerdict,
  createChainReplay,
  GENESIS_PREV_HASH,
  hasLoneSurrogate,
  parsePreimage,
  versionHash,
  versionPreimage,
} from './version-chain.ts'

const FIELDS = ['prevHash', 'value', 'writtenAt', 'authorId', 'versionHash'] as const

const replay = (versions: readonly ChainedVersion[]): ChainVerdict => {
  const chain = createChainReplay()
  for (const version of versions) chain.add(version)
  return chain.verdict()
}

const replayPreimages = (versions: readonly ChainedVersion[]): ChainVerdict => {
  const chain = createChainReplay()
  for (const version of versions)
    chain.addPreimage({ preimage: versionPreimage(version), versionHash: version.versionHash })
  return chain.verdict()
}

const anyText = fc.string({ unit: 'binary', maxLength: 40 })
const anyValues = fc.array(anyText, { minLength: 1, maxLength: 8 })

describe('C8: the version hash', () => {
  test('is SHA-256 over JSON.stringify([prevHash, value, writtenAt, authorId]): golden vectors', () => {
    for (const version of vectors.versions) {
      expect(versionPreimage(version)).toBe(version.preimage)
      expect(versionHash(version)).toBe(version.versionHash)
    }
    expect(replay(vectors.versions)).toEqual({
      kind: 'intact',
      versions: vectors.versions.length,
      headHash: vectors.versions.at(-1)?.versionHash,
    })
  })

  test('the first prevHash is 64 zeros', () => {
    expect(GENESIS_PREV_HASH).toMatch(/^0{64}$/)
    expect(vectors.versions[0]?.prevHash).toBe(GENESIS_PREV_HASH)
  })

  test('two contents never share a preimage, and a preimage gives its content back', () => {
    const content = fc.record({
      prevHash: anyText,
      value: anyText,
      writtenAt: anyText,
      authorId: anyText,
    })
    fc.assert(
      fc.property(content, (fields) => {
        expect(parsePreimage(versionPreimage(fields))).toEqual(fields)
      }),
    )
  })

  test.each(['', '[', '{}', '["a","b","c"]', '["a","b","c",1]', '["a","b","c","d","e"]'])(
    'a text that no version hashes to is no preimage: %s',
    (text) => {
      expect(parsePreimage(text)).toBeUndefined()
    },
  )

  test('another spelling of the same array is no preimage', () => {
    expect(parsePreimage('["a", "b","c","d"]')).toBeUndefined()
    expect(parsePreimage('["\\u0061","b","c","d"]')).toBeUndefined()
    expect(parsePreimage('["a","b","c","d"]')).toBeDefined()
  })

  test('a lone surrogate is seen wherever it stands', () => {
    fc.assert(
      fc.property(
        anyText,
        anyText,
        fc.integer({ min: 0xd800, max: 0xdfff }),
        (before, after, unit) => {
          expect(hasLoneSurrogate(before + after)).toBe(false)
          expect(hasLoneSurrogate(`${before}x${String.fromCharCode(unit)}x${after}`)).toBe(true)
        },
      ),
    )
  })
})

describe('a replay', () => {
  test('finds every untouched chain intact, from fields and from preimages alike', () => {
    fc.assert(
      fc.property(anyValues, (values) => {
        const versions = chainOf(values)
        const intact = {
          kind: 'intact',
          versions: values.length,
          headHash: versions.at(-1)?.versionHash,
        }
        expect(replay(versions)).toEqual(intact)
        expect(replayPreimages(versions)).toEqual(intact)
      }),
    )
  })

  test('of no version is intact with the genesis hash', () => {
    expect(replay([])).toEqual({ kind: 'intact', versions: 0, headHash: GENESIS_PREV_HASH })
  })

  test('finds and locates every flipped byte of every stored field', () => {
    const versions = chainOf(['one', 'zwei ü', '三 💊'])
    let flips = 0
    for (const [position, version] of versions.entries())
      for (const field of FIELDS)
        for (const { flipped } of byteFlips(Buffer.from(version[field]))) {
          const altered = { ...version, [field]: Buffer.from(flipped).toString('utf8') }
          const verdict = replay(versions.with(position, altered))
          flips += 1
          expect(verdict).toEqual({
            kind: 'broken',
            version: position + 1,
            reason: field === 'prevHash' ? 'link' : 'hash',
            versions: 3,
          })
        }
    expect(flips).toBe(3 * (64 + 64 + 24 + 7) + 3 + 7 + 8)
  })

  test('finds and locates every flipped byte of every stored preimage', () => {
    const versions = chainOf(['one', 'zwei ü', '三 💊'])
    for (const [position, version] of versions.entries())
      for (const { flipped } of byteFlips(Buffer.from(versionPreimage(version)))) {
        const chain = createChainReplay()
        for (const other of versions)
          chain.addPreimage({
            preimage:
              other === version ? Buffer.from(flipped).toString('utf8') : versionPreimage(other),
            versionHash: other.versionHash,
          })
        expect(chain.verdict()).toMatchObject({ kind: 'broken', version: position + 1 })
      }
  })

  test('finds a version taken out before the end, at the place where it is missing', () => {
    fc.assert(
      fc.property(anyValues, fc.nat(), (values, seed) => {
        const versions = chainOf([...values, 'last'])
        const missing = seed % values.length
        const left = versions.toSpliced(missing, 1)
        for (const verdict of [replay(left), replayPreimages(left)])
          expect(verdict).toMatchObject({ kind: 'broken', version: missing + 1, reason: 'link' })
      }),
    )
  })

  test('finds reordered versions, at the first that is out of place', () => {
    fc.assert(
      fc.property(anyValues, fc.nat(), (values, seed) => {
        const versions = chainOf([...values, 'last'])
        const place = seed % values.length
        const [moved] = versions.splice(place, 1)
        if (moved !== undefined) versions.splice(place + 1, 0, moved)
        for (const verdict of [replay(versions), replayPreimages(versions)])
          expect(verdict).toMatchObject({ kind: 'broken', version: place + 1, reason: 'link' })
      }),
    )
  })

  test('finds a version rewritten together with its own hash, at the next version', () => {
    const [first, , third] = chainOf(['one', 'two', 'three'])
    const [, rewritten] = chainOf(['one', 'TWO'])
    if (first === undefined || rewritten === undefined || third === undefined)
      throw new Error('unreachable')
    const versions = [first, rewritten, third]
    for (const verdict of [replay(versions), replayPreimages(versions)])
      expect(verdict).toEqual({ kind: 'broken', version: 3, reason: 'link', versions: 3 })
  })

  test('cannot see a dropped tail by itself: the head hash and the journal tell', () => {
    const versions = chainOf(['one', 'two', 'three'])
    const verdict = replay(versions.slice(0, 2))
    expect(verdict).toMatchObject({ kind: 'intact', versions: 2 })
    expect(verdict).not.toMatchObject({ headHash: versions[2]?.versionHash })
  })

  test('keeps the first break and counts on', () => {
    const [first, second, third] = chainOf(['one', 'two', 'three'])
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('unreachable')
    const chain = createChainReplay()
    chain.add(first)
    chain.addBroken('seal')
    chain.add(third)
    chain.addBroken('slot')
    expect(chain.verdict()).toEqual({ kind: 'broken', version: 2, reason: 'seal', versions: 4 })
  })
})
