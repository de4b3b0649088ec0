// Backups: the copy of a store, also of a running one, and the signature under a copy that was put back.
import { closeSync, openSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import { readJournal } from './sqlite-journal.ts'
import {
  findDamage,
  openRecordDatabase,
  openRecordDatabaseReadOnly,
} from './sqlite-record-database.ts'
import { type CheckpointOwner, journalCheckpoint } from './store-checkpoint.ts'
import { PRIVATE_FILE_MODE, storePaths, takeStoreLock } from './store-files.ts'

/** Pages copied in one step: all of them, so that a busy service cannot make the copy start again and again. */
const PAGES_PER_STEP = 2 ** 31 - 1

/**
 * Copies the records of a store into a new file and returns how many entries each journal has there. Checkpoints are left
 * out on purpose: they tell a restored copy from the newest state. Throws RecordStoreUnavailable and leaves no half a file.
 */
export async function backupRecords(options: {
  readonly databasePath: string
  readonly targetPath: string
}): Promise<Readonly<Record<Audience, number>>> {
  const { databasePath, targetPath } = options
  const source = openRecordDatabaseReadOnly(databasePath)
  try {
    makeTarget(targetPath)
    try {
      await copyInto(targetPath, source)
      return checkedEntries(targetPath)
    } catch (error) {
      // It would be in the way of the next one, and could be taken for a backup.
      for (const end of ['', '-journal']) rmSync(targetPath + end, { force: true })
      throw error
    }
  } finally {
    source.close()
  }
}

async function copyInto(targetPath: string, source: DatabaseSync): Promise<void> {
  try {
    await backup(source, targetPath, { rate: PAGES_PER_STEP })
  } catch (error) {
    throw new RecordStoreUnavailable(`${targetPath} could not be written`, { cause: error })
  }
}

function checkedEntries(targetPath: string): Readonly<Record<Audience, number>> {
  const copy = new DatabaseSync(targetPath)
  try {
    const damage = findDamage(copy)
    if (damage !== undefined)
      throw new RecordStoreUnavailable(`${targetPath} is damaged, and was removed: ${damage}`)
    return { user: entriesIn(copy, 'user'), assistant: entriesIn(copy, 'assistant') }
  } finally {
    copy.close()
  }
}

function makeTarget(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_FILE_MODE))
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    throw new RecordStoreUnavailable(
      isThere ? `${path} exists already; a backup overwrites nothing` : `${path} cannot be made`,
      { cause: error },
    )
  }
}

function entriesIn(database: DatabaseSync, audience: Audience): number {
  const reading = readJournal({ database, audience, checkpoint: 'unchecked' })
  if (reading.kind === 'read') return reading.tree.size
  throw new RecordStoreUnavailable(`the ${audience} journal is incomplete: ${reading.reason}`)
}

/** What was accepted of one journal. */
type AcceptedJournal = {
  readonly audience: Audience
  /** Entries that are there now. */
  readonly size: number
  /** Entries that the last checkpoint counted; undefined without one by our key. */
  readonly signedSize: number | undefined
}

/**
 * Signs the journals as they are found, so that a restored backup opens again. Entries must be there without gaps; what the
 * last checkpoint counted beyond them is given up. Throws RecordStoreUnavailable, also beside a running service.
 */
export function acceptBackup(owner: CheckpointOwner): readonly AcceptedJournal[] {
  const lock = takeStoreLock(storePaths(owner.databasePath).lock)
  try {
    const database = openRecordDatabase(owner.databasePath, 'existing')
    try {
      const readings = AUDIENCES.map((audience) => {
        const reading = readJournal({ database, audience, checkpoint: 'unchecked' })
        if (reading.kind === 'refused')
          throw new RecordStoreUnavailable(`the ${audience} journal has gaps: ${reading.reason}`)
        return { audience, tree: reading.tree }
      })
      return readings.map(({ audience, tree }) => {
        const signedSize = signedSizeOf(owner, audience)
        journalCheckpoint(owner, audience).write(tree)
        return { audience, size: tree.size, signedSize }
      })
    } finally {
      database.close()
    }
  } finally {
    lock.release()
  }
}

function signedSizeOf(owner: CheckpointOwner, audience: Audience): number | undefined {
  try {
    return journalCheckpoint(owner, audience).read()?.size
  } catch {
    return undefined // not by our key: this call puts that right
  }
}
