// The record store on PostgreSQL: how it is opened, written to and erased from. The rest is record-engine.ts.
import {
  openPostgresStore,
  openPostgresStoreReader,
  PostgresConnection,
  PostgresDoor,
  type PostgresOptions,
  type PostgresReaderOptions,
  type PostgresRun,
  type PostgresStore,
} from '@tallystick/journal-store/postgres'
import type { RecordStore } from '../../domain/record-store.ts'
import type { Audience } from '../../wire/audience.ts'
import { POSTGRES_RECORDS } from '../schemas/postgres-record-database.ts'
import { type MarkedStore, reconcileErasures } from './chain-erasure.ts'
import {
  createRecordReader,
  createRecordStore,
  type KeptKeys,
  openWithKeys,
  type RecordReader,
} from './record-engine.ts'
import { postgresSource, type RecordSource } from './record-sql.ts'
import {
  type PreparedWrite,
  type RecordMemory,
  rememberRecords,
  type WriterOptions,
} from './record-writer.ts'

/** Runs statements under the lock of the heads: nothing is appended meanwhile. */
const underHeads =
  <Result>(run: (source: RecordSource) => Promise<Result>): PostgresRun<Result> =>
  async (_query, rows) => {
    await rows('SELECT name FROM take_heads()')
    return run(postgresSource(rows))
  }

/**
 * Opens the store in the schema that `care migrate` made. Rejects with RecordStoreUnavailable if no server takes writes, the
 * schema has another version, a key is missing, or a journal falls short of the checkpoint that this replica signed last. An
 * altered version does not keep the store from opening: it is reported as BROKEN. Also returns the journal store, for the
 * rows beside the records.
 */
export const openPostgresRecordStore = (
  options: PostgresReaderOptions &
    KeptKeys &
    Omit<WriterOptions, 'seals'> & { readonly door?: PostgresDoor },
): Promise<{
  readonly records: RecordStore
  readonly store: PostgresStore<Audience, RecordMemory, PreparedWrite>
}> =>
  openWithKeys(options, async (keys) => {
    const { clock, random } = options
    const store = await openPostgresStore(POSTGRES_RECORDS, {
      ...options,
      keyRing: keys?.ownRing,
      memory: rememberRecords(postgresSource, clock),
    })
    const source = postgresSource(store.rows)
    if (keys !== undefined) {
      await keys.rewrap()
      await reconcileErasures(keys.place, {
        source,
        transaction: (run) => store.writeRows(underHeads(run)),
      })
    }
    const engine = {
      ...store,
      source,
      writing: { clock, random },
      // Others write beside this process, and the server does not say who.
      outsideMark: () => undefined,
    }
    return { records: createRecordStore(engine, keys), store }
  })

/** Opens a store to read, even beside running services. Rejects with RecordStoreUnavailable as opening to write does. */
export const openPostgresRecordReader = (
  options: PostgresReaderOptions & KeptKeys,
): Promise<RecordReader> =>
  openWithKeys(options, async (keys) => {
    const opening = { ...options, keyRing: keys?.ownRing }
    const reader = await openPostgresStoreReader(POSTGRES_RECORDS, opening)
    return createRecordReader({ ...reader, source: postgresSource(reader.rows) }, keys)
  })

/** Runs an operator's work on the records, even of a running service. Rejects with RecordStoreUnavailable. */
export async function withPostgresRecords<Result>(
  server: Omit<PostgresOptions, 'Unavailable'>,
  run: (records: MarkedStore) => Promise<Result>,
): Promise<Result> {
  const { schema, Unavailable } = POSTGRES_RECORDS
  const connection = new PostgresConnection(new PostgresDoor({ ...server, Unavailable }), {
    schema,
  })
  try {
    return await run({
      source: postgresSource(connection.tuples),
      transaction: (work) => connection.transaction(underHeads(work)),
    })
  } finally {
    await connection.end()
  }
}
