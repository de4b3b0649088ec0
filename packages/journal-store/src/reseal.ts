/**
 * Moves stored bodies under the ring's active key, a few rows to a transaction, while the service may be running. What is
 * sealed is the same text in the same slot, so that no hash changes.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { KeyRing } from '@tallystick/hashchain'
import type { UnavailableError } from './journal-store.ts'
import {
  keyIdOfHead,
  registerActiveKey,
  requireSealKeys,
  ringPlan,
  type SealedColumn,
  type SealKind,
  type SealPlan,
  sealReceipt,
} from './sealed-bodies.ts'
import { openSqliteFile, prepareQuery, type SqliteLock } from './sqlite-database.ts'
import type { SqliteJournalTable } from './sqlite-journal.ts'
import { type SqliteStoreKind, takeStoreLock } from './sqlite-store-kind.ts'

/** Rows to a transaction: a write of the service waits for one of them, about a millisecond. */
export const ROWS_PER_COMMIT = 32

export type ResealOutcome = {
  readonly activeKeyId: string
  readonly resealed: number
  /** Bodies that do not open and were left as they are. */
  readonly broken: number
  /** Keys that nothing is sealed under any more: they can leave the ring. */
  readonly retired: readonly string[]
  /** Other keys that are still needed. */
  readonly needed: readonly string[]
}

type Reseal = {
  readonly database: DatabaseSync
  readonly plan: SealPlan
  readonly Unavailable: UnavailableError
}

/**
 * Seals everything as the plan says, else under the ring's active key. Throws the service's error, before anything is changed, where a key is missing
 * or a running service does not know the active key yet: it could not read what is sealed here.
 */
export async function resealSqliteStore<Name extends string>(
  kind: SqliteStoreKind<Name> & { readonly seal: SealKind },
  options: {
    readonly databasePath: string
    readonly keyRing: KeyRing
    readonly plan?: SealPlan | undefined
    /** Lets others run between transactions. */
    readonly pause: () => Promise<void>
  },
): Promise<ResealOutcome> {
  const { databasePath, keyRing: ring, pause, plan = ringPlan(ring) } = options
  const { Unavailable, seal } = kind
  const lock = takeFreeLock(kind, databasePath)
  const database = openSqliteFile(databasePath, kind, 'exist')
  try {
    database.exec('PRAGMA secure_delete = ON')
    requireSealKeys(database, ring, { seal, Unavailable })
    if (lock !== undefined) registerActiveKey(database, ring, seal)
    else requireKnownToService(database, ring, { seal, Unavailable })
    const reseal: Reseal = { database, plan, Unavailable }
    const counts = { resealed: 0, broken: 0 }
    const tables = sealedTables(kind)
    for (const of of tables) {
      for (let from = 0; ; from += ROWS_PER_COMMIT) {
        const done = resealRows(reseal, of, from)
        if (done === undefined) break
        counts.resealed += done.resealed
        counts.broken += done.broken
        await pause()
      }
    }
    const keys = retireKeys(database, [ring.activeId, ...plan.finish()], tables)
    // What was replaced shall not stay readable in the write-ahead log.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return { activeKeyId: ring.activeId, ...counts, ...keys }
  } finally {
    database.close()
    lock?.release()
  }
}

type SealedTable = SqliteJournalTable & { readonly sealed: SealedColumn }

const sealedTables = <Name extends string>(kind: SqliteStoreKind<Name>): readonly SealedTable[] =>
  Object.values<SqliteJournalTable>(kind.journals).flatMap((table) =>
    table.sealed === undefined ? [] : [{ ...table, sealed: table.sealed }],
  )

/** The store's lock if no service has it: then a service cannot start in the middle of the work with another ring. */
function takeFreeLock<Name extends string>(
  kind: SqliteStoreKind<Name>,
  databasePath: string,
): SqliteLock | undefined {
  try {
    return takeStoreLock(kind, databasePath)
  } catch {
    return undefined
  }
}

function requireKnownToService(
  database: DatabaseSync,
  ring: KeyRing,
  kind: { readonly seal: SealKind; readonly Unavailable: UnavailableError },
): void {
  const known = database
    .prepare('SELECT count(*) AS known FROM seal_keys WHERE key_id = ?')
    .get(ring.activeId)
  if (known?.['known'] !== 1)
    throw new kind.Unavailable(
      `the running service does not have the key "${ring.activeId}": restart it with that key first in ${kind.seal.ringName}, then reseal`,
    )
}

function resealRows(
  { database, plan, Unavailable }: Reseal,
  of: SealedTable,
  from: number,
): { readonly resealed: number; readonly broken: number } | undefined {
  const { index, table } = of
  const { body, join, slotColumns, slotText } = of.sealed
  const counts = { resealed: 0, broken: 0 }
  database.exec('BEGIN IMMEDIATE')
  try {
    const rows = prepareQuery<readonly [number, unknown, ...unknown[]]>(
      database,
      `SELECT ${index}, ${body}, ${slotColumns} FROM ${table} ${join} WHERE ${index} >= ? AND ${index} < ? ORDER BY ${index}`,
    ).all(from, from + ROWS_PER_COMMIT)
    const update = database.prepare(`UPDATE ${table} SET ${body} = ? WHERE ${index} = ?`)
    for (const [at, stored, ...cells] of rows) {
      const slot = slotText(cells)
      if (slot !== undefined && plan.isCurrent(sealReceipt(stored).keyId, slot)) continue
      const entry = slot === undefined ? undefined : plan.seal.open(stored, slot)
      if (slot === undefined || entry === undefined) counts.broken += 1
      else {
        update.run(plan.seal.close(entry, slot), at)
        counts.resealed += 1
      }
    }
    plan.commit()
    database.exec('COMMIT')
    return rows.length === 0 ? undefined : counts
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw new Unavailable('resealing stopped; what was done so far is kept', { cause: error })
  }
}

/** Takes keys off the list of needed ones that no stored body names, in one look at all of them. */
function retireKeys(
  database: DatabaseSync,
  [activeId, ...needed]: readonly [string, ...string[]],
  tables: readonly SealedTable[],
): Pick<ResealOutcome, 'retired' | 'needed'> {
  database.exec('BEGIN IMMEDIATE')
  try {
    const inUse = new Set([activeId, ...needed])
    for (const { sealed, table } of tables) {
      const { body } = sealed
      // The header of a sealed value fits in 66 bytes; rows in the clear name no key.
      const heads = database.prepare(
        `SELECT DISTINCT substr(${body}, 1, 2 + unicode(CAST(substr(${body}, 2, 1) AS TEXT))) AS head FROM ${table} WHERE typeof(${body}) = 'blob'`,
      )
      for (const { head } of heads.iterate()) {
        const keyId = head instanceof Uint8Array ? keyIdOfHead(head) : undefined
        if (keyId !== undefined) inUse.add(keyId)
      }
    }
    const listed = database.prepare('SELECT key_id FROM seal_keys').all()
    const others = listed.map(({ key_id: keyId }) => String(keyId)).filter((id) => id !== activeId)
    const retired = others.filter((keyId) => !inUse.has(keyId))
    for (const keyId of retired)
      database.prepare('DELETE FROM seal_keys WHERE key_id = ?').run(keyId)
    database.exec('COMMIT')
    return { retired, needed: others.filter((keyId) => inUse.has(keyId)) }
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
