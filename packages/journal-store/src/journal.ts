/**
 * A journal on either engine: as a group grows it in memory from its committed head, which nobody else sees until a COMMIT makes
 * it the head; and as its service reads roots and proofs from its stored leaves and the stored roots of 256 leaves.
 */
import {
  type CompactRange,
  computeRoot,
  consistencyRanges,
  createCompactRange,
  HASH_BYTES,
  inclusionRanges,
  type LeafRange,
  nodeHash,
} from '@tallystick/hashchain'
import type { CheckpointFile } from './checkpoint-file.ts'
import type { Cell, Journal, Rows } from './store.ts'

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

/** The root over whole nodes and the leaves after them, in order. */
function joinRoots(nodes: readonly Uint8Array[], leaves: readonly Uint8Array[]): Uint8Array {
  if (nodes.length === 0) return computeRoot(leaves)
  const above = createCompactRange()
  for (const node of nodes) above.append(node)
  const { peaks, size } = above.state()
  // A peak over n nodes is a peak over 256 n leaves.
  const range = createCompactRange({ size: size * LEAVES_PER_NODE, peaks })
  for (const leaf of leaves) range.append(leaf)
  return range.rootHash()
}

/**
 * A journal as its service sees it: `head` is the one last seen committed, `table` where `rows` finds its leaves, `file` signs its
 * head.
 */
export function openCommittedJournal(
  rows: Rows,
  {
    file,
    head,
    table,
  }: {
    readonly file: Pick<CheckpointFile, 'sign' | 'verifierKey'>
    readonly head: () => CompactRange
    readonly table: string
  },
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
    if (!(size >= 0 && size <= head().size)) throw new RangeError('a size beyond the journal')
  }
  return {
    get size() {
      return head().size
    },
    rootHash: () => head().rootHash(),
    rootAt: async (size) => {
      requireSize(size)
      return rootOver({ from: 0, to: size })
    },
    checkpoint: () => file.sign(head()),
    verifierKey: file.verifierKey,
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

/** The same for each journal of a kind, by its name. */
export function eachJournal<Name extends string, Table, Made>(
  { journals }: { readonly journals: Readonly<Record<Name, Table>> },
  make: (table: Table, name: Name) => Made,
): Readonly<Record<Name, Made>> {
  const made = Object.entries<Table>(journals).map(([name, table]) => [
    name,
    make(table, name as Name),
  ])
  return Object.fromEntries(made) as Readonly<Record<Name, Made>>
}

/** The same, one journal after the other. */
export async function eachJournalInTurn<Name extends string, Table, Made>(
  { journals }: { readonly journals: Readonly<Record<Name, Table>> },
  make: (table: Table, name: Name) => Promise<Made>,
): Promise<Readonly<Record<Name, Made>>> {
  const made: [string, Made][] = []
  for (const [name, table] of Object.entries<Table>(journals))
    made.push([name, await make(table, name as Name)])
  return Object.fromEntries(made) as Readonly<Record<Name, Made>>
}
