import { existsSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'

/** Pages copied in one step: all of them, so that a busy service cannot make the copy start again and again. */
const PAGES_PER_STEP = 2 ** 31 - 1

async function copy(sourcePath: string, targetPath: string): Promise<void> {
  const source = new DatabaseSync(sourcePath, { readOnly: true })
  try {
    await backup(source, targetPath, { rate: PAGES_PER_STEP })
  } finally {
    source.close()
  }
  const target = new DatabaseSync(targetPath)
  try {
    const check = Object.values(target.prepare('PRAGMA integrity_check(1)').get() ?? {})[0]
    if (check !== 'ok') throw new Error(`the copy is damaged: ${String(check)}`)
  } finally {
    target.close()
  }
}

/**
 * Copies a ledger, and the payments beside it, also of a running service; returns the files written. Throws
 * GradingStoreUnavailable; it overwrites nothing.
 */
export async function backupGrading(options: {
  readonly databasePath: string
  readonly targetPath: string
}): Promise<readonly string[]> {
  const files = ['', '.payments']
    .map(
      (suffix) => [`${options.databasePath}${suffix}`, `${options.targetPath}${suffix}`] as const,
    )
    .filter(([source], index) => index === 0 || existsSync(source))
  for (const [, target] of files)
    if (existsSync(target))
      throw new GradingStoreUnavailable(`${target} exists already; a backup overwrites nothing`)
  for (const [source, target] of files)
    try {
      await copy(source, target)
    } catch (error) {
      // Half a copy must neither pass for one nor stand in the way of the next.
      rmSync(target, { force: true })
      throw new GradingStoreUnavailable(`${source} could not be copied to ${target}`, {
        cause: error,
      })
    }
  return files.map(([, target]) => target)
}
