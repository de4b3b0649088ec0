/** Where a ledger is read on either engine: by statements that both take, over the few names that differ. */
import type { DatabaseSync } from 'node:sqlite'
import { type CompactRange, createCompactRange } from '@tallystick/hashchain'
import { readStoredHead, SqliteConnection, type SqlQuery } from '@tallystick/journal-store'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { nextIteration, reading } from './sqlite-database.ts'

/** What the engines' journals call their columns and the table of their nodes. */
type LedgerNames = { readonly seq: string; readonly hash: string; readonly nodes: string }

export type LedgerSource = {
  readonly read: SqlQuery
  readonly names: LedgerNames
  /** The head that the last commit stored. */
  readonly head: () => Promise<CompactRange>
  /** Lets others run between two slices. */
  readonly pause: () => Promise<void>
}

const SQLITE_NAMES: LedgerNames = { seq: 'seq', hash: 'hash', nodes: 'tree_nodes' }
const POSTGRES_NAMES: LedgerNames = {
  seq: 'at',
  hash: 'leaf_hash',
  nodes: 'entries_nodes',
}

export const sqliteLedgerSource = (database: DatabaseSync): LedgerSource => ({
  read: new SqliteConnection(database, GradingStoreUnavailable).read,
  names: SQLITE_NAMES,
  head: async () => reading(() => readStoredHead(database)),
  pause: nextIteration,
})

/** The driver is loaded by whoever has connected. */
export const postgresLedgerSource = (read: SqlQuery): LedgerSource => ({
  read,
  names: POSTGRES_NAMES,
  head: async () => {
    const [{ readHeads }, { POSTGRES_LEDGER }] = await Promise.all([
      import('@tallystick/journal-store/postgres'),
      import('./postgres-schema.ts'),
    ])
    return (await readHeads({ kind: POSTGRES_LEDGER, read })).get('ledger') ?? createCompactRange()
  },
  // Others run while an answer is waited for.
  pause: async () => undefined,
})
