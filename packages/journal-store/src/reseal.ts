/**
 * Moves stored bodies under the ring's active key, a few rows per transaction, while services may be running. The same text is
 * sealed in the same slot, so no hash changes. `ResealEngine` holds what differs between the engines.
 */
import type { KeyRing } from '@tallystick/hashchain'
import type { UnavailableError } from './journal-store.ts'
import {
  keyIdOfHead,
  keyRegistration,
  requireKeys,
  ringPlan,
  type SealedColumn,
  type SealKind,
  type SealPlan,
  sealReceipt,
} from './sealed-bodies.ts'
import type { SqlConnection, SqlQuery } from './sql-connection.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { openSqliteFile, type SqliteLock } from './sqlite-database.ts'
import type { SqliteJournalTable } from './sqlite-journal.ts'
import { type SqliteStoreKind, takeStoreLock } from './sqlite-store-kind.ts'
import type { JournalTable } from './store-kind.ts'

/** Rows per transaction: a write of the service waits for one of them, about a millisecond. */
const ROWS_PER_COMMIT = 32

export type ResealOutcome = {
  readonly activeKeyId: string
  readonly resealed: number
  /** Bodies that did not open and were left as they were. */
  readonly broken: number
  /** Keys that seal nothing any more: they can leave the ring. */
  readonly retired: readonly string[]
  /** Other keys that are still needed. */
  readonly needed: readonly string[]
}

export type ResealOptions = {
  readonly keyRing: KeyRing
  readonly plan?: SealPlan | undefined
  /** Lets others run between transactions. */
  readonly pause: () => Promise<void>
}

/** A journal's table, and the column of its index. */
type ResealedTable = Pick<JournalTable, 'table' | 'sealed'> & { readonly index: string }
type SealedTable = ResealedTable & { readonly sealed: SealedColumn }

export type ResealEngine = {
  readonly connection: SqlConnection
  readonly tables: readonly ResealedTable[]
  /** A stored body in the form of this engine's rows. */
  readonly bodyOf: (stored: unknown) => unknown
  /** Selects, as `head`, the headers of a table's sealed bodies: one byte, the length of the key's id, and the id. */
  readonly heads: (table: SealedTable) => string
  /** Whether a service runs; it could not read what is sealed under a key that it lacks. */
  readonly isServed: () => Promise<boolean>
  /** Runs first if keys are retired, so that nothing is sealed meanwhile. */
  readonly hold?: string
}

type SealedKind = { readonly seal: SealKind; readonly Unavailable: UnavailableError }

/** Seals everything by the plan, by default under the ring's active key. */
export async function reseal(
  engine: ResealEngine,
  kind: SealedKind,
  { keyRing: ring, pause, plan = ringPlan(ring) }: ResealOptions,
): Promise<ResealOutcome> {
  const { connection } = engine
  await requireKeys(connection.read, ring, kind)
  await makeKnown(engine, ring, kind)
  for (const activeId of plan.needed)
    await connection.read(...keyRegistration({ ...ring, activeId }, kind.seal))
  const tables = engine.tables.flatMap((table) =>
    table.sealed === undefined ? [] : [{ ...table, sealed: table.sealed }],
  )
  const counts = { resealed: 0, broken: 0 }
  try {
    for (const table of tables) {
      for (let from = 0; ; from += ROWS_PER_COMMIT) {
        const done = await connection.transaction((query) =>
          resealRows(query, { engine, plan, table, from }),
        )
        if (done === undefined) break
        counts.resealed += done.resealed
        counts.broken += done.broken
        await pause()
      }
    }
  } catch (error) {
    const reason = 'resealing stopped; what was done so far is kept'
    throw new kind.Unavailable(reason, { cause: error })
  }
  await plan.finish()
  const keys = await connection.transaction((query) =>
    retireKeys(query, { engine, plan, tables, ring }),
  )
  return { activeKeyId: ring.activeId, ...counts, ...keys }
}

/** A running service must know the key. If none runs, the next one requires it at its start. */
async function makeKnown(
  { connection: { read }, isServed }: ResealEngine,
  ring: KeyRing,
  { seal, Unavailable }: SealedKind,
): Promise<void> {
  const known = await read('SELECT key_id FROM seal_keys WHERE key_id = $1', [ring.activeId])
  if (known.length > 0) return
  if (await isServed())
    throw new Unavailable(
      `the running service does not have the key "${ring.activeId}": restart it with that key first in ${seal.ringName}, then reseal`,
    )
  await read(...keyRegistration(ring, seal))
}

async function resealRows(
  query: SqlQuery,
  of: {
    readonly engine: ResealEngine
    readonly plan: SealPlan
    readonly table: SealedTable
    readonly from: number
  },
): Promise<{ readonly resealed: number; readonly broken: number } | undefined> {
  const { engine, from, plan } = of
  const { index, table } = of.table
  const { body, join, slotColumns, slotText } = of.table.sealed
  const rows = await query<{ readonly row_index: number; readonly row_body: unknown }>(
    `SELECT ${index} AS row_index, ${body} AS row_body, ${slotColumns} FROM ${table} ${join}
      WHERE ${index} >= $1 AND ${index} < $2 ORDER BY ${index}`,
    [from, from + ROWS_PER_COMMIT],
  )
  if (rows.length === 0) return undefined
  const update = `UPDATE ${table} SET ${body} = $1 WHERE ${index} = $2`
  const sent: Promise<unknown>[] = []
  let broken = 0
  const found = rows.map(({ row_index: at, row_body: stored, ...cells }) => ({
    at,
    stored,
    slot: slotText(Object.values(cells)),
  }))
  const seal = await plan.sealFor(
    found.flatMap(({ slot }) => slot ?? []),
    query,
  )
  for (const { at, slot, stored } of found) {
    if (slot !== undefined && seal.isCurrent(sealReceipt(stored).keyId, slot)) continue
    const entry = slot === undefined ? undefined : seal.open(engine.bodyOf(stored), slot)
    if (slot === undefined || entry === undefined) broken += 1
    else sent.push(query(update, [seal.close(entry, slot), at]))
  }
  await Promise.all(sent)
  return { resealed: sent.length, broken }
}

/** Takes keys that no stored body names off the list of needed ones, in one look at all bodies. */
async function retireKeys(
  query: SqlQuery,
  of: {
    readonly engine: ResealEngine
    readonly plan: SealPlan
    readonly tables: readonly SealedTable[]
    readonly ring: KeyRing
  },
): Promise<Pick<ResealOutcome, 'retired' | 'needed'>> {
  const { engine, plan, ring, tables } = of
  if (engine.hold !== undefined) await query(engine.hold)
  const inUse = new Set(plan.needed)
  for (const table of tables)
    for (const { head } of await query<{ readonly head: Uint8Array }>(engine.heads(table))) {
      const keyId = keyIdOfHead(head)
      if (keyId !== undefined) inUse.add(keyId)
    }
  const listed = await query<{ readonly key_id: string }>(
    'SELECT key_id FROM seal_keys WHERE key_id <> $1 ORDER BY key_id',
    [ring.activeId],
  )
  const others = listed.map(({ key_id: keyId }) => keyId)
  const retired = others.filter((keyId) => !inUse.has(keyId))
  for (const keyId of retired) await query('DELETE FROM seal_keys WHERE key_id = $1', [keyId])
  return { retired, needed: others.filter((keyId) => inUse.has(keyId)) }
}

/** The store's lock if no service has it: then no service can start with another ring during the work. */
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

/**
 * Reseals a store on SQLite. Rejects with the service's error, before it changes anything, if a key is missing or a running
 * service does not know the active key yet.
 */
export async function resealSqliteStore<Name extends string>(
  kind: SqliteStoreKind<Name> & { readonly seal: SealKind },
  { databasePath, ...options }: ResealOptions & { readonly databasePath: string },
): Promise<ResealOutcome> {
  const { journals, Unavailable } = kind
  const lock = takeFreeLock(kind, databasePath)
  try {
    const database = openSqliteFile(databasePath, kind, 'exist')
    const connection = new SqliteConnection(database, Unavailable)
    try {
      database.exec('PRAGMA secure_delete = ON')
      const engine: ResealEngine = {
        connection,
        tables: Object.values<SqliteJournalTable>(journals),
        bodyOf: (stored) => stored,
        // They fit in 66 bytes; rows in the clear name no key.
        heads: ({ sealed: { body }, table }) =>
          `SELECT DISTINCT substr(${body}, 1, 2 + unicode(CAST(substr(${body}, 2, 1) AS TEXT))) AS head FROM ${table} WHERE typeof(${body}) = 'blob'`,
        isServed: async () => lock === undefined,
      }
      const outcome = await reseal(engine, kind, options)
      // Replaced bodies must not stay readable in the write-ahead log.
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      return outcome
    } finally {
      await connection.end()
    }
  } finally {
    lock?.release()
  }
}
