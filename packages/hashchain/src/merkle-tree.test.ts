import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/merkle.json' with { type: 'json' }
import { computeRoot, createCompactRange, HASH_BYTES, leafHash, nodeHash } from './merkle-tree.ts'
import { byteFlips } from './testing/byte-flips.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const vectorLeaves = vectors.entries.map((entry) => leafHash(Buffer.from(entry, 'hex')))
const leaves = (count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => leafHash(Buffer.from(`entry ${index}`)))

/** The tree hash exactly as RFC 9162 §2.1.1 defines it. */
const definition = (hashes: readonly Uint8Array[]): Uint8Array => {
  const [first] = hashes
  if (first === undefined) return computeRoot([])
  if (hashes.length === 1) return first
  let split = 1
  while (split * 2 < hashes.length) split *= 2
  return nodeHash({
    left: definition(hashes.slice(0, split)),
    right: definition(hashes.slice(split)),
  })
}

describe('RFC 9162: the tree', () => {
  test.each(vectors.rootHashes.map((rootHash, size) => ({ size, rootHash })))(
    'golden vector: $size entries have the root $rootHash',
    ({ size, rootHash }) => {
      expect(hex(computeRoot(vectorLeaves.slice(0, size)))).toBe(rootHash)
    },
  )

  test('the root matches the definition at every size up to 130', () => {
    const range = createCompactRange()
    const all = leaves(130)
    for (const [index, leaf] of all.entries()) {
      expect(hex(range.rootHash())).toBe(hex(definition(all.slice(0, index))))
      range.append(leaf)
    }
  })

  test('the state stays small: one hash for each one bit of the size', () => {
    const range = createCompactRange()
    for (const leaf of leaves(1000)) range.append(leaf)
    expect(range.size).toBe(1000)
    expect(range.state().peaks).toHaveLength(6)
  })

  test('a tree resumed from its state at any point gives the same root', () => {
    fc.assert(
      fc.property(fc.nat({ max: 60 }), fc.nat({ max: 60 }), (before, after) => {
        const all = leaves(before + after)
        const first = createCompactRange()
        for (const leaf of all.slice(0, before)) first.append(leaf)
        const second = createCompactRange(first.state())
        for (const leaf of all.slice(before)) second.append(leaf)
        expect(second.size).toBe(all.length)
        expect(hex(second.rootHash())).toBe(hex(computeRoot(all)))
      }),
    )
  })

  test('a tentative append is undone by returning to the earlier state', () => {
    const range = createCompactRange()
    for (const leaf of leaves(7)) range.append(leaf)
    const before = range.state()
    const rootBefore = hex(range.rootHash())
    for (const leaf of leaves(9)) range.append(leaf)
    expect(hex(range.rootHash())).not.toBe(rootBefore)
    expect(hex(createCompactRange(before).rootHash())).toBe(rootBefore)
    expect(before.size).toBe(7)
    const again = createCompactRange(before)
    again.append(computeRoot([]))
    expect(before.peaks).toHaveLength(3)
    expect(hex(createCompactRange(before).rootHash())).toBe(rootBefore)
  })

  test('sizes beyond 32 bits are counted correctly', () => {
    const peak = leafHash(Buffer.of())
    const range = createCompactRange({ size: 2 ** 40 + 1, peaks: [peak, peak] })
    range.append(peak)
    expect(range.state().peaks).toHaveLength(2)
    expect(range.size).toBe(2 ** 40 + 2)
  })

  test.each([
    { size: 1, peaks: [] },
    { size: 0, peaks: [computeRoot([])] },
    { size: 3, peaks: [computeRoot([])] },
    { size: 1, peaks: [Buffer.alloc(31)] },
    { size: -1, peaks: [] },
    { size: 0.5, peaks: [] },
  ])('a state that does not fit its size is refused: $size', (state) => {
    expect(() => createCompactRange(state)).toThrow(RangeError)
  })

  test('a leaf that is not a hash is refused', () => {
    const range = createCompactRange()
    expect(() => range.append(Buffer.alloc(HASH_BYTES + 1))).toThrow(RangeError)
    expect(range.size).toBe(0)
    const root = computeRoot([])
    expect(() => nodeHash({ left: Buffer.alloc(31), right: root })).toThrow(RangeError)
    expect(() => nodeHash({ left: root, right: Buffer.alloc(33) })).toThrow(RangeError)
  })
})

describe('tampering changes the root', () => {
  const all = leaves(11)
  const root = hex(computeRoot(all))

  test('every flipped byte of every leaf hash', () => {
    for (const [index, leaf] of all.entries())
      for (const { flipped } of byteFlips(leaf))
        expect(hex(computeRoot(all.with(index, flipped)))).not.toBe(root)
  })

  test('every flipped byte of an entry', () => {
    const entry = Buffer.from('{"value":"one"}')
    for (const { flipped } of byteFlips(entry))
      expect(hex(leafHash(flipped))).not.toBe(hex(leafHash(entry)))
  })

  test('a text is hashed as its UTF-8', () => {
    for (const text of ['', '{"value":"one"}', 'Köln – 1. FC ⚽'])
      expect(hex(leafHash(text))).toBe(hex(leafHash(Buffer.from(text))))
  })

  test('a dropped tail, a dropped leaf, a repeated leaf, two swapped leaves', () => {
    for (let index = 0; index < all.length; index += 1) {
      const leaf = all[index]
      const other = all[(index + 1) % all.length]
      if (leaf === undefined || other === undefined) throw new Error('unreachable')
      expect(hex(computeRoot(all.slice(0, index)))).not.toBe(root)
      expect(hex(computeRoot(all.toSpliced(index, 1)))).not.toBe(root)
      expect(hex(computeRoot(all.toSpliced(index, 0, leaf)))).not.toBe(root)
      const exchanged = all.with(index, other).with((index + 1) % all.length, leaf)
      expect(hex(computeRoot(exchanged))).not.toBe(root)
    }
  })

  test('an inner node cannot pass for a leaf', () => {
    const [left, right] = leaves(2)
    if (left === undefined || right === undefined) throw new Error('unreachable')
    expect(hex(leafHash(Buffer.concat([left, right])))).not.toBe(hex(nodeHash({ left, right })))
  })
})
