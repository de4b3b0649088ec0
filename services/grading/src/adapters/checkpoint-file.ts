/** The last signed checkpoint, in a file beside the ledger: it tells a ledger that lost its tail from one that has it. */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { openNote, type ParsedCheckpoint, parseCheckpoint } from '@tallystick/hashchain'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'

/** Replaces the file at once and durably. Throws GradingStoreUnavailable. */
export function writeCheckpointFile(path: string, note: string): void {
  const next = `${path}.next`
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

/** What the file says: `absent` where there is none, `refused` where it is not signed by the key. */
export function readCheckpointFile(
  path: string,
  verifierKey: string,
): Extract<ParsedCheckpoint, { kind: 'checkpoint' }> | { readonly kind: 'absent' | 'refused' } {
  let note: string
  try {
    note = readFileSync(path, 'utf8')
  } catch {
    return { kind: 'absent' }
  }
  const opened = openNote({ note, verifierKey })
  if (opened.kind !== 'opened') return { kind: 'refused' }
  const parsed = parseCheckpoint(opened.text)
  return parsed.kind === 'checkpoint' ? parsed : { kind: 'refused' }
}
