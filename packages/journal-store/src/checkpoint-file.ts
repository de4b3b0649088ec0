/**
 * The last signed checkpoint of a journal, in a file beside the database: it shows whether the database was restored or
 * shortened since. Also the key that signs it, and the name that it is signed under.
 */
import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import {
  type CompactRange,
  createNoteSigner,
  formatCheckpoint,
  openCheckpoint,
  type TreeHead,
} from '@tallystick/hashchain'
import {
  besideDatabase,
  errorCode,
  PRIVATE_FILE_MODE,
  replaceFile,
  replaceFileNow,
} from './private-file.ts'
import type { Journal } from './store.ts'
import type { UnavailableError } from './unavailable.ts'

/** Whose checkpoints: a store, its Ed25519 seed (32 bytes), and its name in them. */
export type StoreOwner = {
  readonly databasePath: string
  readonly checkpointSeed: Uint8Array
  /** Such as `care.example.org/care`. */
  readonly origin: string
}

/** A journal adds this to its store's names. It must stay the same: the service finds its files and notes by it. */
export type CheckpointNames = {
  /** Follows the store's origin: `/user`, or nothing. */
  readonly originEnding: string
  /** Follows the database's path: `.user-checkpoint`. */
  readonly fileEnding: string
}

/** A checkpoint file says this: `absent` without a file, `refused` if it is not by the store's key. */
export type CheckpointReading =
  | { readonly kind: 'checkpoint'; readonly checkpoint: TreeHead }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused' }

/** Whether a journal still has everything that a checkpoint signed, unchanged. */
export const isContinued = async (
  journal: Pick<Journal, 'size' | 'rootAt'>,
  { rootHash, size }: TreeHead,
): Promise<boolean> =>
  size <= journal.size && Buffer.compare(await journal.rootAt(size), rootHash) === 0

/** Refuses a journal that does not continue from its last checkpoint, with the service's error. */
export async function requireContinued(
  last: CheckpointReading,
  { journal, noun }: { readonly journal: Pick<Journal, 'size' | 'rootAt'>; readonly noun: string },
  { acceptCommand, Unavailable, Behind = Unavailable }: Refusing,
): Promise<void> {
  if (last.kind === 'absent') return
  const signed = last.kind === 'checkpoint' ? last.checkpoint : undefined
  if (signed !== undefined && (await isContinued(journal, signed))) return
  let reason = 'its last checkpoint is not signed by its checkpoint key, or was altered'
  if (signed !== undefined)
    reason =
      signed.size > journal.size
        ? `its last signed checkpoint counts ${signed.size} entries, ${journal.size} of them are here`
        : `its entries do not hash to its last signed checkpoint, of ${signed.size}`
  throw new Behind(
    `${noun} is refused: ${reason}. If a backup was restored on purpose, run "${acceptCommand}"`,
  )
}

type Refusing = {
  readonly acceptCommand: string
  readonly Unavailable: UnavailableError
  readonly Behind?: UnavailableError
}

type Head = Pick<CompactRange, 'size' | 'rootHash'>

/**
 * Pause between two renewals of a file, milliseconds. A renewal makes a file and syncs twice; one per commit took a fifth of a
 * lone write's CPU. After a kill the file may lack what was committed during the pause.
 */
const REST_MS = 100

export type CheckpointFile = ReturnType<typeof checkpointFile>

type CheckpointFileOptions = CheckpointNames & {
  readonly owner: StoreOwner
  readonly Unavailable: UnavailableError
}

/** The checkpoint of one journal. Throws a RangeError for an origin that no note can have. */
export function checkpointFile({
  owner,
  originEnding,
  fileEnding,
  Unavailable,
}: CheckpointFileOptions) {
  const { checkpointSeed: seed, origin } = owner
  const path = besideDatabase(owner.databasePath, fileEnding)
  const signer = createNoteSigner({ keyName: origin + originEnding, seed })
  const sign = (head: Head): string =>
    signer.sign(
      formatCheckpoint({ origin: signer.keyName, size: head.size, rootHash: head.rootHash() }),
    )
  const unwritable = (cause: unknown): Error =>
    new Unavailable(`${path} cannot be written`, { cause })
  let [isDue, isEnding] = [false, false]
  let running: Promise<void> | undefined
  let endRest: (() => void) | undefined
  const rested = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, REST_MS)
      endRest = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const run = async (head: () => Head, onProblem: (error: unknown) => void): Promise<void> => {
    while (isDue) {
      isDue = false
      try {
        if (path !== undefined) await replaceFile(path, sign(head()))
      } catch (error) {
        // Tried again at the next commit.
        onProblem(unwritable(error))
      }
      if (!isEnding) await rested()
    }
    running = undefined
  }
  return {
    path,
    /** The key that checks its notes, `name+id+base64`. */
    verifierKey: signer.verifierKey,
    /** The note over a head of the journal. */
    sign,
    /** Reads the file as it is now. Throws the service's error if it exists but cannot be read. */
    read(): CheckpointReading {
      try {
        return path === undefined
          ? { kind: 'absent' }
          : openOwnNote(readFileSync(path, 'utf8'), { seed, originEnding })
      } catch (error) {
        if (errorCode(error) === 'ENOENT') return { kind: 'absent' }
        throw new Unavailable(`${path} cannot be read`, { cause: error })
      }
    },
    /** Replaces the file at once and durably. Throws the service's error. */
    write(head: Head): void {
      try {
        if (path !== undefined) replaceFileNow(path, sign(head))
      } catch (error) {
        throw unwritable(error)
      }
    },
    /** Replaces the file in the background, at once unless it was just replaced. Calls in the meantime share the next write. */
    renew(head: () => Head, onProblem: (error: unknown) => void): void {
      isDue = true
      running ??= run(head, onProblem)
    },
    /** At the end: resolves when the file holds the newest head, or could not be written. */
    flush: async (): Promise<void> => {
      isEnding = true
      endRest?.()
      await running
    },
  }
}

/** Renews the files of journals that have grown. */
export const renewGrown =
  <Name extends string>(
    files: Readonly<Record<Name, Pick<CheckpointFile, 'renew'>>>,
    heads: { reader(name: Name): () => Head },
    onProblem: (error: unknown) => void,
  ) =>
  (grown: readonly Name[]): void => {
    for (const name of grown) files[name].renew(heads.reader(name), onProblem)
  }

/** The name may differ if its ending is the same: a service's address can change. */
function openOwnNote(
  note: string,
  { seed, originEnding }: { readonly seed: Uint8Array; readonly originEnding: string },
): CheckpointReading {
  const [keyName = ''] = note.split('\n', 1)
  if (!keyName.endsWith(originEnding)) return { kind: 'refused' }
  let verifierKey: string
  try {
    verifierKey = createNoteSigner({ keyName, seed }).verifierKey
  } catch {
    return { kind: 'refused' } // no name at all
  }
  const opened = openCheckpoint({ note, verifierKey })
  return opened.kind === 'checkpoint' ? opened : { kind: 'refused' }
}

/** The origin of a service's checkpoints: its address without a scheme, as C2SP recommends, and its name. */
export function checkpointOrigin(baseUrl: string, name: string): string {
  const { host, pathname } = new URL(baseUrl)
  return `${host}${pathname.replace(/\/+$/, '')}/${name}`
}

/** An Ed25519 seed, bytes. */
const SEED_BYTES = 32

/**
 * The seed that signs a store's checkpoints, kept beside the database in `.checkpoint-key` (base64, mode 0600) and made at the
 * first start. A store in memory gets a new one each time. Throws the service's error if the file cannot be read, written or
 * understood.
 */
export function loadCheckpointSeed(
  databasePath: string,
  Unavailable: UnavailableError,
): Uint8Array {
  const path = besideDatabase(databasePath, '.checkpoint-key')
  if (path === undefined) return randomBytes(SEED_BYTES)
  try {
    return readSeed(path) ?? makeSeed(path)
  } catch (error) {
    throw new Unavailable(`${path} is not usable as a checkpoint key`, { cause: error })
  }
}

function readSeed(path: string): Uint8Array | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
  const seed = Buffer.from(text, 'base64')
  if (seed.length !== SEED_BYTES || seed.toString('base64') !== text)
    throw new Error(`expected ${SEED_BYTES} bytes in base64`)
  return seed
}

/** Makes the file whole or not at all. If another process was first, its seed counts. */
function makeSeed(path: string): Uint8Array {
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  const text = `${randomBytes(SEED_BYTES).toString('base64')}\n`
  try {
    writeFileSync(draft, text, { mode: PRIVATE_FILE_MODE, flag: 'wx', flush: true })
    linkSync(draft, path)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  const seed = readSeed(path)
  if (seed === undefined) throw new Error('it is gone as soon as it is made')
  return seed
}
