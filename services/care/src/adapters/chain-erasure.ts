// Erasing a chain (C31), on either engine: its entries all come under its own key, the records note that it is erased, and then
// its key is destroyed. What is left of a version is its place and its leaf, which thirty-two random bytes keep from being
// guessed; the chain's head hash, which a short sentence could be guessed from, goes too.
import type { DatabaseSync } from 'node:sqlite'
import { GENESIS_PREV_HASH, rootOf } from '@tallystick/hashchain'
import { openSqliteFile, prepareQuery, resealSqliteStore } from '@tallystick/journal-store'
import type { KeptErasure } from '../domain/record-store.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import { type ChainKeys } from './chain-keys.ts'
import { chainName, erasureOfRow } from './chain-keys-file.ts'
import { guarded, RECORDS, VERSION_TABLES } from './sqlite-record-database.ts'
import { prepareStatements } from './sqlite-statements.ts'
import { isErased } from './stored-record.ts'

/** Who erases, when and why. */
export type ErasedBy = Omit<KeptErasure, 'patient' | 'domain'>

export type ErasedChain =
  | { readonly kind: 'erased'; readonly versions: number }
  /** Nothing is stored under that name in that audience. */
  | { readonly kind: 'absent' }

/** The head hash of a chain whose key was destroyed. */
export const ERASED_HEAD = GENESIS_PREV_HASH

/** What a chain's leaves come to, lower-case hex. */
export const leavesRoot = (leaves: readonly Uint8Array[]): string =>
  Buffer.from(rootOf(leaves)).toString('hex')

type Erasing = {
  readonly databasePath: string
  readonly keys: ChainKeys
  /** Lets others run between transactions. */
  readonly pause: () => Promise<void>
}

/** Erases a chain of a store on SQLite, also of a running service. Rejects with RecordStoreUnavailable. */
export const eraseSqliteChain = guarded(
  async (slot: ChainSlot, by: ErasedBy, erasing: Erasing): Promise<ErasedChain> => {
    const { databasePath, keys } = erasing
    // Also refuses where a running service does not have the keys.
    await resealSqliteStore(RECORDS, { ...erasing, keyRing: keys.ring, plan: keys.plan() })
    const database = openSqliteFile(databasePath, RECORDS, 'exist')
    try {
      database.exec('PRAGMA secure_delete = ON')
      const chain = prepareStatements(database).chainByName.get(slot.patient, slot.domain)
      if (chain?.[1] !== slot.audience) return { kind: 'absent' }
      markSqliteErased(database, { ...slot, ...by })
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      keys.destroy({ ...slot, ...by })
      return { kind: 'erased', versions: chain[2] }
    } finally {
      database.close()
    }
  },
)

/** Notes in the records that a chain is erased, in one transaction; a chain that is not there cannot come back either. */
function markSqliteErased(database: DatabaseSync, erasure: KeptErasure): void {
  const { patient, domain, at, actor, reason } = erasure
  database.exec('BEGIN IMMEDIATE')
  try {
    const chain = prepareStatements(database).chainByName.get(patient, domain)
    if (chain !== undefined && !isErased(chain)) {
      const [id, audience] = chain
      const table = VERSION_TABLES[audience]
      const leaves = prepareQuery<readonly [string]>(
        database,
        `SELECT leaf_hash FROM ${table} WHERE chain = ? ORDER BY version`,
      ).all(id)
      const root = leavesRoot(leaves.map(([leaf]) => Buffer.from(leaf, 'hex')))
      database
        .prepare('UPDATE chains SET erased_leaves = ?, head_hash = ? WHERE id = ?')
        .run(root, ERASED_HEAD, id)
      database
        .prepare(
          `DELETE FROM requests WHERE audience = ? AND leaf_index IN (SELECT leaf_index FROM ${table} WHERE chain = ?)`,
        )
        .run(audience, id)
    }
    database
      .prepare('INSERT OR IGNORE INTO erasures VALUES (?, ?, ?, ?)')
      .run(chainName(erasure), at, actor, reason)
    database.exec('COMMIT')
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK')
  }
}

/**
 * Brings records and keys together before a service uses them: what was erased stays so, whichever of the two was put back
 * from a copy.
 */
export function reconcileSqliteErasures(database: DatabaseSync, keys: ChainKeys): void {
  const kept = prepareQuery<readonly [string, string, string, string]>(
    database,
    'SELECT chain, at, actor, reason FROM erasures',
  ).all()
  for (const erasure of kept.map(erasureOfRow))
    if (!keys.isErased(chainName(erasure))) keys.destroy(erasure)
  const noted = new Set(kept.map(([chain]) => chain))
  for (const erasure of keys.erasures())
    if (!noted.has(chainName(erasure))) markSqliteErased(database, erasure)
}
