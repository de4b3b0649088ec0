/**
 * The last signed checkpoint, in a file beside the ledger: it tells a ledger that lost its tail, such as an older copy in its
 * place, from one that has it. It is written when a process closes the ledger, and only where the ledger goes on from the
 * one that is there; backup.ts alone writes it otherwise.
 */

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import {
  type Checkpoint,
  createNoteSigner,
  formatCheckpoint,
  type NoteSigner,
  openNote,
  type ParsedCheckpoint,
  parseCheckpoint,
} from '@tallystick/hashchain'
import { strictBase64 } from '@tallystick/service-kit'
import { GradingStoreUnavailable, type LedgerHead } from '../domain/grading-store.ts'
import { isOnDisk } from './sqlite-database.ts'
import type { LedgerTree } from './sqlite-ledger.ts'

const checkpointPathOf = (databasePath: string): string => `${databasePath}.checkpoint`

/** Replaces the file atomically: a reader finds the old note or the new one. Throws GradingStoreUnavailable. */
export function writeCheckpointFile(databasePath: string, note: string): void {
  if (!isOnDisk(databasePath)) return
  const path = checkpointPathOf(databasePath)
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

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

function readNote(databasePath: string): string | undefined {
  if (!isOnDisk(databasePath)) return undefined
  const path = checkpointPathOf(databasePath)
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
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

/** A ledger's head as a signed checkpoint. */
export const signHead = (signer: NoteSigner, head: LedgerHead): string =>
  signer.sign(formatCheckpoint({ origin: signer.keyName, ...head }))

export type CheckpointReading =
  | Extract<ParsedCheckpoint, { kind: 'checkpoint' }>
  | { readonly kind: 'absent' | 'refused' }

/**
 * What the file says: `absent` where there is none, `refused` where it is not signed by the key of this seed. Throws
 * GradingStoreUnavailable where it is there and cannot be read.
 */
export function readCheckpointFile(databasePath: string, seed: Uint8Array): CheckpointReading {
  const note = readNote(databasePath)
  if (note === undefined) return { kind: 'absent' }
  const opened = openNote({ note, verifierKey: verifierKeyOf(note, seed) })
  if (opened.kind !== 'opened') return { kind: 'refused' }
  const parsed = parseCheckpoint(opened.text)
  return parsed.kind === 'checkpoint' ? parsed : { kind: 'refused' }
}

/** Whether a ledger has all that a checkpoint signed, as it signed it. */
export const hasAllOf = (tree: LedgerTree, { rootHash, size }: Checkpoint): boolean =>
  size <= tree.size && Buffer.compare(tree.rootAt(size), rootHash) === 0

/**
 * Throws GradingStoreUnavailable for a ledger that does not go on from its last checkpoint. The checkpoint is to be read
 * before the tree: another process may append and sign in between.
 */
export function requireContinued(last: CheckpointReading, tree: LedgerTree): void {
  let reason: string
  switch (last.kind) {
    case 'absent':
      return
    case 'refused':
      reason = 'its last checkpoint is not signed by its checkpoint key, or was altered'
      break
    case 'checkpoint': {
      const { size } = last.checkpoint
      if (hasAllOf(tree, last.checkpoint)) return
      reason =
        size > tree.size
          ? `its last signed checkpoint counts ${size} entries, ${tree.size} of them are here`
          : `its entries do not hash to its last signed checkpoint, of ${size}`
      break
    }
    default:
      return last satisfies never
  }
  throw new GradingStoreUnavailable(
    `the ledger is refused: ${reason}. If a backup was restored on purpose, run "grading accept-backup"`,
  )
}

/**
 * Puts the ledger's checkpoint into the file. One that the ledger does not go on from stays: it is the proof of what was
 * lost. Throws GradingStoreUnavailable.
 */
export function keepCheckpoint(
  databasePath: string,
  ledger: { readonly tree: LedgerTree; readonly seed: Uint8Array; readonly note: () => string },
): void {
  const { note, seed, tree } = ledger
  if (tree.size === 0) return
  const last = readCheckpointFile(databasePath, seed)
  const isReplaced =
    last.kind === 'absent' || (last.kind === 'checkpoint' && hasAllOf(tree, last.checkpoint))
  if (isReplaced) writeCheckpointFile(databasePath, note())
}

/** An Ed25519 seed, bytes. */
const SEED_BYTES = 32

function readSeed(path: string): Uint8Array | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  const seed = strictBase64(text)
  if (seed?.length !== SEED_BYTES) throw new Error(`expected ${SEED_BYTES} bytes in base64`)
  return seed
}

/** Makes the file whole or not at all; where another process was first, its seed is the one. */
function makeSeed(path: string): Uint8Array {
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, `${randomBytes(SEED_BYTES).toString('base64')}\n`)
    fsyncSync(file)
    linkSync(draft, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    closeSync(file)
    unlinkSync(draft)
  }
  const seed = readSeed(path)
  if (seed === undefined) throw new Error('it is gone as soon as it is made')
  return seed
}

/**
 * The seed that signs this ledger's checkpoints, kept beside the database (base64, mode 0600) and made at the first
 * start. Throws GradingStoreUnavailable where that file cannot be read, written or understood.
 */
export function loadCheckpointSeed(databasePath: string): Uint8Array {
  if (!isOnDisk(databasePath)) return randomBytes(SEED_BYTES)
  const path = `${databasePath}.checkpoint-key`
  try {
    return readSeed(path) ?? makeSeed(path)
  } catch (error) {
    throw new GradingStoreUnavailable(`${path} is not usable as a checkpoint key`, { cause: error })
  }
}

/** What checkpoints call this service's ledger: its address without a scheme, as C2SP recommends, and `ledger`. */
export function ledgerOrigin(baseUrl: string): string {
  const { host, pathname } = new URL(baseUrl)
  return `${host}${pathname.replace(/\/+$/, '')}/ledger`
}
