// The last signed checkpoint of a journal, in a file of its own: it tells a restored or shortened database from the one
// that was written last. The file is replaced atomically, after the commit that it covers. Also the key that signs it.
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { open, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  type CompactRange,
  createNoteSigner,
  formatCheckpoint,
  type NoteSigner,
  openNote,
  parseCheckpoint,
  type TreeHead,
} from '@tallystick/hashchain'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { PRIVATE_FILE_MODE, storePaths } from './store-files.ts'

/** Whose checkpoints: a store, its Ed25519 seed, and the name that stands before `/user` and `/assistant`. */
export type CheckpointOwner = {
  readonly databasePath: string
  readonly checkpointSeed: Uint8Array
  /** Such as `care.example.org/care`. */
  readonly origin: string
}

export type JournalCheckpoint = ReturnType<typeof journalCheckpoint>

type Head = Pick<CompactRange, 'size' | 'rootHash'>

/** The checkpoint of one journal. */
export function journalCheckpoint(owner: CheckpointOwner, audience: Audience) {
  const { checkpointSeed: seed, origin } = owner
  const path = storePaths(owner.databasePath).checkpoint(audience)
  const signer = createNoteSigner({ keyName: `${origin}/${audience}`, seed })
  const sign = (head: Head): string =>
    signer.sign(
      formatCheckpoint({ origin: signer.keyName, size: head.size, rootHash: head.rootHash() }),
    )
  let isDue = false
  let running: Promise<void> | undefined
  const run = async (head: () => Head, onProblem: (error: unknown) => void): Promise<void> => {
    while (isDue) {
      isDue = false
      try {
        if (path !== undefined) await replaceFile(path, sign(head()))
      } catch (error) {
        // Tried again at the next commit.
        onProblem(new RecordStoreUnavailable(`${path} cannot be written`, { cause: error }))
      }
    }
    running = undefined
  }
  return {
    /** The key that checks its notes, `name+id+base64`. */
    verifierKey: signer.verifierKey,
    /** The note over a head of the journal. */
    sign,
    /**
     * The head that was last signed, undefined where there is no file. Throws RecordStoreUnavailable for a note that is not
     * by our key. Its name may be another one: the service's address can change.
     */
    read: () => (path === undefined ? undefined : readOwnNote(path, { audience, seed })),
    /** Replaces the file at once and durably; for the start and for commands. */
    write(head: Head): void {
      if (path !== undefined) replaceFileNow(path, sign(head))
    },
    /** Replaces the file in the background. Calls that come meanwhile share the next writing. */
    renew(head: () => Head, onProblem: (error: unknown) => void): void {
      isDue = true
      running ??= run(head, onProblem)
    },
    /** Resolves when the newest head is in the file, or its writing has failed. */
    flush: async (): Promise<void> => running,
  }
}

type OwnNote = { readonly audience: Audience; readonly seed: Uint8Array }

function readOwnNote(path: string, own: OwnNote): TreeHead | undefined {
  let note: string
  try {
    note = readFileSync(path, 'utf8')
  } catch (error) {
    if (isNoSuchFile(error)) return undefined
    throw new RecordStoreUnavailable(`${path} cannot be read`, { cause: error })
  }
  const head = openOwnNote(note, own)
  if (head !== undefined) return head
  throw new RecordStoreUnavailable(
    `${path} is not signed by this store’s checkpoint key, or was altered; if that is intended, run "care accept-backup"`,
  )
}

const isNoSuchFile = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

function openOwnNote(note: string, { audience, seed }: OwnNote): TreeHead | undefined {
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

function replaceFileNow(path: string, note: string): void {
  writeFileSync(`${path}.next`, note, { mode: PRIVATE_FILE_MODE, flush: true })
  renameSync(`${path}.next`, path)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}

async function replaceFile(path: string, note: string): Promise<void> {
  await writeFile(`${path}.next`, note, { mode: PRIVATE_FILE_MODE, flush: true })
  await rename(`${path}.next`, path)
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** What checkpoints call this service's journals: its address without a scheme, as C2SP recommends, and its name. */
export function checkpointOrigin(baseUrl: string, serviceName: string): string {
  const { host, pathname } = new URL(baseUrl)
  return `${host}${pathname.replace(/\/+$/, '')}/${serviceName}`
}

/** An Ed25519 seed, bytes. */
const SEED_BYTES = 32

/**
 * The seed that signs this store's checkpoints: the configured one, else the one kept beside the database (base64, mode
 * 0600), made at the first start. Throws RecordStoreUnavailable where that file cannot be read, written or understood.
 */
export function loadCheckpointSeed(
  databasePath: string,
  configured: Uint8Array | undefined,
): Uint8Array {
  const path = storePaths(databasePath).checkpointKey
  if (configured !== undefined) return configured
  if (path === undefined) return randomBytes(SEED_BYTES)
  try {
    return readSeed(path) ?? makeSeed(path)
  } catch (error) {
    throw new RecordStoreUnavailable(`${path} is not usable as a checkpoint key`, { cause: error })
  }
}

function readSeed(path: string): Uint8Array | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (isNoSuchFile(error)) return undefined
    throw error
  }
  const seed = Buffer.from(text, 'base64')
  if (seed.length !== SEED_BYTES || seed.toString('base64') !== text)
    throw new Error(`expected ${SEED_BYTES} bytes in base64`)
  return seed
}

function makeSeed(path: string): Uint8Array {
  const seed = randomBytes(SEED_BYTES)
  const text = `${seed.toString('base64')}\n`
  writeFileSync(path, text, { mode: PRIVATE_FILE_MODE, flag: 'wx', flush: true })
  return seed
}
