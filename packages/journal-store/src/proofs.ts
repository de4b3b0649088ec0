/** Roots and proofs of a committed journal, from its stored leaves and the stored roots of 256 leaves. */
import {
  type CompactRange,
  consistencyRanges,
  createCompactRange,
  inclusionRanges,
  type LeafRange,
  rootOf,
} from '@tallystick/hashchain'
import { LEAVES_PER_NODE } from './growing-journal.ts'
import type { Journal, Rows } from './store.ts'

/** The root over whole nodes and the leaves after them, in order. */
function joinRoots(nodes: readonly Uint8Array[], leaves: readonly Uint8Array[]): Uint8Array {
  if (nodes.length === 0) return rootOf(leaves)
  const above = createCompactRange()
  for (const node of nodes) above.append(node)
  const { peaks, size } = above.state()
  // A peak over n nodes is a peak over 256 n leaves.
  const range = createCompactRange({ size: size * LEAVES_PER_NODE, peaks })
  for (const leaf of leaves) range.append(leaf)
  return range.rootHash()
}

/** A journal as its service sees it: `head` is the one last seen committed, `table` where `rows` finds its leaves. */
export function openCommittedJournal(
  rows: Rows,
  { head, table }: { readonly head: () => CompactRange; readonly table: string },
): Journal {
  const hashes = async (text: string, [from, to]: readonly [number, number]) =>
    to <= from ? [] : (await rows<readonly [Uint8Array]>(text, [from, to])).map(([hash]) => hash)
  const rootOver = async ({ from, to }: LeafRange): Promise<Uint8Array> => {
    const whole = from + Math.floor((to - from) / LEAVES_PER_NODE) * LEAVES_PER_NODE
    const [nodes, leaves] = await Promise.all([
      hashes(`SELECT hash FROM ${table}_nodes WHERE place >= $1 AND place < $2 ORDER BY place`, [
        from / LEAVES_PER_NODE,
        whole / LEAVES_PER_NODE,
      ]),
      hashes(`SELECT leaf_hash FROM ${table} WHERE at >= $1 AND at < $2 ORDER BY at`, [whole, to]),
    ])
    return joinRoots(nodes, leaves)
  }
  const requireSize = (size: number): void => {
    if (!(size >= 0 && size <= head().size))
      throw new RangeError('a proof needs a size up to the journal’s')
  }
  return {
    get size() {
      return head().size
    },
    rootHash: () => head().rootHash(),
    rootAt: (size) => rootOver({ from: 0, to: size }),
    inclusionProof: async (index, size) => {
      requireSize(size)
      return Promise.all(inclusionRanges(index, size).map(rootOver))
    },
    consistencyProof: async (oldSize, size) => {
      requireSize(size)
      // Nothing is a prefix of everything.
      return oldSize === 0 ? [] : Promise.all(consistencyRanges(oldSize, size).map(rootOver))
    },
  }
}
