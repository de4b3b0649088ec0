/**
 * RFC 9162 proofs: that an entry is in a tree (inclusion), and that a tree is a prefix of a later one (consistency).
 * Making a proof needs the stored leaf hashes; checking one needs only roots and the leaf's hash.
 */
import { computeRoot, HASH_BYTES, nodeHash } from './merkle-tree.ts'

/** Leaves `from` (inclusive) to `to` (exclusive). */
export type LeafRange = { readonly from: number; readonly to: number }

/** The hashes of a range of leaves, in order, wherever they are stored. */
type LeafHashReader = (range: LeafRange) => Iterable<Uint8Array>

/** The largest power of two below `size`, where RFC 9162 divides a tree; `size` is at least 2. */
function splitPoint(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}

/** Divides a tree towards one of its leaves until `isEnd`: the part that is left, and the halves beside it, the nearest first. */
function divideTowards(
  { index, size }: { readonly index: number; readonly size: number },
  isEnd: (part: LeafRange) => boolean,
): { readonly part: LeafRange; readonly beside: readonly LeafRange[] } {
  const beside: LeafRange[] = []
  let part = { from: 0, to: size }
  while (!isEnd(part)) {
    const middle = part.from + splitPoint(part.to - part.from)
    const [left, right] = [
      { from: part.from, to: middle },
      { from: middle, to: part.to },
    ]
    beside.unshift(index < middle ? right : left)
    part = index < middle ? left : right
  }
  return { part, beside }
}

/**
 * The ranges whose roots lead from leaf `index` to the root of the first `size` leaves, nearest the leaf first. Throws a
 * RangeError for an index that is not below the size.
 */
export function inclusionRanges(index: number, size: number): readonly LeafRange[] {
  if (!isWhole(index) || !isWhole(size) || index >= size)
    throw new RangeError('an inclusion proof needs an index below the size')
  return divideTowards({ index, size }, ({ from, to }) => to - from === 1).beside
}

/**
 * The ranges whose roots show the first `oldSize` leaves to be a prefix of the first `size` leaves. Throws a RangeError for
 * an old size that is not from 1 to the size.
 */
export function consistencyRanges(oldSize: number, size: number): readonly LeafRange[] {
  if (!isWhole(oldSize) || !isWhole(size) || oldSize < 1 || oldSize > size)
    throw new RangeError('a consistency proof needs an old size from 1 to the size')
  const { part, beside } = divideTowards({ index: oldSize - 1, size }, ({ to }) => to === oldSize)
  // A verifier knows the old root, but not the root of a part of that tree.
  return part.from > 0 ? [part, ...beside] : beside
}

/** The hashes from leaf `index` to the root of the first `size` leaves, nearest the leaf first. O(size). */
export function inclusionProof(options: {
  readonly index: number
  readonly size: number
  readonly leafHashes: LeafHashReader
}): readonly Uint8Array[] {
  const { index, size, leafHashes } = options
  return inclusionRanges(index, size).map((range) => computeRoot(leafHashes(range)))
}

/** The hashes that show the first `oldSize` leaves to be a prefix of the first `size` leaves. O(size). */
export function consistencyProof(options: {
  readonly oldSize: number
  readonly size: number
  readonly leafHashes: LeafHashReader
}): readonly Uint8Array[] {
  const { oldSize, size, leafHashes } = options
  return consistencyRanges(oldSize, size).map((range) => computeRoot(leafHashes(range)))
}

/** Whether a proof leads from a leaf's hash to a root (RFC 9162 §2.1.3.2). Never throws. */
export function verifyInclusion(options: {
  readonly index: number
  readonly size: number
  readonly leafHash: Uint8Array
  readonly proof: readonly Uint8Array[]
  readonly rootHash: Uint8Array
}): boolean {
  const { index, size, proof, rootHash } = options
  if (!isWhole(index) || !isWhole(size) || index >= size) return false
  if (!areHashes([options.leafHash, ...proof])) return false
  let hash = options.leafHash
  const reachesRoot = climb({ node: index, last: size - 1 }, proof, (sibling, isLeft) => {
    hash = nodeHash(isLeft ? { left: sibling, right: hash } : { left: hash, right: sibling })
  })
  return reachesRoot && isSame(hash, rootHash)
}

/**
 * Climbs a tree from `node`, on a level numbered 0 to `last`, one sibling per step; `join` gets each sibling and its side.
 * Returns whether the siblings lead exactly to the root.
 */
function climb(
  start: { readonly node: number; readonly last: number },
  siblings: readonly Uint8Array[],
  join: (sibling: Uint8Array, isLeft: boolean) => void,
): boolean {
  let { node, last } = start
  for (const sibling of siblings) {
    if (last === 0) return false
    const isLeft = node % 2 === 1 || node === last
    join(sibling, isLeft)
    if (isLeft)
      while (node % 2 === 0 && node !== 0) {
        node /= 2
        last = Math.floor(last / 2)
      }
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0
}

/** Whether a proof shows the older tree to be a prefix of the newer one (RFC 9162 §2.1.4.2). Never throws. */
export function verifyConsistency(options: {
  readonly oldSize: number
  readonly oldRootHash: Uint8Array
  readonly size: number
  readonly rootHash: Uint8Array
  readonly proof: readonly Uint8Array[]
}): boolean {
  const { oldSize, oldRootHash, size, rootHash } = options
  if (!isWhole(oldSize) || !isWhole(size) || oldSize < 1 || oldSize > size) return false
  if (!areHashes([oldRootHash, ...options.proof])) return false
  if (oldSize === size) return options.proof.length === 0 && isSame(oldRootHash, rootHash)
  const proof = isPowerOfTwo(oldSize) ? [oldRootHash, ...options.proof] : options.proof
  const [first, ...rest] = proof
  if (first === undefined) return false
  let node = oldSize - 1
  let last = size - 1
  while (node % 2 === 1) {
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  let oldHash = first
  let hash = first
  const reachesRoot = climb({ node, last }, rest, (sibling, isLeft) => {
    hash = nodeHash(isLeft ? { left: sibling, right: hash } : { left: hash, right: sibling })
    if (isLeft) oldHash = nodeHash({ left: sibling, right: oldHash })
  })
  return reachesRoot && isSame(oldHash, oldRootHash) && isSame(hash, rootHash)
}

function isPowerOfTwo(size: number): boolean {
  return size === 1 || splitPoint(size) * 2 === size
}

function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function areHashes(proof: readonly Uint8Array[]): boolean {
  return proof.every((hash) => hash.length === HASH_BYTES)
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0
}
