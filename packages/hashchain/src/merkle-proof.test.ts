import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/merkle.json' with { type: 'json' }
import {
  consistencyProof,
  inclusionProof,
  type LeafRange,
  verifyConsistency,
  verifyInclusion,
} from './merkle-proof.ts'
import { computeRoot, leafHash } from './merkle-tree.ts'
import { byteFlips } from './testing/byte-flips.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const vectorLeaves = vectors.entries.map((entry) => leafHash(Buffer.from(entry, 'hex')))
const leaves = Array.from({ length: 70 }, (_, index) => leafHash(Buffer.from(`entry ${index}`)))
const makeReader =
  (hashes: readonly Uint8Array[]) =>
  ({ from, to }: LeafRange) =>
    hashes.slice(from, to)

const anyPair = fc
  .tuple(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 70 }))
  .map(([left, right]) => ({ smaller: Math.min(left, right), size: Math.max(left, right) }))

const proveInclusion = ({ index, size }: { index: number; size: number }) => ({
  index,
  size,
  leafHash: leaves[index] ?? leafHash(Buffer.of()),
  proof: inclusionProof({ index, size, leafHashes: makeReader(leaves) }),
  rootHash: computeRoot(leaves.slice(0, size)),
})

const proveConsistency = ({ oldSize, size }: { oldSize: number; size: number }) => ({
  oldSize,
  size,
  oldRootHash: computeRoot(leaves.slice(0, oldSize)),
  rootHash: computeRoot(leaves.slice(0, size)),
  proof: consistencyProof({ oldSize, size, leafHashes: makeReader(leaves) }),
})

describe('RFC 9162: inclusion', () => {
  test.each(vectors.inclusion)('golden vector: entry $index of $size', ({ index, size, proof }) => {
    const made = inclusionProof({ index, size, leafHashes: makeReader(vectorLeaves) })
    expect(made.map(hex)).toEqual(proof)
  })

  test('every entry of every tree up to 70 is proved', () => {
    for (let size = 1; size <= 70; size += 1)
      for (let index = 0; index < size; index += 1)
        expect(verifyInclusion(proveInclusion({ index, size }))).toBe(true)
  })

  test('no proof holds for another entry, index or root, or with a hash more, less or altered', () => {
    fc.assert(
      fc.property(anyPair, ({ smaller, size }) => {
        const valid = proveInclusion({ index: smaller - 1, size })
        const altered = leafHash(valid.leafHash)
        expect(verifyInclusion({ ...valid, leafHash: altered })).toBe(false)
        expect(verifyInclusion({ ...valid, rootHash: altered })).toBe(false)
        expect(verifyInclusion({ ...valid, proof: [...valid.proof, altered] })).toBe(false)
        expect(verifyInclusion({ ...valid, index: size })).toBe(false)
        for (let index = 0; index < size; index += 1)
          expect(verifyInclusion({ ...valid, index })).toBe(index === valid.index)
        for (let place = 0; place < valid.proof.length; place += 1) {
          expect(verifyInclusion({ ...valid, proof: valid.proof.toSpliced(place, 1) })).toBe(false)
          expect(verifyInclusion({ ...valid, proof: valid.proof.with(place, altered) })).toBe(false)
        }
      }),
    )
  })

  test('an index outside the tree is refused', () => {
    for (const [index, size] of [
      [0, 0],
      [3, 3],
      [-1, 3],
      [0.5, 3],
    ] as const)
      expect(() => inclusionProof({ index, size, leafHashes: makeReader(leaves) })).toThrow(
        RangeError,
      )
  })
})

test('invalid hashes prove nothing and throw nothing', () => {
  const short = Buffer.alloc(31)
  const inclusion = proveInclusion({ index: 2, size: 5 })
  expect(verifyInclusion({ ...inclusion, leafHash: short })).toBe(false)
  expect(verifyInclusion({ ...inclusion, rootHash: short })).toBe(false)
  expect(verifyInclusion({ ...inclusion, proof: inclusion.proof.with(0, short) })).toBe(false)
  const consistency = proveConsistency({ oldSize: 4, size: 7 })
  expect(verifyConsistency({ ...consistency, oldRootHash: short })).toBe(false)
  expect(verifyConsistency({ ...consistency, rootHash: short })).toBe(false)
  expect(verifyConsistency({ ...consistency, proof: consistency.proof.with(0, short) })).toBe(false)
})

describe('RFC 9162: consistency', () => {
  test.each(vectors.consistency)('golden vector: $oldSize to $size', ({ oldSize, size, proof }) => {
    const made = consistencyProof({ oldSize, size, leafHashes: makeReader(vectorLeaves) })
    expect(made.map(hex)).toEqual(proof)
  })

  test('every prefix of every tree up to 70 is proved', () => {
    for (let size = 1; size <= 70; size += 1)
      for (let oldSize = 1; oldSize <= size; oldSize += 1)
        expect(verifyConsistency(proveConsistency({ oldSize, size }))).toBe(true)
  })

  test('no proof holds for another root or with a hash more, less or altered', () => {
    fc.assert(
      fc.property(anyPair, ({ smaller, size }) => {
        const valid = proveConsistency({ oldSize: smaller, size })
        const altered = leafHash(valid.rootHash)
        expect(verifyConsistency({ ...valid, rootHash: altered })).toBe(false)
        expect(verifyConsistency({ ...valid, oldRootHash: altered })).toBe(false)
        expect(verifyConsistency({ ...valid, proof: [...valid.proof, altered] })).toBe(false)
        for (const [place, hash] of valid.proof.entries()) {
          expect(verifyConsistency({ ...valid, proof: valid.proof.toSpliced(place, 1) })).toBe(
            false,
          )
          for (const { flipped } of byteFlips(hash.subarray(0, 2))) {
            const proof = valid.proof.with(place, Buffer.concat([flipped, hash.subarray(2)]))
            expect(verifyConsistency({ ...valid, proof })).toBe(false)
          }
        }
      }),
    )
  })

  test('a rewritten history is not consistent', () => {
    const { proof, size, rootHash } = proveConsistency({ oldSize: 20, size: 50 })
    const rewritten = computeRoot(leaves.slice(0, 20).with(7, leafHash(Buffer.from('other'))))
    expect(verifyConsistency({ oldSize: 20, size, oldRootHash: rewritten, rootHash, proof })).toBe(
      false,
    )
  })

  test('invalid sizes are refused', () => {
    for (const [oldSize, size] of [
      [0, 3],
      [4, 3],
      [1.5, 3],
    ] as const) {
      expect(() => consistencyProof({ oldSize, size, leafHashes: makeReader(leaves) })).toThrow(
        RangeError,
      )
      const root = computeRoot([])
      expect(
        verifyConsistency({ oldSize, size, oldRootHash: root, rootHash: root, proof: [] }),
      ).toBe(false)
    }
  })
})
