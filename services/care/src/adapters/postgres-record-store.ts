// The record store on PostgreSQL. This file joins its halves over the journal store: postgres-append.ts, postgres-reads.ts, and
// what both engines share, record-verify.ts and record-export.ts.
import { createBodySeal, sealReceipt } from '@tallystick/journal-store'
import {
  openPostgresJournalReader,
  openPostgresJournalStore,
  type PostgresJournalReader,
  type PostgresJournalStore,
  type PostgresStoreOptions,
} from '@tallystick/journal-store/postgres'
import type { RecordStore } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { type ChainKeys, openChainKeys } from './chain-keys.ts'
import { createJournalProofs } from './journal-proofs.ts'
import { PostgresAppender } from './postgres-append.ts'
import { reconcilePostgresErasures } from './postgres-erasure.ts'
import { createPostgresReads } from './postgres-reads.ts'
import { POSTGRES_RECORDS } from './postgres-record-database.ts'
import { postgresRows } from './postgres-rows.ts'
import type { AppendOptions } from './record-append.ts'
import { exportRecordLines } from './record-export.ts'
import { verifyAdded, verifyChains } from './record-verify.ts'
import { chainKeysPath } from './sqlite-record-database.ts'
import { createPostgresOutbox } from './write-outbox.ts'

/** Where verification and export read. */
const sourceOf = (reader: PostgresJournalReader<Audience>, keys: ChainKeys | undefined) => ({
  rows: postgresRows(reader.read),
  seal: keys?.seal ?? createBodySeal(undefined),
  receipt: (body: unknown) => keys?.receipt(body) ?? sealReceipt(body),
  journalSize: (audience: Audience) => reader.journals[audience].size,
  verifierKey: (audience: Audience) => reader.verifierKey(audience),
  checkpoint: (audience: Audience) => reader.checkpoint(audience),
})

type PostgresRecordOptions = PostgresStoreOptions & {
  /** Where this machine keeps the keys of chains. */
  readonly chainKeysPath?: string | undefined
}

/** The keys of a store's chains; undefined for one in the clear. */
function keysOf({ chainKeysPath: path, databasePath, keyRing }: PostgresRecordOptions) {
  return keyRing === undefined
    ? undefined
    : openChainKeys(path ?? chainKeysPath(databasePath), keyRing)
}

/**
 * Opens the store, whose schema `care migrate` has made. Rejects with RecordStoreUnavailable where no server takes writes, the
 * schema is another version, a key is missing, or a journal falls short of the checkpoint that this replica signed last. A
 * version that was altered does not keep it from opening: it is reported as BROKEN. Also returns the journal store, for rows
 * that stand beside the records.
 */
export async function openPostgresRecordStore(
  options: PostgresRecordOptions & Omit<AppendOptions, 'seal'>,
): Promise<{ readonly records: RecordStore; readonly store: PostgresJournalStore<Audience> }> {
  const { clock, keyRing, random } = options
  const keys = keysOf(options)
  const seal = keys?.seal ?? createBodySeal(undefined)
  const appender = new PostgresAppender({ seal, clock, random, keepKeys: () => keys?.commit() })
  const store = await openPostgresJournalStore<Audience>(POSTGRES_RECORDS, {
    ...options,
    keyRing: keys?.ring,
    neededKeys: keys === undefined ? [] : [keys.fileKeyId],
    // Sessions and their streams are this process's.
    isAlone: true,
    beforeCommit: (transaction) => appender.finish(transaction),
  }).catch((error: unknown) => {
    keys?.close()
    throw error
  })
  if (keys !== undefined) await reconcilePostgresErasures(store, keys)
  const source = sourceOf(store, keys)
  const records: RecordStore = {
    append: (record, request, expectedVersion) =>
      appender.append(store, { record, request, expectedVersion }),
    noteSubscribers: (request, subscribers) =>
      appender.noteSubscribers(store, request, subscribers),
    ...createPostgresReads(store.read, seal),
    ...createPostgresOutbox(store.read),
    verify: (query) => verifyChains(source, query),
    verifyAdded: (query) => verifyAdded(source, query),
    ...createJournalProofs(source.rows, store.journals),
    journalSize: source.journalSize,
    // Others write beside this process, and the server does not say who.
    outsideMark: () => undefined,
    exportLines: (query) => exportRecordLines(source, query),
    checkpoint: async (audience) => store.checkpoint(audience),
    verifierKey: source.verifierKey,
    sealing: () =>
      keyRing === undefined ? { isSealed: false } : { isSealed: true, keyId: keyRing.activeId },
    close: async () => {
      await store.close()
      keys?.close()
    },
  }
  return { records, store }
}

/** Opens a store to read, also beside running services. Rejects with RecordStoreUnavailable as opening to write does. */
export async function openPostgresRecordReader(
  options: PostgresRecordOptions,
): Promise<Pick<RecordStore, 'verify' | 'exportLines' | 'close'>> {
  const keys = keysOf(options)
  const reader = await openPostgresJournalReader<Audience>(POSTGRES_RECORDS, {
    ...options,
    keyRing: keys?.ring,
  }).catch((error: unknown) => {
    keys?.close()
    throw error
  })
  const source = sourceOf(reader, keys)
  return {
    verify: (query) => verifyChains(source, query),
    exportLines: (query) => exportRecordLines(source, query),
    close: async () => {
      await reader.close()
      keys?.close()
    },
  }
}
