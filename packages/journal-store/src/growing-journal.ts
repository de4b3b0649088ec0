/** A journal that grows in memory from its committed head. Nobody else sees it until a COMMIT makes it the head. */
import { type CompactRange, createCompactRange, HASH_BYTES, nodeHash } from '@tallystick/hashchain'
import type { Cell } from './store.ts'

/** Roots of so many leaves are stored too, so that a proof over a million entries reads only a few thousand hashes. */
export const LEAVES_PER_NODE = 256
/** Leaf hashes that a count of a journal reads at once. */
export const LEAVES_PER_READ = 10_000
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

/** A journal with what a group has appended. */
export type GrowingJournal = {
  /** Its size before the group. */
  readonly from: number
  readonly range: CompactRange
  readonly leaves: readonly Uint8Array[]
  /** Nodes that were completed, in order. */
  readonly nodes: readonly Uint8Array[]
  readonly rows: readonly (readonly Cell[])[]
  append(leafHash: Uint8Array, cells: readonly Cell[]): void
}

export function growFrom(head: CompactRange): GrowingJournal {
  const range = createCompactRange(head.state())
  const leaves: Uint8Array[] = []
  const nodes: Uint8Array[] = []
  const rows: (readonly Cell[])[] = []
  return {
    from: head.size,
    range,
    leaves,
    nodes,
    rows,
    append: (leaf, cells) => {
      const node = completedNode(range, leaf)
      if (node !== undefined) nodes.push(node)
      range.append(leaf)
      leaves.push(leaf)
      rows.push(cells)
    },
  }
}

/** The head in a row of `journals`: 32 bytes for each one bit of its size, the largest subtree first. */
export const headOfRow = (size: number, peaks: Uint8Array): CompactRange =>
  createCompactRange({
    size,
    peaks: Array.from(
      { length: peaks.length / HASH_BYTES },
      (_, at) =>
        // A copy: a view would keep the driver's whole packet alive.
        new Uint8Array(peaks.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)),
    ),
  })

/** The peaks as the row keeps them. */
export const joinPeaks = (range: CompactRange): Buffer => Buffer.concat(range.state().peaks)
