/**
 * The last signed checkpoint, in a file beside the ledger: it tells a ledger that lost its tail from one that has it. It is
 * written when a process closes the ledger, and only where the ledger goes on from the one that is there.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import {
  type Checkpoint,
  createNoteSigner,
  openNote,
  type ParsedCheckpoint,
  parseCheckpoint,
} from '@tallystick/hashchain'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import type { LedgerTree } from './sqlite-ledger-tree.ts'

/** Replaces the file at once: whoever reads it finds the old note or the new one, whole. */
function writeNote(path: string, note: string): void {
  // By process: two may close one ledger at one moment.
  const next = `${path}.${process.pid}.next`
  try {
    const file = openSync(next, 'w', 0o644)
    try {
      writeSync(file, note)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(next, path)
  } catch (error) {
    throw new GradingStoreUnavailable(`${path} cannot be written`, { cause: error })
  }
}

function readNote(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new GradingStoreUnavailable(`${path} cannot be read`, { cause: error })
  }
}

/** The verifier key of a note by this seed, under the name that the note has: a ledger may move to another address. */
function verifierKeyOf(note: string, seed: Uint8Array): string {
  const [keyName = ''] = note.split('\n', 1)
  try {
    return createNoteSigner({ keyName, seed }).verifierKey
  } catch {
    // Its first line is no name, so that no key will fit it.
    return ''
  }
}

/**
 * What the file says: `absent` where there is none, `refused` where it is not signed by the key of this seed. Throws
 * GradingStoreUnavailable where it is there and cannot be read.
 */
export function readCheckpointFile(
  path: string,
  seed: Uint8Array,
): Extract<ParsedCheckpoint, { kind: 'checkpoint' }> | { readonly kind: 'absent' | 'refused' } {
  const note = readNote(path)
  if (note === undefined) return { kind: 'absent' }
  const opened = openNote({ note, verifierKey: verifierKeyOf(note, seed) })
  if (opened.kind !== 'opened') return { kind: 'refused' }
  const parsed = parseCheckpoint(opened.text)
  return parsed.kind === 'checkpoint' ? parsed : { kind: 'refused' }
}

/** Whether a ledger has all that a checkpoint signed, as it signed it. */
const hasAllOf = (tree: LedgerTree, { rootHash, size }: Checkpoint): boolean =>
  size <= tree.size && Buffer.compare(tree.rootAt(size), rootHash) === 0

/**
 * Puts the ledger's checkpoint into the file. One that the ledger does not go on from stays: it is the proof of what was
 * lost. Throws GradingStoreUnavailable.
 */
export function keepCheckpoint(
  path: string,
  ledger: { readonly tree: LedgerTree; readonly seed: Uint8Array; readonly note: () => string },
): void {
  const { note, seed, tree } = ledger
  if (tree.size === 0) return
  const last = readCheckpointFile(path, seed)
  const isReplaced =
    last.kind === 'absent' || (last.kind === 'checkpoint' && hasAllOf(tree, last.checkpoint))
  if (isReplaced) writeNote(path, note())
}
