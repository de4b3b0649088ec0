/** Backups of a store on SQLite: the copy, even of a running store, and the signature under a restored copy. */
import { closeSync, openSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import type { StoreOwner } from './checkpoint-file.ts'
import { eachJournal } from './journal.ts'
import { errorCode, PRIVATE_FILE_MODE } from './private-file.ts'
import { askOn } from './sqlite-connection.ts'
import {
  findDamage,
  openSqliteFile,
  openSqliteReader,
  type SqliteFileKind,
} from './sqlite-database.ts'
import { readLeaves, type SqliteKind } from './sqlite-journals.ts'
import { takeStoreLock } from './sqlite-store.ts'
import { openCheckpointFiles } from './store-kind.ts'
import { errorMessage, type UnavailableError } from './unavailable.ts'

/** Pages copied in one step: all of them, so that a busy service cannot make the copy start again and again. */
const PAGES_PER_STEP = 2 ** 31 - 1

type Copying = { readonly databasePath: string; readonly targetPath: string }

/**
 * Copies a file, even of a running service, into a new one. Checks the copy for damage and with `check`, and returns what
 * `check` returns. Throws the kind's error and leaves no partial file; it overwrites nothing.
 */
export async function backupSqliteFile<Checked>(
  { databasePath, targetPath }: Copying,
  kind: SqliteFileKind,
  check: (copy: DatabaseSync) => Checked,
): Promise<Checked> {
  const source = openSqliteReader(databasePath, kind)
  try {
    makeTarget(targetPath, kind.Unavailable)
    try {
      await copyInto(targetPath, { source, Unavailable: kind.Unavailable })
      return checked(targetPath, { check, Unavailable: kind.Unavailable })
    } catch (error) {
      // It would block the next one, and could pass for a backup.
      for (const end of ['', '-journal']) rmSync(targetPath + end, { force: true })
      throw error
    }
  } finally {
    source.close()
  }
}

function makeTarget(path: string, Unavailable: UnavailableError): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_FILE_MODE))
  } catch (error) {
    const isThere = errorCode(error) === 'EEXIST'
    throw new Unavailable(
      isThere ? `${path} exists already; a backup overwrites nothing` : `${path} cannot be made`,
      { cause: error },
    )
  }
}

async function copyInto(
  path: string,
  { source, Unavailable }: { source: DatabaseSync; Unavailable: UnavailableError },
): Promise<void> {
  try {
    await backup(source, path, { rate: PAGES_PER_STEP })
  } catch (error) {
    throw new Unavailable(`${path} could not be written: ${errorMessage(error)}`, { cause: error })
  }
}

function checked<Checked>(
  path: string,
  { check, Unavailable }: { check: (copy: DatabaseSync) => Checked; Unavailable: UnavailableError },
): Checked {
  const copy = new DatabaseSync(path)
  try {
    const damage = findDamage(copy)
    if (damage !== undefined)
      throw new Unavailable(`${path} is damaged, and was removed: ${damage}`)
    return check(copy)
  } finally {
    copy.close()
  }
}

/**
 * Copies a store's journals, as backupSqliteFile does, and returns how many entries each has in the copy. Checkpoints and keys
 * are left out on purpose: they distinguish a restored copy from the newest state. A journal with a gap is no backup.
 */
export const backupSqliteStore = <Name extends string>(
  kind: SqliteKind<Name>,
  paths: Copying,
): Promise<Readonly<Record<Name, number>>> =>
  backupSqliteFile(paths, kind, (copy) =>
    eachJournal(kind, (table) => {
      const reading = readLeaves(askOn(copy), table, 'unchecked')
      if (reading.kind === 'read') return reading.range.size
      throw new kind.Unavailable(`${table.noun} is incomplete: ${reading.reason}`)
    }),
  )

/** This was accepted of one journal. */
export type AcceptedJournal = {
  /** Entries that are there now. */
  readonly size: number
  /** Entries that the last checkpoint counted; undefined without one by the store's key. */
  readonly signedSize: number | undefined
  /** Whether the journal still has everything that the last checkpoint signed, unchanged. */
  readonly isContinued: boolean
}

/**
 * Signs the journals of a store as they are found, so that a restored backup opens again. The entries must have no gaps; any
 * beyond them that the last checkpoint counted are given up. Throws the service's error, also while a service runs on a store
 * with a lock.
 */
export function acceptSqliteBackup<Name extends string>(
  kind: SqliteKind<Name>,
  owner: StoreOwner,
): Readonly<Record<Name, AcceptedJournal>> {
  const lock = takeStoreLock(kind, owner.databasePath)
  try {
    const database = openSqliteFile(owner.databasePath, kind, 'exist')
    try {
      const files = openCheckpointFiles(kind, owner)
      const ask = askOn(database)
      const found = eachJournal(kind, (table, name) => {
        const last = files[name].read()
        const signed = last.kind === 'checkpoint' ? last.checkpoint : undefined
        const continued = signed === undefined ? undefined : readLeaves(ask, table, signed)
        const isContinued = continued?.kind === 'read'
        const reading = isContinued ? continued : readLeaves(ask, table, 'unchecked')
        if (reading.kind === 'refused')
          throw new kind.Unavailable(`${table.noun} has gaps: ${reading.reason}`)
        return { range: reading.range, signedSize: signed?.size, isContinued }
      })
      return eachJournal(kind, (_, name) => {
        const { isContinued, range, signedSize } = found[name]
        files[name].write(range)
        return { size: range.size, signedSize, isContinued }
      })
    } finally {
      database.close()
    }
  } finally {
    lock.release()
  }
}
