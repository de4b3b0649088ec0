// The files of one store: where each lies, who may read it, and the lock of the one process that may write.
import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'

/** SQLite's path of a database that is in no file: such a store has no other files either. */
const IN_MEMORY = ':memory:'

/** Another connection holds the lock. */
const SQLITE_BUSY = 5

/** Where a store keeps what, given the path of its database (`DATABASE_PATH`). */
export function storePaths(databasePath: string) {
  const beside = (ending: string): string | undefined =>
    databasePath === IN_MEMORY ? undefined : databasePath + ending
  return {
    /** Held by the one process that may append. */
    lock: beside('.lock'),
    /** Sessions, frames and audit rows. */
    sessions: beside('.sessions') ?? IN_MEMORY,
    /** The last signed checkpoint of a journal. */
    checkpoint: (audience: Audience) => beside(`.${audience}-checkpoint`),
    /** The generated signing key, where none is configured. */
    checkpointKey: beside('.checkpoint-key'),
  }
}

/** The mode of a store's files: its owner reads and writes, nobody else. */
export const PRIVATE_FILE_MODE = 0o600

/**
 * Makes an empty file for its owner alone where there is none; SQLite's files beside it take its mode over. It does not
 * open an existing file: closing a second descriptor would end every lock that this process has on it (POSIX).
 */
export function makePrivateFile(path: string): void {
  if (path !== IN_MEMORY && !existsSync(path)) closeSync(openSync(path, 'ax', PRIVATE_FILE_MODE))
}

/** The right to append to a store, held by one process at a time. */
export type StoreLock = { release(): void }

/**
 * Takes the lock or throws RecordStoreUnavailable at once where another process holds it. An exclusive transaction on an
 * otherwise empty SQLite file is a lock of the operating system: it ends with its process, also by kill -9, and leaves the
 * store itself open to readers such as `care audit`.
 */
export function takeStoreLock(path: string | undefined): StoreLock {
  if (path === undefined) return { release: () => undefined }
  let database: DatabaseSync | undefined
  try {
    makePrivateFile(path)
    database = new DatabaseSync(path, { timeout: 0 })
    database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
    const held = database
    return { release: () => held.close() }
  } catch (error) {
    database?.close()
    const isHeld = error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
    const reason = isHeld
      ? 'another process has this store open (one process at a time may write to it)'
      : 'the lock file cannot be opened'
    throw new RecordStoreUnavailable(`${path}: ${reason}`, { cause: error })
  }
}
