/** Copying a ledger, and signing one that was restored. */
import { existsSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { createNoteSigner } from '@tallystick/hashchain'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { hasAllOf, readCheckpointFile, signHead, writeCheckpointFile } from './checkpoint-file.ts'
import { openGradingDatabase, reading } from './sqlite-database.ts'
import { openLedgerTree } from './sqlite-ledger.ts'
import { verifyLedger } from './sqlite-verify.ts'

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
      // Half a copy must not pass for a whole one, or block the next.
      rmSync(target, { force: true })
      throw new GradingStoreUnavailable(`${source} could not be copied to ${target}`, {
        cause: error,
      })
    }
  return files.map(([, target]) => target)
}

export type AcceptedLedger = {
  /** Entries that are there now. */
  readonly size: number
  /** The last checkpoint, and whether the ledger has all that it signed; undefined where none by this key was there. */
  readonly last: { readonly size: number; readonly isContinued: boolean } | undefined
}

/**
 * Signs a ledger as it is found, so that a restored backup opens again. Apart from its checkpoint it must hold in every
 * way that verifying looks at; what the last checkpoint counted beyond it is given up. Throws GradingStoreUnavailable.
 */
export async function acceptBackup(options: {
  readonly databasePath: string
  readonly checkpointSeed: Uint8Array
  readonly origin: string
}): Promise<AcceptedLedger> {
  const { checkpointSeed: seed, databasePath, origin } = options
  const read = readCheckpointFile(databasePath, seed)
  const database = openGradingDatabase(databasePath)
  try {
    const verdict = await verifyLedger(database, { kind: 'absent' })
    if (verdict.kind === 'broken')
      throw new GradingStoreUnavailable(
        `nothing is accepted: ${verdict.problem}${verdict.seq === undefined ? '' : `, at entry ${verdict.seq}`}`,
      )
    const { entries: size, rootHash } = verdict
    const last =
      read.kind !== 'checkpoint'
        ? undefined
        : {
            size: read.checkpoint.size,
            isContinued: reading(() => hasAllOf(openLedgerTree(database), read.checkpoint)),
          }
    const signer = createNoteSigner({ keyName: origin, seed })
    writeCheckpointFile(databasePath, signHead(signer, { size, rootHash }))
    return { size, last }
  } finally {
    database.close()
  }
}
