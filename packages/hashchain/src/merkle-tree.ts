/**
 * RFC 9162 Merkle trees over SHA-256: leaf and node hashes, and the compact range, which appends and gives the root in
 * O(log n) memory. Proofs are in merkle-proof.ts.
 */
import { hash } from 'node:crypto'

/** Length of every hash here, bytes. */
export const HASH_BYTES = 32

/** Domain separation of RFC 9162 §2.1.1: without it an inner node could pass for a leaf. */
const LEAF_PREFIX = Buffer.of(0x00)
const NODE_PREFIX = 0x01
/** Where a node's children are joined for hashing. Filled and read in one step, so one buffer serves all. */
const nodeBytes = Buffer.alloc(1 + 2 * HASH_BYTES, NODE_PREFIX)

/** Goes through text: for bytes, node:crypto allocates memory per hash, which takes longer than hashing a short input. */
const sha256 = (bytes: Uint8Array | string): Uint8Array =>
  Buffer.from(hash('sha256', bytes, 'latin1'), 'latin1')

/** Lower-case hex SHA-256 over the UTF-8 bytes of a preimage. */
export const preimageHash = (preimage: string): string => hash('sha256', preimage)

/** Size and root of a journal at one moment. */
export type TreeHead = {
  readonly size: number
  /** RFC 9162 Merkle tree root, 32 bytes. */
  readonly rootHash: Uint8Array
}

/** Everything a compact range needs to resume: the root of each complete subtree, largest first. */
type CompactRangeState = {
  /** Number of leaves. */
  readonly size: number
  /** As many 32-byte hashes as `size` has one bits. */
  readonly peaks: readonly Uint8Array[]
}

/** Hash of a leaf: SHA-256(0x00 ‖ entry), 32 bytes. Text is hashed as UTF-8. */
export function leafHash(entry: Uint8Array | string): Uint8Array {
  // U+0000 is a zero byte in UTF-8.
  const bytes = typeof entry === 'string' ? `\0${entry}` : Buffer.concat([LEAF_PREFIX, entry])
  return sha256(bytes)
}

/** Hash of an inner node: SHA-256(0x01 ‖ left ‖ right), 32 bytes. Throws a RangeError if a child is not a hash. */
export function nodeHash(children: {
  readonly left: Uint8Array
  readonly right: Uint8Array
}): Uint8Array {
  requireHash(children.left)
  requireHash(children.right)
  nodeBytes.set(children.left, 1)
  nodeBytes.set(children.right, 1 + HASH_BYTES)
  return sha256(nodeBytes)
}

/** A tree that only grows at its end. */
export type CompactRange = {
  /** Number of leaves. */
  readonly size: number
  /** Adds the next leaf's hash (32 bytes; anything else throws a RangeError). Amortised O(1), at worst O(log n). */
  append(leaf: Uint8Array): void
  /** RFC 9162 Merkle tree root of all leaves so far, 32 bytes. O(log n). */
  rootHash(): Uint8Array
  /** A copy unaffected by later appends: keep it to roll back, store it to resume. */
  state(): CompactRangeState
}

/**
 * Starts a tree, empty or from an earlier `state()`. Throws a RangeError for a state whose peaks do not fit its size. Peaks
 * that fit but are wrong only show in a comparison with a signed checkpoint.
 */
export function createCompactRange(state?: CompactRangeState): CompactRange {
  let size = state?.size ?? 0
  const peaks = [...(state?.peaks ?? [])]
  if (!Number.isSafeInteger(size) || size < 0 || peaks.length !== countOneBits(size))
    throw new RangeError('the state of a compact range does not fit its size')
  for (const peak of peaks) requireHash(peak)

  return {
    get size() {
      return size
    },
    append: (leaf) => {
      requireHash(leaf)
      let hashOfSubtree = leaf
      // Each trailing one bit of the size is a complete subtree that the new leaf merges into a larger one.
      for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
        hashOfSubtree = nodeHash({ left: requirePeak(peaks.pop()), right: hashOfSubtree })
      }
      peaks.push(hashOfSubtree)
      size += 1
    },
    rootHash: () =>
      peaks.length === 0
        ? sha256('')
        : peaks.reduceRight((right, left) => nodeHash({ left, right })),
    state: () => ({ size, peaks: [...peaks] }),
  }
}

/** RFC 9162 Merkle tree root over leaf hashes, in order; 32 bytes. */
export function computeRoot(leafHashes: Iterable<Uint8Array>): Uint8Array {
  const range = createCompactRange()
  for (const leaf of leafHashes) range.append(leaf)
  return range.rootHash()
}

/** Works beyond 32 bits, where ECMAScript's bitwise operators stop. */
function countOneBits(size: number): number {
  let count = 0
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2
  return count
}

function requireHash(bytes: Uint8Array): void {
  if (bytes.length !== HASH_BYTES) throw new RangeError(`a hash has ${HASH_BYTES} bytes`)
}

function requirePeak(peak: Uint8Array | undefined): Uint8Array {
  if (peak === undefined) throw new RangeError('a compact range has lost a peak')
  return peak
}
