/** The files beside a database: for their owner alone, and replaced whole or not at all. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** SQLite's path of a database without a file: such a store has no other files either. */
export const IN_MEMORY = ':memory:'

/** Only its owner reads and writes it. */
export const PRIVATE_FILE_MODE = 0o600

/** The path of a file beside a database; undefined if the database is in memory. */
export const besideDatabase = (databasePath: string, ending: string): string | undefined =>
  databasePath === IN_MEMORY ? undefined : databasePath + ending

/** The code of an error of the file system, such as `ENOENT`. */
export const errorCode = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/**
 * Makes an empty file for its owner alone if there is none; SQLite's files beside it take on its mode. It does not open an
 * existing file: closing a second descriptor would end every lock that this process has on it (POSIX).
 */
export function makePrivateFile(path: string): void {
  if (path === IN_MEMORY || existsSync(path)) return
  try {
    closeSync(openSync(path, 'ax', PRIVATE_FILE_MODE))
  } catch (error) {
    // Another process was first.
    if (errorCode(error) !== 'EEXIST') throw error
  }
}

/** By process: two may replace one file at the same time. */
const draftPath = (path: string): string => `${path}.${process.pid}.next`
const DRAFT_ENDING = /\.(\d+)\.next$/

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM: it is another user's.
    return errorCode(error) !== 'ESRCH'
  }
}

/** Removes the drafts of files beside a database that killed processes left. */
export function removeLeftDrafts(databasePath: string): void {
  if (databasePath === IN_MEMORY) return
  const [folder, start] = [dirname(databasePath), `${basename(databasePath)}.`]
  try {
    for (const name of readdirSync(folder)) {
      const pid = name.startsWith(start) ? DRAFT_ENDING.exec(name)?.[1] : undefined
      if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(folder, name), { force: true })
    }
  } catch {
    // Old drafts do no harm. If the folder takes no files, the next write reports it.
  }
}

/** Replaces a file durably: a reader finds the old text or the new one. */
export function replaceFileNow(path: string, text: string): void {
  try {
    writeFileSync(draftPath(path), text, { mode: PRIVATE_FILE_MODE, flush: true })
    renameSync(draftPath(path), path)
  } catch (error) {
    // Half a draft takes room on a full disk.
    rmSync(draftPath(path), { force: true })
    throw error
  }
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** The same, off the event loop. */
export async function replaceFile(path: string, text: string): Promise<void> {
  try {
    await writeFile(draftPath(path), text, { mode: PRIVATE_FILE_MODE, flush: true })
    await rename(draftPath(path), path)
  } catch (error) {
    await rm(draftPath(path), { force: true })
    throw error
  }
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
