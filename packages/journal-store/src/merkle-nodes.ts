/**
 * Short ways through a large tree: the roots of whole subtrees of 256 leaves are kept, so that a root or a proof over a million
 * entries reads some thousand hashes.
 */
import { type CompactRange, createCompactRange, nodeHash, rootOf } from '@tallystick/hashchain'
import type { Awaitable, Journal } from './journal-store.ts'
import { whenAnswered } from './sql-dialect.ts'

/** Leaves under one kept node. */
export const LEAVES_PER_NODE = 256
/** Peaks of the 255 leaves before the one that completes a node. */
const PEAKS_BEFORE_NODE = 8

/** The node that the next leaf of a tree completes, undefined where it completes none. */
export function completedNode(range: CompactRange, leaf: Uint8Array): Uint8Array | undefined {
  if ((range.size + 1) % LEAVES_PER_NODE !== 0) return undefined
  const { peaks } = range.state()
  return peaks
    .slice(-PEAKS_BEFORE_NODE)
    .reduceRight((right, left) => nodeHash({ left, right }), leaf)
}

/** What a root over leaves `from` to `to` is made of: whole nodes by their places, and the leaves behind them. */
function partsOfRange(from: number, to: number) {
  const whole = from + Math.floor((to - from) / LEAVES_PER_NODE) * LEAVES_PER_NODE
  return { nodes: [from / LEAVES_PER_NODE, whole / LEAVES_PER_NODE], leaves: [whole, to] } as const
}

/** The root over whole nodes and the leaves behind them, in order. */
function rootOfParts(nodes: readonly Uint8Array[], leaves: readonly Uint8Array[]): Uint8Array {
  if (nodes.length === 0) return rootOf(leaves)
  const above = createCompactRange()
  for (const node of nodes) above.append(node)
  const { peaks, size } = above.state()
  // A peak over n nodes is one over 256 n leaves.
  const range = createCompactRange({ size: size * LEAVES_PER_NODE, peaks })
  for (const leaf of leaves) range.append(leaf)
  return range.rootHash()
}

/** The largest power of two below `size`, at least 2: where RFC 9162 divides a tree. */
function splitPoint(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}

/** A range of leaves, from (inclusive) to (exclusive). */
type LeafRange = readonly [from: number, to: number]

/** Divides a tree towards one of its entries until `isEnd`: the halves that were left aside, and where the last one begins. */
function halvesBeside(
  { index, size }: { readonly index: number; readonly size: number },
  isEnd: (from: number, to: number) => boolean,
): { readonly halves: readonly LeafRange[]; readonly from: number } {
  const halves: LeafRange[] = []
  let [from, to] = [0, size]
  while (!isEnd(from, to)) {
    const middle = from + splitPoint(to - from)
    halves.unshift(index < middle ? [middle, to] : [from, middle])
    if (index < middle) to = middle
    else from = middle
  }
  return { halves, from }
}

/** The ranges whose roots are an entry's inclusion proof, nearest first. Throws a RangeError unless index < size <= leaves. */
function proofRanges(
  { index, size }: { readonly index: number; readonly size: number },
  leaves: number,
): readonly LeafRange[] {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size || size > leaves)
    throw new RangeError('an inclusion proof needs an entry below the size')
  return halvesBeside({ index, size }, (from, to) => to - from === 1).halves
}

/**
 * The ranges whose roots are the proof that the first `oldSize` entries are a prefix of the first `size`; none from 0 and for
 * the same size. Throws a RangeError unless 0 <= oldSize <= size <= leaves.
 */
function consistencyRanges(
  { oldSize, size }: { readonly oldSize: number; readonly size: number },
  leaves: number,
): readonly LeafRange[] {
  if (!Number.isSafeInteger(oldSize) || oldSize < 0 || !(oldSize <= size && size <= leaves))
    throw new RangeError('a consistency proof needs an old size up to the size')
  if (oldSize === 0 || oldSize === size) return []
  const { from, halves } = halvesBeside({ index: oldSize - 1, size }, (_, to) => to === oldSize)
  // A verifier knows the old root, but not the root of a part of it.
  return from > 0 ? [[from, oldSize], ...halves] : halves
}

/** Reads hashes from a place (inclusive) to another (exclusive), in order. */
type HashesBetween = (from: number, to: number) => Awaitable<readonly Uint8Array[]>

/** Roots and proofs of a journal, at once where its engine answers at once. */
export function proofsOf(of: {
  /** Entries of the journal. */
  readonly size: () => number
  readonly leaves: HashesBetween
  readonly nodes: HashesBetween
}): Pick<Journal, 'rootAt' | 'inclusionProof' | 'consistencyProof'> {
  const rangeRoot = (from: number, to: number): Awaitable<Uint8Array> => {
    const { leaves, nodes } = partsOfRange(from, to)
    return whenAnswered([of.nodes(...nodes), of.leaves(...leaves)], (parts) =>
      rootOfParts(...parts),
    )
  }
  const rangeRoots = (ranges: readonly LeafRange[]) =>
    whenAnswered(
      ranges.map((range) => rangeRoot(...range)),
      (roots) => roots,
    )
  return {
    rootAt: (size) => rangeRoot(0, size),
    inclusionProof: (index, size) => rangeRoots(proofRanges({ index, size }, of.size())),
    consistencyProof: (oldSize, size) =>
      rangeRoots(consistencyRanges({ oldSize, size }, of.size())),
  }
}
