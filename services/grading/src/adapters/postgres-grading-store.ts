/**
 * The grading store on PostgreSQL: how it is opened, and where it is read. It learns within milliseconds what other
 * processes write. The rest is ledger-store.ts.
 */
import { createCompactRange } from '@tallystick/hashchain'
import {
  openPostgresJournalStore,
  type PostgresDoor,
  type PostgresJournalReader,
  type PostgresJournalStore,
  type PostgresStoreOptions,
  readHeads,
} from '@tallystick/journal-store/postgres'
import { type GradingStore, GradingStoreUnavailable } from '../domain/grading-store.ts'
import { isOutdated, recount } from './count-truth.ts'
import { LedgerMemory } from './ledger-memory.ts'
import type { LedgerSource } from './ledger-sql.ts'
import { createLedgerStore } from './ledger-store.ts'
import { POSTGRES_SEARCH, POSTGRES_SQL } from './postgres-events.ts'
import { POSTGRES_LEDGER } from './postgres-schema.ts'

/** Observations in one write, some 10 ms under the lock: a paid pick, here or in another process, waits for it. */
const OBSERVATIONS_PER_WRITE = 100

const SECRET = "SELECT value FROM meta WHERE name = 'payer_secret'"

export const postgresLedgerSource = ({
  read,
  tuples,
}: Pick<PostgresJournalReader<'ledger'>, 'read' | 'tuples'>): LedgerSource => ({
  ask: tuples,
  sql: POSTGRES_SQL,
  head: async () =>
    (await readHeads({ kind: POSTGRES_LEDGER, read })).get('ledger') ?? createCompactRange(),
  // Others run while we wait for an answer.
  pause: async () => undefined,
})

/** Reads the ledger's table, recounted under the lock of the head if need be, and listens to other processes. */
async function openMemory(
  store: PostgresJournalStore<'ledger'>,
  source: LedgerSource,
): Promise<LedgerMemory> {
  if (await isOutdated(source))
    await store.write(({ journals, send, tuples }) =>
      recount({ ...source, ask: tuples }, journals.ledger.size, send),
    )
  const [secret] = await store.tuples<readonly [string]>(SECRET)
  if (secret === undefined) throw new GradingStoreUnavailable('the ledger has lost its secret')
  const memory = new LedgerMemory(POSTGRES_SQL, secret[0])
  await memory.takeUp(store.tuples)
  store.onGrown(() => {
    // Memory adopts this process's own writes before the next iteration.
    setImmediate(async () => {
      try {
        if (store.journals.ledger.size > memory.truth.asOfSeq) await memory.takeUp(store.tuples)
      } catch {
        // Retried when the ledger next grows, and before the next write.
      }
    })
  })
  return memory
}

/**
 * Opens the store in an existing schema. Rejects with GradingStoreUnavailable if no server takes writes, if the schema has
 * another version, and if the ledger does not extend the last checkpoint signed here.
 */
export async function openPostgresGradingStore(
  options: PostgresStoreOptions & { readonly door?: PostgresDoor },
): Promise<GradingStore> {
  let memory: LedgerMemory | undefined
  const store = await openPostgresJournalStore<'ledger'>(POSTGRES_LEDGER, {
    ...options,
    beforeCommit: (transaction) => memory?.send(transaction),
  })
  try {
    const source = postgresLedgerSource(store)
    memory = await openMemory(store, source)
    return createLedgerStore({
      store,
      source,
      memory,
      search: POSTGRES_SEARCH,
      observationsPerWrite: OBSERVATIONS_PER_WRITE,
      freshen: () => undefined,
    })
  } catch (error) {
    await store.close()
    throw error
  }
}
