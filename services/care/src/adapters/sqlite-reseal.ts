// Moves stored entries under the ring's active key, a few rows to a transaction, while the service may be running. What
// is sealed is the same text in the same slot, so that no hash changes (C16).

import type { DatabaseSync } from 'node:sqlite'
import { type KeyRing, sealedKeyId } from '@tallystick/hashchain'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { slotOfChain } from './sqlite-reads.ts'
import { openRecordDatabase, VERSION_TABLES } from './sqlite-record-database.ts'
import { prepareStatements, type RecordStatements, type VersionRow } from './sqlite-statements.ts'
import { type StoreLock, storePaths, takeStoreLock } from './store-files.ts'
import {
  createEntrySeal,
  type EntrySeal,
  receiptOf,
  registerActiveKey,
  requireSealKeys,
  slotTextOf,
} from './store-seal.ts'

/** Rows to a transaction: a write of the service waits for one of them, about a millisecond. */
const ROWS_PER_COMMIT = 32

type ResealOutcome = {
  readonly activeKeyId: string
  readonly resealed: number
  /** Versions that do not open and were left as they are. */
  readonly broken: number
  /** Keys that nothing is sealed under any more: they can leave SEAL_KEYS. */
  readonly retired: readonly string[]
  /** Other keys that are still needed. */
  readonly needed: readonly string[]
}

type Reseal = {
  readonly database: DatabaseSync
  readonly statements: RecordStatements
  readonly seal: EntrySeal
  readonly ring: KeyRing
}

/**
 * Seals everything under the ring's active key. Throws RecordStoreUnavailable, before anything is changed, where a key is
 * missing or a running service does not know the active key yet: it could not read what is sealed here.
 */
export async function resealRecords(options: {
  readonly databasePath: string
  readonly keyRing: KeyRing
  /** Lets others run between transactions. */
  readonly pause: () => Promise<void>
}): Promise<ResealOutcome> {
  const { databasePath, keyRing: ring, pause } = options
  const lock = takeFreeLock(databasePath)
  const database = openRecordDatabase(databasePath, 'existing')
  try {
    database.exec('PRAGMA secure_delete = ON')
    requireSealKeys(database, ring)
    if (lock !== undefined) registerActiveKey(database, ring)
    else requireKnownToService(database, ring)
    const statements = prepareStatements(database)
    const reseal: Reseal = { database, statements, seal: createEntrySeal(ring), ring }
    const counts = { resealed: 0, broken: 0 }
    for (const audience of ['user', 'assistant'] as const) {
      for (let from = 0; ; from += ROWS_PER_COMMIT) {
        const done = resealRows(reseal, { audience, from })
        if (done === undefined) break
        counts.resealed += done.resealed
        counts.broken += done.broken
        await pause()
      }
    }
    const keys = retireKeys(database, ring.activeId)
    // What was replaced shall not stay readable in the write-ahead log.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return { activeKeyId: ring.activeId, ...counts, ...keys }
  } finally {
    database.close()
    lock?.release()
  }
}

/** The store's lock if no service has it: then a service cannot start in the middle of the work with another ring. */
function takeFreeLock(databasePath: string): StoreLock | undefined {
  try {
    return takeStoreLock(storePaths(databasePath).lock)
  } catch {
    return undefined
  }
}

function requireKnownToService(database: DatabaseSync, ring: KeyRing): void {
  const known = database
    .prepare('SELECT count(*) AS known FROM seal_keys WHERE key_id = ?')
    .get(ring.activeId)
  if (known?.known !== 1)
    throw new RecordStoreUnavailable(
      `the running service does not have the key "${ring.activeId}": restart it with that key first in SEAL_KEYS, then reseal`,
    )
}

function resealRows(
  reseal: Reseal,
  { audience, from }: { readonly audience: Audience; readonly from: number },
): { readonly resealed: number; readonly broken: number } | undefined {
  const { database, statements, ring } = reseal
  const counts = { resealed: 0, broken: 0 }
  database.exec('BEGIN IMMEDIATE')
  try {
    const rows = statements.versions[audience].leafRange.all(from, from + ROWS_PER_COMMIT)
    const update = database.prepare(
      `UPDATE ${VERSION_TABLES[audience]} SET body = ? WHERE leaf_index = ?`,
    )
    for (const row of rows) {
      if (receiptOf(row[5]).keyId === ring.activeId) continue
      const body = resealedBody(reseal, row)
      if (body === undefined) counts.broken += 1
      else {
        update.run(body, row[0])
        counts.resealed += 1
      }
    }
    database.exec('COMMIT')
    return rows.length === 0 ? undefined : counts
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw new RecordStoreUnavailable('resealing stopped; what was done so far is kept', {
      cause: error,
    })
  }
}

function resealedBody(
  { statements, seal }: Reseal,
  [, chainId, version, , , body]: VersionRow,
): string | Uint8Array | undefined {
  const chain = statements.chainById.get(chainId)
  if (chain === undefined) return undefined
  const slotText = slotTextOf(slotOfChain(chain))(version)
  const entry = seal.open(body, slotText)
  return entry === undefined ? undefined : seal.close(entry, slotText)
}

/** Takes keys off the list of needed ones that no stored body names, in one look at all of them. */
function retireKeys(
  database: DatabaseSync,
  activeId: string,
): Pick<ResealOutcome, 'retired' | 'needed'> {
  database.exec('BEGIN IMMEDIATE')
  try {
    const inUse = new Set([activeId])
    for (const table of Object.values(VERSION_TABLES)) {
      // The header of a sealed value fits in 66 bytes; rows in the clear name no key.
      const heads = database.prepare(
        `SELECT DISTINCT substr(body, 1, 2 + unicode(CAST(substr(body, 2, 1) AS TEXT))) AS head FROM ${table} WHERE typeof(body) = 'blob'`,
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

/** The key id in a header whose nonce and text were left behind. */
function keyIdOfHead(head: Uint8Array): string | undefined {
  const padded = new Uint8Array(head.length + PADDING_BYTES)
  padded.set(head)
  return sealedKeyId(padded)
}

/** At least a nonce and a tag, so that the header reads as that of a sealed value. */
const PADDING_BYTES = 64
