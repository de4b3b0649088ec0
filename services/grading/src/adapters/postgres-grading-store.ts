/**
 * The grading store on PostgreSQL. Whatever is written is decided under the lock of the ledger's head, so that several
 * processes may write; what others wrote is heard of within milliseconds. What happens to an event is the domain's matter.
 */
import {
  openPostgresJournalStore,
  type PostgresStoreOptions,
  type PostgresTransaction,
} from '@tallystick/journal-store/postgres'
import { addIngested, NOTHING_INGESTED } from '../domain/advance-event.ts'
import type { EventState } from '../domain/event-state.ts'
import {
  type GradingStore,
  GradingStoreUnavailable,
  type IngestBatch,
  type StoredPick,
} from '../domain/grading-store.ts'
import { eventPathOf } from '../domain/markets.ts'
import { isOutdated, recountedCells } from './count-truth.ts'
import { openEventSearch } from './event-search.ts'
import { openLedgerReads } from './ledger-reads.ts'
import { postgresLedgerSource } from './ledger-source.ts'
import { ingestSlice, isCounting, keepPick, pathsWithPicks } from './ledger-writes.ts'
import { POSTGRES_SEARCH, readEvents } from './postgres-events.ts'
import { type LedgerMemory, openLedgerMemory, PUT_CELLS } from './postgres-ledger-memory.ts'
import { POSTGRES_LEDGER } from './postgres-schema.ts'

/** Observations in one write, some 10 ms under the lock: a paid pick, here or in another process, waits for it. */
const OBSERVATIONS_PER_WRITE = 100

type Store = Awaited<ReturnType<typeof openPostgresJournalStore<'ledger'>>>
type Transaction = PostgresTransaction<'ledger'>
type Parts = { readonly store: Store; readonly memory: LedgerMemory }

const MARK_PAYLOAD = `INSERT INTO grading.payloads (raw_sha256, feed, received_at) VALUES ($1, $2, $3)
  ON CONFLICT (raw_sha256) DO NOTHING`

/** Runs a write on a draft of the memory, which is taken over when the write is committed. */
async function writeOn<Result>(
  { memory, store }: Parts,
  run: (
    draft: Awaited<ReturnType<LedgerMemory['draftOf']>>,
    transaction: Transaction,
  ) => Promise<Result>,
): Promise<Result> {
  let used: Awaited<ReturnType<LedgerMemory['draftOf']>> | undefined
  const result = await store.write(async (transaction) => {
    used = await memory.draftOf(transaction)
    return run(used, transaction)
  })
  if (used !== undefined) memory.take(used)
  return result
}

async function ingest(parts: Parts, { observations, ...batch }: IngestBatch) {
  let outcome = NOTHING_INGESTED
  for (let from = 0; from < observations.length; from += OBSERVATIONS_PER_WRITE) {
    const slice = observations.slice(from, from + OBSERVATIONS_PER_WRITE)
    const paths = slice.map(({ event }) => event.path)
    const added = await writeOn(parts, async (draft) => {
      await draft.prepare(paths)
      await draft.preparePicks(pathsWithPicks(draft, batch, slice))
      return ingestSlice(draft, batch, slice)
    })
    outcome = addIngested(outcome, added)
  }
  return outcome
}

const keep = (parts: Parts, pick: Omit<StoredPick, 'seq'>, commit: boolean) =>
  writeOn(parts, async (draft) => {
    const { opening, paymentId } = pick
    const path = eventPathOf(opening.market)
    await draft.prepare([path], paymentId)
    if (commit && isCounting(draft.events.read(path))) await draft.preparePicks([path])
    return keepPick(draft, pick, commit)
  })

async function eventsOf(
  { memory, store }: Parts,
  paths: readonly string[],
): Promise<readonly (EventState | undefined)[]> {
  const readAt = memory.changes()
  const missing = [...new Set(paths)].filter((path) => memory.cached(path) === undefined)
  const found = await readEvents(store.read, missing)
  memory.keep(found, readAt)
  return paths.map((path) => (memory.cached(path) ?? found.get(path))?.state)
}

/** Under the lock of the head: of several processes one counts. */
async function recount({ journals, query, send }: Transaction): Promise<void> {
  const cells = await recountedCells(postgresLedgerSource(query))
  send(PUT_CELLS, [[...cells.keys()], [...cells.values()], journals.ledger.size])
}

/** Reads the ledger's secret and its table, and listens to other processes. */
async function openMemory(store: Store): Promise<LedgerMemory> {
  const [row] = await store.read<{ value: string }>(
    "SELECT value FROM grading.meta WHERE name = 'payer_secret'",
  )
  if (row === undefined) throw new GradingStoreUnavailable('the ledger has lost its secret')
  if (await isOutdated(store.read)) await store.write(recount)
  const memory = openLedgerMemory(row.value)
  await memory.takeUp(store.read)
  store.onGrown(() => {
    // What this process wrote itself is taken over before the next iteration.
    setImmediate(() => {
      if (store.journals.ledger.size > memory.truth.asOfSeq)
        // Looked up again with the next growth, and before the next write.
        memory.takeUp(store.read).catch(() => undefined)
    })
  })
  return memory
}

function portOf(parts: Parts): GradingStore {
  const { memory, store } = parts
  const { secret } = memory
  const source = postgresLedgerSource(store.read)
  const find = openEventSearch(POSTGRES_SEARCH, {
    paths: async (text, values) =>
      (await store.read<{ readonly path: string }>(text, values)).map(({ path }) => path),
  })
  return {
    ...openLedgerReads(source, { store, secret, look: async (run) => run() }),
    events: (paths) => eventsOf(parts, paths),
    searchEvents: async (search) =>
      (await eventsOf(parts, await find(search))).flatMap((state) => state?.info ?? []),
    ingest: (batch) => ingest(parts, batch),
    markPayload: ({ rawSha256, feed, receivedAtSeconds }) =>
      store.write((transaction) => {
        transaction.send(MARK_PAYLOAD, [rawSha256, feed, Math.floor(receivedAtSeconds)])
      }),
    keepPick: (pick, commit) => keep(parts, pick, commit),
    truth: async () => memory.truth,
    close: () => store.close(),
  }
}

/**
 * Opens the store in a schema that is there. Rejects with GradingStoreUnavailable where no server takes writes, for a schema
 * of another version, and for a ledger that does not go on from the checkpoint that this process's place signed last.
 */
export async function openPostgresGradingStore(
  options: PostgresStoreOptions,
): Promise<GradingStore> {
  let memory: LedgerMemory | undefined
  const store = await openPostgresJournalStore<'ledger'>(POSTGRES_LEDGER, {
    ...options,
    beforeCommit: (transaction) => memory?.send(transaction),
  })
  try {
    memory = await openMemory(store)
    return portOf({ store, memory })
  } catch (error) {
    await store.close()
    throw error
  }
}
