/** What an operator does to a ledger: copying it, and signing one that was restored. Also the key and name of its checkpoints. */
import { existsSync } from 'node:fs'
import {
  acceptSqliteBackup,
  backupSqliteFile,
  backupSqliteStore,
  checkpointOrigin,
  loadCheckpointSeed as loadKeptSeed,
  type StoreOwner,
} from '@tallystick/journal-store'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { LEDGER, openGradingDatabase, RESERVATIONS } from './sqlite-database.ts'
import { verifySqliteLedger } from './sqlite-verify.ts'

/** The seed that signs a ledger's checkpoints, kept beside the database. Throws GradingStoreUnavailable. */
export const loadCheckpointSeed = (databasePath: string): Uint8Array =>
  loadKeptSeed(databasePath, GradingStoreUnavailable)

/** What checkpoints call a service's ledger: its address without a scheme, and `ledger`. */
export const ledgerOrigin = (baseUrl: string): string => checkpointOrigin(baseUrl, 'ledger')

/**
 * Copies a ledger, and the payments beside it, also of a running service; returns the files written. Throws
 * GradingStoreUnavailable; it overwrites nothing.
 */
export async function backupGrading({
  databasePath,
  targetPath,
}: {
  readonly databasePath: string
  readonly targetPath: string
}): Promise<readonly string[]> {
  const [payments, paymentsTarget] = [`${databasePath}.payments`, `${targetPath}.payments`]
  const hasPayments = existsSync(payments)
  // Asked before the ledger is copied: half a backup would be in the way of the next one.
  if (hasPayments && existsSync(paymentsTarget))
    throw new GradingStoreUnavailable(
      `${paymentsTarget} exists already; a backup overwrites nothing`,
    )
  await backupSqliteStore(LEDGER, { databasePath, targetPath })
  if (!hasPayments) return [targetPath]
  const paths = { databasePath: payments, targetPath: paymentsTarget }
  await backupSqliteFile(paths, RESERVATIONS, () => undefined)
  return [targetPath, paymentsTarget]
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
export async function acceptBackup(owner: StoreOwner): Promise<AcceptedLedger> {
  const database = openGradingDatabase(owner.databasePath)
  try {
    const verdict = await verifySqliteLedger(database, { kind: 'absent' })
    if (verdict.kind === 'broken')
      throw new GradingStoreUnavailable(
        `nothing is accepted: ${verdict.problem}${verdict.seq === undefined ? '' : `, at entry ${verdict.seq}`}`,
      )
  } finally {
    database.close()
  }
  const { isContinued, signedSize, size } = acceptSqliteBackup(LEDGER, owner).ledger
  return { size, last: signedSize === undefined ? undefined : { size: signedSize, isContinued } }
}
