// The record store on PostgreSQL. This file joins its halves over the journal store: postgres-append.ts, postgres-reads.ts, and
// what both engines share, record-verify.ts and record-export.ts.
import { createBodySeal } from '@tallystick/journal-store'
import {
  openPostgresJournalReader,
  openPostgresJournalStore,
  type PostgresJournalReader,
  type PostgresJournalStore,
  type PostgresStoreOptions,
} from '@tallystick/journal-store/postgres'
import type { RecordStore } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { PostgresAppender } from './postgres-append.ts'
import { createPostgresReads } from './postgres-reads.ts'
import { POSTGRES_RECORDS } from './postgres-record-database.ts'
import { postgresRows } from './postgres-rows.ts'
import type { AppendOptions } from './record-append.ts'
import { exportRecordLines } from './record-export.ts'
import { verifyAdded, verifyChains } from './record-verify.ts'

/** Where verification and export read. */
const sourceOf = (
  reader: PostgresJournalReader<Audience>,
  { keyRing }: Pick<PostgresStoreOptions, 'keyRing'>,
) => ({
  rows: postgresRows(reader.read),
  seal: createBodySeal(keyRing),
  journalSize: (audience: Audience) => reader.journals[audience].size,
  verifierKey: (audience: Audience) => reader.verifierKey(audience),
  checkpoint: (audience: Audience) => reader.checkpoint(audience),
})

/**
 * Opens the store, whose schema `care migrate` has made. Rejects with RecordStoreUnavailable where no server takes writes, the
 * schema is another version, a key is missing, or a journal falls short of the checkpoint that this replica signed last. A
 * version that was altered does not keep it from opening: it is reported as BROKEN. Also returns the journal store, for rows
 * that stand beside the records.
 */
export async function openPostgresRecordStore(
  options: PostgresStoreOptions & Omit<AppendOptions, 'seal'>,
): Promise<{ readonly records: RecordStore; readonly store: PostgresJournalStore<Audience> }> {
  const { clock, keyRing, random } = options
  const seal = createBodySeal(keyRing)
  const appender = new PostgresAppender({ seal, clock, random })
  const store = await openPostgresJournalStore<Audience>(POSTGRES_RECORDS, {
    ...options,
    // Sessions and their streams are this process's.
    isAlone: true,
    beforeCommit: (transaction) => appender.finish(transaction),
  })
  const source = sourceOf(store, options)
  const records: RecordStore = {
    append: (record, request) => appender.append(store, { record, request }),
    noteSubscribers: (request, subscribers) =>
      appender.noteSubscribers(store, request, subscribers),
    ...createPostgresReads(store.read, seal),
    verify: (query) => verifyChains(source, query),
    verifyAdded: (query) => verifyAdded(source, query),
    journalSize: source.journalSize,
    // Others write beside this process, and the server does not say who.
    outsideMark: () => undefined,
    exportLines: (query) => exportRecordLines(source, query),
    checkpoint: async (audience) => store.checkpoint(audience),
    verifierKey: source.verifierKey,
    sealing: () =>
      keyRing === undefined ? { isSealed: false } : { isSealed: true, keyId: keyRing.activeId },
    close: () => store.close(),
  }
  return { records, store }
}

/** Opens a store to read, also beside running services. Rejects with RecordStoreUnavailable as opening to write does. */
export async function openPostgresRecordReader(
  options: PostgresStoreOptions,
): Promise<Pick<RecordStore, 'verify' | 'exportLines' | 'close'>> {
  const reader = await openPostgresJournalReader<Audience>(POSTGRES_RECORDS, options)
  const source = sourceOf(reader, options)
  return {
    verify: (query) => verifyChains(source, query),
    exportLines: (query) => exportRecordLines(source, query),
    close: () => reader.close(),
  }
}
