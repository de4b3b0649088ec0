import { closeSync, openSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { readJournal } from './sqlite-journal.ts'
import { openRecordDatabaseReadOnly } from './sqlite-record-database.ts'
import { PRIVATE_FILE_MODE } from './store-private-file.ts'

/** Pages copied in one step: all of them, so that a busy service cannot make the copy start again and again. */
const PAGES_PER_STEP = 2 ** 31 - 1

export type BackupOutcome = Readonly<Record<Audience, number>>

/**
 * Copies the records of a store, also of a running one, into a new file and returns how many entries each journal has
 * there. Checkpoints are left out on purpose: they tell a restored copy from the newest state. Throws
 * RecordStoreUnavailable; a file that it began is not left behind then.
 */
export async function backupRecords(options: {
  readonly databasePath: string
  readonly targetPath: string
}): Promise<BackupOutcome> {
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

function checkedEntries(targetPath: string): BackupOutcome {
  const copy = new DatabaseSync(targetPath)
  try {
    const check = Object.values(copy.prepare('PRAGMA integrity_check(1)').get() ?? {})[0]
    if (check !== 'ok')
      throw new RecordStoreUnavailable(
        `${targetPath} is damaged, and was removed: ${String(check)}`,
      )
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
