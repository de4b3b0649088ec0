/** Verifies a journal from stored bytes: texts against leaves, leaves against nodes, and the whole against its checkpoint. */
import { computeRoot, createCompactRange, leafHash, type TreeHead } from '@tallystick/hashchain'
import type { CheckpointReading } from './checkpoint-file.ts'
import { LEAVES_PER_NODE } from './journal.ts'

/** Index, leaf hash and text of an entry, and what the service's own check needs. */
type EntryRow = readonly [index: number, hash: Uint8Array, text: string, ...rest: unknown[]]

type JournalVerdict =
  | ({ readonly kind: 'intact' } & TreeHead)
  /** `index` is the first entry that does not hold, if one can be named. */
  | { readonly kind: 'broken'; readonly index?: number; readonly problem: string }

type VerifyOptions<Row> = {
  /** Rows from an index on, in order, at most so many. */
  readonly rows: (from: number, limit: number) => Promise<readonly Row[]>
  /** The root that is stored for the leaves of a place. */
  readonly node: (place: number) => Promise<Uint8Array | undefined>
  /** Finds what the service holds wrong with an entry whose text hashes to its leaf. */
  readonly check: (row: Row) => string | undefined
  /** Read before the call: another process may append and sign meanwhile. */
  readonly checkpoint: CheckpointReading
  readonly rowsPerSlice: number
  /** Lets others run between slices. */
  readonly pause: () => Promise<void>
}

function findProblem<Row extends EntryRow>(
  row: Row,
  { index, check }: { readonly index: number; readonly check: (row: Row) => string | undefined },
): { readonly index: number; readonly problem: string } | undefined {
  const [at, hash, text] = row
  if (at !== index) return { index, problem: 'the entry is gone' }
  if (Buffer.compare(leafHash(Buffer.from(text)), hash) !== 0)
    return { index, problem: 'its text does not hash to its leaf' }
  const problem = check(row)
  return problem === undefined ? undefined : { index, problem }
}

/** Compares each group of leaves with the root stored for it; returns what does not fit. */
function openNodeCheck(
  node: VerifyOptions<never>['node'],
): (leaf: Uint8Array, size: number) => Promise<string | undefined> {
  let leaves: Uint8Array[] = []
  const compare = async (place: number): Promise<string | undefined> => {
    const root = computeRoot(leaves)
    leaves = []
    const stored = await node(place)
    const isWhole = stored !== undefined && Buffer.compare(stored, root) === 0
    return isWhole
      ? undefined
      : `a leaf of this and the ${LEAVES_PER_NODE - 1} entries before it was altered`
  }
  return async (leaf, size) => {
    leaves.push(leaf)
    return leaves.length < LEAVES_PER_NODE ? undefined : compare(size / LEAVES_PER_NODE - 1)
  }
}

/** Verifies a journal whose head and nodes are stored, in slices. Throws what its reads throw. */
export async function verifyJournal<Row extends EntryRow>(
  options: VerifyOptions<Row>,
): Promise<JournalVerdict> {
  const { check, checkpoint, node, pause, rows, rowsPerSlice } = options
  if (checkpoint.kind === 'refused')
    return { kind: 'broken', problem: 'the checkpoint file is not signed by this key' }
  const signed = checkpoint.kind === 'checkpoint' ? checkpoint.checkpoint : undefined
  const nodeProblem = openNodeCheck(node)
  const range = createCompactRange()
  for (;;) {
    const slice = await rows(range.size, rowsPerSlice)
    for (const row of slice) {
      const found = findProblem(row, { index: range.size, check })
      if (found !== undefined) return { kind: 'broken', ...found }
      range.append(row[1])
      const problem = await nodeProblem(row[1], range.size)
      if (problem !== undefined) return { kind: 'broken', index: row[0], problem }
      if (signed?.size === range.size && Buffer.compare(signed.rootHash, range.rootHash()) !== 0)
        return { kind: 'broken', problem: 'the entries do not hash to the signed checkpoint' }
    }
    if (slice.length < rowsPerSlice) break
    await pause()
  }
  if (signed !== undefined && signed.size > range.size)
    return {
      kind: 'broken',
      index: range.size,
      problem: `entries at the end are gone: the signed checkpoint counts ${signed.size}`,
    }
  return { kind: 'intact', size: range.size, rootHash: range.rootHash() }
}
