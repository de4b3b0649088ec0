/**
 * The grading store on PostgreSQL: how it is opened, and where it is read. It learns within milliseconds what other
 * processes write. The rest is ledger-store.ts.
 */
import {
  openPostgresStore,
  type PostgresDoor,
  type PostgresReaderOptions,
} from '@tallystick/journal-store/postgres'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import { LedgerMemory } from './ledger-memory.ts'
import { createLedgerStore } from './ledger-store.ts'
import { POSTGRES_SEARCH, POSTGRES_SQL } from './postgres-events.ts'
import { POSTGRES_LEDGER } from './postgres-schema.ts'

/** Observations in one write, some 10 ms under the lock: a paid pick, here or in another process, waits for it. */
const OBSERVATIONS_PER_WRITE = 100

/**
 * Opens the store in an existing schema. Rejects with GradingStoreUnavailable if no server takes writes, if the schema has
 * another version, and if the ledger does not extend the last checkpoint signed here.
 */
export async function openPostgresGradingStore(
  options: PostgresReaderOptions & { readonly door?: PostgresDoor },
): Promise<GradingStore> {
  const memory = new LedgerMemory(POSTGRES_SQL)
  const store = await openPostgresStore(POSTGRES_LEDGER, { ...options, memory: memory.groups })
  try {
    const { rows } = store
    await memory.load(rows)
    store.onGrown(() => {
      // Memory has this process's own writes already.
      setImmediate(async () => {
        try {
          if (store.journals.ledger.size > memory.truth.asOfSeq) await memory.takeUp(rows)
        } catch {
          // Retried when the ledger next grows, and before the next write.
        }
      })
    })
    return createLedgerStore({
      store,
      source: { rows, sql: POSTGRES_SQL },
      memory,
      search: POSTGRES_SEARCH,
      observationsPerWrite: OBSERVATIONS_PER_WRITE,
      freshen: async () => undefined,
    })
  } catch (error) {
    await store.close()
    throw error
  }
}
