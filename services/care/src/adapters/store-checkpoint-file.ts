// The last signed checkpoint of a journal, in a file of its own: what tells a restored or shortened database from the one
// that was written last. The file is replaced atomically, after the commit that it speaks of.

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  createNoteSigner,
  formatCheckpoint,
  type NoteSigner,
  openNote,
  parseCheckpoint,
  type TreeHead,
} from '@tallystick/hashchain'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { PRIVATE_FILE_MODE } from './store-private-file.ts'

/** The note over a journal's head. */
export function signHead(signer: NoteSigner, head: TreeHead): string {
  return signer.sign(
    formatCheckpoint({ origin: signer.keyName, size: head.size, rootHash: head.rootHash }),
  )
}

/**
 * The head that the file says was last signed, undefined where there is no file. Throws RecordStoreUnavailable for a note
 * that is not by our key. The name in it may be another: the service's address can change.
 */
export function readCheckpointFile(options: {
  readonly path: string
  readonly audience: Audience
  readonly seed: Uint8Array
}): TreeHead | undefined {
  const { path } = options
  let note: string
  try {
    note = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new RecordStoreUnavailable(`${path} cannot be read`, { cause: error })
  }
  const read = openOwnNote(note, options)
  if (read === undefined)
    throw new RecordStoreUnavailable(
      `${path} is not signed by this store’s checkpoint key, or was altered; if that is intended, run "care accept-backup"`,
    )
  return read
}

function openOwnNote(
  note: string,
  { audience, seed }: { readonly audience: Audience; readonly seed: Uint8Array },
): TreeHead | undefined {
  const keyName = note.slice(0, note.indexOf('\n'))
  if (!keyName.endsWith(`/${audience}`)) return undefined
  let signer: NoteSigner
  try {
    signer = createNoteSigner({ keyName, seed })
  } catch {
    return undefined // no name at all
  }
  const opened = openNote({ note, verifierKey: signer.verifierKey })
  if (opened.kind !== 'opened') return undefined
  const parsed = parseCheckpoint(opened.text)
  return parsed.kind === 'checkpoint' ? parsed.checkpoint : undefined
}

/** Replaces the file at once and durably; for the start and for commands. */
export function writeCheckpointFile(path: string, note: string): void {
  const next = `${path}.next`
  const file = openSync(next, 'w', PRIVATE_FILE_MODE)
  writeSync(file, note)
  fsyncSync(file)
  closeSync(file)
  renameSync(next, path)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}

async function replaceFile(path: string, note: string): Promise<void> {
  const next = `${path}.next`
  const file = await open(next, 'w', PRIVATE_FILE_MODE)
  try {
    await file.writeFile(note)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(next, path)
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Keeps a checkpoint file behind its journal without holding up commits. */
export type CheckpointWriter = {
  /** There is a newer head; commits that come while the file is being written share the next writing. */
  renew(): void
  /** Resolves when the newest head is in the file, or its writing has failed. */
  flush(): Promise<void>
}

/** `note` gives the signed note over the journal's committed head. A failed writing is reported and tried again at the next commit. */
export function createCheckpointWriter(options: {
  readonly path: string
  readonly note: () => string
  readonly onProblem: (error: unknown) => void
}): CheckpointWriter {
  let isDue = false
  let running: Promise<void> | undefined
  const run = async (): Promise<void> => {
    while (isDue) {
      isDue = false
      try {
        await replaceFile(options.path, options.note())
      } catch (error) {
        options.onProblem(
          new RecordStoreUnavailable(`${options.path} cannot be written`, { cause: error }),
        )
      }
    }
    running = undefined
  }
  return {
    renew: () => {
      isDue = true
      running ??= run()
    },
    flush: async () => running,
  }
}
