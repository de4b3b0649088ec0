/** What an operator does to a ledger: back it up, move it, and sign a restored one. */
import { existsSync } from 'node:fs'
import {
  type AcceptedJournal,
  acceptSqliteBackup,
  backupSqliteFile,
  backupSqliteStore,
  openSqliteRows,
  type StoreOwner,
} from '@tallystick/journal-store'
import type { SchemaPart } from '@tallystick/journal-store/postgres'
import { reachServer, type Secret } from '@tallystick/service-kit'
import { GradingStoreUnavailable, type LedgerVerdict } from '../domain/closes/grading-store.ts'
import { ledgerOwner, loadPostgres, type StoreConfig } from './open-stores.ts'
import { LEDGER, openGradingDatabase, RESERVATIONS } from './sqlite-database.ts'
import { SQLITE_SQL } from './sqlite-grading-store.ts'
import { verifyLedger } from './verify-ledger.ts'

/**
 * Copies a ledger and the payments beside it, even while a service runs; returns the files written. Throws
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
  // Checked before the ledger is copied: half a backup would block the next one.
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

/** Creates or upgrades the ledger's schema; takes the owner's URL. Rejects with GradingStoreUnavailable. */
export async function migrateLedger(ownerUrl: Secret, part: SchemaPart): Promise<void> {
  const { migratePostgresStore, POSTGRES_LEDGER } = await loadPostgres()
  await migratePostgresStore(POSTGRES_LEDGER, reachServer(ownerUrl), part)
}

/**
 * Moves the ledger of the file, with picks and payments, into the empty database, or that of the database into a new file;
 * returns its head. Rejects with GradingStoreUnavailable.
 */
export async function moveLedger(
  config: StoreConfig & { readonly DATABASE_URL: Secret },
  toFile: string | undefined,
) {
  const { LEDGER_MOVE, moveToPostgres, moveToSqlite } = await loadPostgres()
  const owner = ledgerOwner(config)
  const server = reachServer(config.DATABASE_URL)
  if (toFile !== undefined) return moveToSqlite(LEDGER_MOVE, { owner, server, filePath: toFile })
  return moveToPostgres(LEDGER_MOVE, { owner, server, filePath: owner.databasePath })
}

function requireIntact(verdict: LedgerVerdict): void {
  if (verdict.kind === 'intact') return
  const place = verdict.seq === undefined ? '' : `, at entry ${verdict.seq}`
  throw new GradingStoreUnavailable(`nothing is accepted: ${verdict.problem}${place}`)
}

/**
 * Signs a ledger as found, so that a restored backup opens again. It must pass every check of verification except the
 * checkpoint; entries that only the last checkpoint counted are given up. Throws GradingStoreUnavailable.
 */
export async function acceptBackup(owner: StoreOwner, url?: Secret): Promise<AcceptedJournal> {
  if (url !== undefined) return acceptDatabase(owner, url)
  {
    using database = openGradingDatabase(owner.databasePath)
    const rows = openSqliteRows(database, GradingStoreUnavailable)
    requireIntact(await verifyLedger({ rows, sql: SQLITE_SQL }, { kind: 'absent' }))
  }
  return acceptSqliteBackup(LEDGER, owner).ledger
}

async function acceptDatabase(owner: StoreOwner, url: Secret): Promise<AcceptedJournal> {
  const { acceptPostgresBackup, openPostgresStoreReader, POSTGRES_LEDGER, POSTGRES_SQL } =
    await loadPostgres()
  const options = { ...owner, ...reachServer(url) }
  const reader = await openPostgresStoreReader<'ledger'>(POSTGRES_LEDGER, {
    ...options,
    checkpoint: 'unchecked',
  })
  try {
    requireIntact(await verifyLedger({ rows: reader.rows, sql: POSTGRES_SQL }, { kind: 'absent' }))
  } finally {
    await reader.close()
  }
  return (await acceptPostgresBackup<'ledger'>(POSTGRES_LEDGER, options)).ledger
}
