import { DatabaseSync } from 'node:sqlite'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { isSqliteError, SQLITE_BUSY } from './sqlite-error.ts'
import { makePrivateFile } from './store-private-file.ts'

/** The right to append to a store, held by one process at a time. */
export type StoreLock = { release(): void }

/**
 * Takes the lock or throws RecordStoreUnavailable at once where another process holds it. An exclusive transaction on an
 * otherwise empty SQLite file is a lock of the operating system: it ends with its process, also by kill -9, and leaves the
 * store itself open to readers such as `care audit`.
 */
export function takeStoreLock(path: string): StoreLock {
  let database: DatabaseSync | undefined
  try {
    makePrivateFile(path)
    database = new DatabaseSync(path, { timeout: 0 })
    database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
    const held = database
    return {
      release: () => {
        held.close()
      },
    }
  } catch (error) {
    database?.close()
    const reason =
      isSqliteError(error) && error.errcode === SQLITE_BUSY
        ? 'another process has this store open (one process at a time may write to it)'
        : 'the lock file cannot be opened'
    throw new RecordStoreUnavailable(`${path}: ${reason}`, { cause: error })
  }
}
