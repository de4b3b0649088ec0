/**
 * Shortcuts through a large tree: the roots of whole subtrees of 256 leaves are kept, so that a root or a proof over a million
 * entries reads only a few thousand hashes.
 */
import {
  type CompactRange,
  consistencyRanges,
  createCompactRange,
  inclusionRanges,
  type LeafRange,
  nodeHash,
  rootOf,
} from '@tallystick/hashchain'
import type { Awaitable, Journal } from './journal-store.ts'
import { whenAnswered } from './sql-dialect.ts'

/** Leaves under one kept node. */
export const LEAVES_PER_NODE = 256
/** Peaks of the 255 leaves before the one that completes a node. */
const PEAKS_BEFORE_NODE = 8

/** The node that the next leaf of a tree completes; undefined if it completes none. */
export function completedNode(range: CompactRange, leaf: Uint8Array): Uint8Array | undefined {
  if ((range.size + 1) % LEAVES_PER_NODE !== 0) return undefined
  const { peaks } = range.state()
  return peaks
    .slice(-PEAKS_BEFORE_NODE)
    .reduceRight((right, left) => nodeHash({ left, right }), leaf)
}

/** What makes up the root of a range: whole nodes by their places, and the leaves after them. */
function partsOf({ from, to }: LeafRange) {
  const whole = from + Math.floor((to - from) / LEAVES_PER_NODE) * LEAVES_PER_NODE
  return { nodes: [from / LEAVES_PER_NODE, whole / LEAVES_PER_NODE], leaves: [whole, to] } as const
}

/** The root over whole nodes and the leaves after them, in order. */
function rootOfParts(nodes: readonly Uint8Array[], leaves: readonly Uint8Array[]): Uint8Array {
  if (nodes.length === 0) return rootOf(leaves)
  const above = createCompactRange()
  for (const node of nodes) above.append(node)
  const { peaks, size } = above.state()
  // A peak over n nodes is a peak over 256 n leaves.
  const range = createCompactRange({ size: size * LEAVES_PER_NODE, peaks })
  for (const leaf of leaves) range.append(leaf)
  return range.rootHash()
}

/** Reads hashes from a place (inclusive) to another (exclusive), in order. */
type HashesBetween = (from: number, to: number) => Awaitable<readonly Uint8Array[]>

/** Roots and proofs of a journal, at once if its engine answers at once. */
export function proofsOf(of: {
  /** Entries of the journal. */
  readonly size: () => number
  readonly leaves: HashesBetween
  readonly nodes: HashesBetween
}): Pick<Journal, 'rootAt' | 'inclusionProof' | 'consistencyProof'> {
  const rootOver = (range: LeafRange): Awaitable<Uint8Array> => {
    const { leaves, nodes } = partsOf(range)
    return whenAnswered([of.nodes(...nodes), of.leaves(...leaves)], (parts) =>
      rootOfParts(...parts),
    )
  }
  const rootsOver = (ranges: readonly LeafRange[]) =>
    whenAnswered(ranges.map(rootOver), (roots) => roots)
  const requireSize = (size: number): void => {
    if (!(size >= 0 && size <= of.size()))
      throw new RangeError('a proof needs a size up to the journal’s')
  }
  return {
    rootAt: (size) => rootOver({ from: 0, to: size }),
    inclusionProof: (index, size) => {
      requireSize(size)
      return rootsOver(inclusionRanges(index, size))
    },
    consistencyProof: (oldSize, size) => {
      requireSize(size)
      // Nothing is a prefix of everything.
      return oldSize === 0 ? [] : rootsOver(consistencyRanges(oldSize, size))
    },
  }
}
