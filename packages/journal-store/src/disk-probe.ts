import { open, rm } from 'node:fs/promises'
import { keepFinding } from './keep-finding.ts'
import { IN_MEMORY } from './private-file.ts'
import { errorMessage, type WriteTrouble } from './unavailable.ts'

/** The largest write adds so much to a store and its log: with less room, writes begin to fail. */
const PROBE_BYTES = 524_288

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** The public words: those of the system name paths. */
function describeTrouble(error: unknown): WriteTrouble {
  const isFull = error instanceof Error && 'code' in error && FULL.has(String(error.code))
  return isFull
    ? { reason: 'disk_full', sentence: 'the disk of the store has no room for a write' }
    : { reason: 'disk_unwritable', sentence: 'the disk of the store takes no writes' }
}

/** Writes a file beside the store's, to the disk and off it again. */
async function tryDisk(path: string): Promise<void> {
  const file = `${path}.probe`
  try {
    const handle = await open(file, 'w', 0o600)
    try {
      await handle.writeFile(new Uint8Array(PROBE_BYTES))
      await handle.sync()
    } finally {
      await handle.close()
    }
  } finally {
    await rm(file, { force: true })
  }
}

/** Whether the disk of a store's file takes writes now, for `/ready` (S13): one that is full still answers every read. */
export function openDiskProbe(path: string, onProblem: (error: unknown) => void) {
  const look = async (): Promise<WriteTrouble | undefined> => {
    try {
      await tryDisk(path)
      return undefined
    } catch (error) {
      onProblem(new Error(`${path}: ${errorMessage(error)}`, { cause: error }))
      return describeTrouble(error)
    }
  }
  return {
    /** Why a write would fail now; undefined if it would not. */
    trouble: keepFinding(path === IN_MEMORY ? async () => undefined : look),
  }
}
