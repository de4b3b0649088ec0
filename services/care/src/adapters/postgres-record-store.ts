// The record store on PostgreSQL: how it is opened, written to and erased from. The rest is record-engine.ts.
import {
  openPostgresJournalReader,
  openPostgresJournalStore,
  PostgresConnection,
  PostgresDoor,
  type PostgresJournalStore,
  type PostgresOptions,
  type PostgresQuery,
  type PostgresStoreOptions,
} from '@tallystick/journal-store/postgres'
import type { DoneBy, KeptFree, RecordStore } from '../domain/record-store.ts'
import type { ChainSlot, NamedChain } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import type { AppendOptions } from './append-outcome.ts'
import {
  type ErasedChain,
  eraseChainOf,
  type MarkedStore,
  reconcileErasures,
} from './chain-erasure.ts'
import { type FreedChain, freeChainOf, freesIn } from './chain-freeing.ts'
import type { ChainKeys } from './chain-keys.ts'
import { POSTGRES_RECORDS } from './postgres-record-database.ts'
import { RecordAppender } from './record-append.ts'
import {
  createRecordReader,
  createRecordStore,
  type KeptKeys,
  openWithKeys,
  type RecordReader,
  sealsOf,
} from './record-engine.ts'
import { postgresSource, type RecordSource } from './record-sql.ts'

/** Runs statements under the lock of the heads: nothing is appended meanwhile. */
const underHeads =
  (run: (source: RecordSource) => unknown) =>
  async (query: PostgresQuery): Promise<void> => {
    await query('SELECT name FROM take_heads()')
    // Columns of these statements have different names.
    const tuples = async <Row>(text: string, values?: readonly unknown[]) =>
      (await query(text, values)).map((row) => Object.values(row) as Row)
    await run(postgresSource(tuples))
  }

/**
 * Opens the store in the schema that `care migrate` made. Rejects with RecordStoreUnavailable if no server takes writes, the
 * schema has another version, a key is missing, or a journal falls short of the checkpoint that this replica signed last. An
 * altered version does not keep the store from opening: it is reported as BROKEN. Also returns the journal store, for the
 * rows beside the records.
 */
export const openPostgresRecordStore = (
  options: PostgresStoreOptions &
    KeptKeys &
    Omit<AppendOptions, 'seals'> & { readonly door?: PostgresDoor },
): Promise<{ readonly records: RecordStore; readonly store: PostgresJournalStore<Audience> }> =>
  openWithKeys(options, async (keys) => {
    const { clock, random } = options
    const seals = sealsOf(keys)
    const appender = new RecordAppender({ sourceOf: postgresSource, seals, clock, random })
    const store = await openPostgresJournalStore<Audience>(POSTGRES_RECORDS, {
      ...options,
      keyRing: keys?.ownRing,
      // Sessions and their streams are this process's.
      isAlone: true,
      beforeCommit: (transaction) => appender.finish(transaction),
    })
    const source = postgresSource(store.tuples)
    if (keys !== undefined) {
      await keys.rewrap()
      await reconcileErasures(keys.place, {
        source,
        atOnce: (run) => store.writeRows(underHeads(run)),
      })
    }
    const engine = {
      ...store,
      source,
      appender,
      note: (text: string, values: readonly unknown[]) =>
        store.writeRows((query) => query(text, values), 'relaxed'),
      // Others write beside this process, and the server does not say who.
      outsideMark: () => undefined,
    }
    return { records: createRecordStore(engine, keys), store }
  })

/** Opens a store to read, even beside running services. Rejects with RecordStoreUnavailable as opening to write does. */
export const openPostgresRecordReader = (
  options: PostgresStoreOptions & KeptKeys,
): Promise<RecordReader> =>
  openWithKeys(options, async (keys) => {
    const kept = { ...options, keyRing: keys?.ownRing }
    const reader = await openPostgresJournalReader<Audience>(POSTGRES_RECORDS, kept)
    return createRecordReader({ ...reader, source: postgresSource(reader.tuples) }, keys)
  })

type Server = Omit<PostgresOptions, 'Unavailable'>

/** Runs an operator's work on the records, even of a running service. Rejects with RecordStoreUnavailable. */
async function besideService<Result>(
  server: Server,
  run: (records: MarkedStore) => Promise<Result>,
): Promise<Result> {
  const { schema, Unavailable } = POSTGRES_RECORDS
  const connection = new PostgresConnection(new PostgresDoor({ ...server, Unavailable }), {
    schema,
  })
  try {
    return await run({
      source: postgresSource(connection.tuples),
      atOnce: (work) => connection.transaction(underHeads(work)),
    })
  } finally {
    await connection.end()
  }
}

/** Erases a chain. Older backups hold only sealed entries, whose key is gone everywhere. */
export const erasePostgresChain = (
  chain: NamedChain,
  by: DoneBy,
  { keys, ...server }: Server & { readonly keys: ChainKeys },
): Promise<ErasedChain> =>
  besideService(server, (records) => eraseChainOf(chain, by, { ...records, keys }))

/** Moves a topic's chain aside. */
export const freePostgresChain = (
  slot: ChainSlot,
  by: DoneBy,
  server: Server,
): Promise<FreedChain> => besideService(server, (records) => freeChainOf(slot, by, records))

export const listPostgresFrees = (server: Server): Promise<readonly KeptFree[]> =>
  besideService(server, ({ source }) => freesIn(source))
