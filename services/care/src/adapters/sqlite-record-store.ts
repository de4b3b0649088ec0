// The record store on SQLite: WAL, synchronous FULL, one writing process (C14, C16, C17). This file opens and closes it and
// joins its halves: sqlite-append.ts, sqlite-reads.ts, sqlite-verify.ts, sqlite-export.ts.

import { randomBytes } from 'node:crypto'
import { createNoteSigner, type KeyRing } from '@tallystick/hashchain'
import type { Clock } from '@tallystick/service-kit'
import {
  type AppendOutcome,
  type RecordStore,
  RecordStoreUnavailable,
  requireStorable,
} from '../domain/record-store.ts'
import { createRepeatedRequests, type RepeatedRequests } from '../domain/record-store-requests.ts'
import type { Audience } from '../wire/records.ts'
import { SqliteAppender, type WriteResult } from './sqlite-append.ts'
import { exportRecordLines } from './sqlite-export.ts'
import { openJournal } from './sqlite-journal.ts'
import { createSqliteReads } from './sqlite-reads.ts'
import { openRecordDatabase } from './sqlite-record-database.ts'
import { prepareStatements } from './sqlite-statements.ts'
import { verifyChains } from './sqlite-verify.ts'
import {
  createCheckpointWriter,
  readCheckpointFile,
  signHead,
  writeCheckpointFile,
} from './store-checkpoint-file.ts'
import { guardedOpening, guardedStream } from './store-guard.ts'
import { takeStoreLock } from './store-lock.ts'
import { storePaths } from './store-paths.ts'
import { createEntrySeal, registerActiveKey, requireSealKeys } from './store-seal.ts'

export type SqliteRecordStoreOptions = {
  /** The database's file; lock and checkpoints lie beside it (store-paths.ts). */
  readonly databasePath: string
  readonly clock: Clock
  /** Seals new values under its active key; absent, values are kept in the clear. */
  readonly keyRing?: KeyRing
  /** Ed25519 seed that signs checkpoints, 32 bytes (store-checkpoint-key.ts). */
  readonly checkpointSeed: Uint8Array
  /** What checkpoints call the journals, before `/user` and `/assistant`, such as `care.example.org/care`. */
  readonly origin: string
  /** Told of what goes wrong in the background: a checkpoint file that cannot be written. */
  readonly onProblem?: (error: unknown) => void
  /** Pages that the database may grow to; tests of a full disk set it. */
  readonly pagesMax?: number
}

const AUDIENCES: readonly Audience[] = ['user', 'assistant']

/**
 * Opens the store, making it where there is none. Throws RecordStoreUnavailable where another process has it, the file is
 * damaged, a key is missing, or a journal falls short of its last signed checkpoint. A version that was altered does not
 * keep it from opening: it is reported as BROKEN.
 */
export function openSqliteRecordStore(options: SqliteRecordStoreOptions): RecordStore {
  const paths = storePaths(options.databasePath)
  const lock = takeStoreLock(paths.lock)
  try {
    return guardedOpening(() =>
      openLocked(options, () => {
        lock.release()
      }),
    )
  } catch (error) {
    lock.release()
    throw error
  }
}

function openLocked(options: SqliteRecordStoreOptions, release: () => void): RecordStore {
  const { databasePath, checkpointSeed, keyRing, origin, onProblem = () => undefined } = options
  const paths = storePaths(databasePath)
  const database = openRecordDatabase(databasePath)
  try {
    requireSealKeys(database, keyRing)
    if (keyRing !== undefined) registerActiveKey(database, keyRing)
    if (options.pagesMax !== undefined) database.exec(`PRAGMA max_page_count = ${options.pagesMax}`)
    const signers = eachAudience((audience) =>
      createNoteSigner({ keyName: `${origin}/${audience}`, seed: checkpointSeed }),
    )
    const journals = eachAudience((audience) => {
      const path = paths.checkpoint(audience)
      const checkpoint = readCheckpointFile({ path, audience, seed: checkpointSeed })
      const journal = openJournal({ database, audience, checkpoint })
      writeCheckpointFile(path, signHead(signers[audience], treeHead(journal)))
      return journal
    })
    const statements = prepareStatements(database)
    const seal = createEntrySeal(keyRing)
    const appender: SqliteAppender = new SqliteAppender({
      database,
      statements,
      seal,
      clock: options.clock,
      random: randomBytes,
      journals,
      onCommitted: (grown) => {
        for (const audience of grown) writers[audience].renew()
      },
    })
    const checkpoint = (audience: Audience): string =>
      signHead(signers[audience], treeHead(appender.journal(audience)))
    const writers = eachAudience((audience) =>
      createCheckpointWriter({
        path: paths.checkpoint(audience),
        note: () => checkpoint(audience),
        onProblem,
      }),
    )
    const source = {
      statements,
      seal,
      checkpoint,
      journalSize: (audience: Audience) => appender.journal(audience).size,
      verifierKey: (audience: Audience) => signers[audience].verifierKey,
    }
    const close = async (): Promise<void> => {
      appender.close()
      await Promise.all(AUDIENCES.map((audience) => writers[audience].flush()))
      database.close()
      release()
    }
    return {
      ...appending(appender, createRepeatedRequests(options.clock)),
      ...createSqliteReads(statements, seal),
      verify: guardedStream((query) => verifyChains(source, query)),
      exportLines: guardedStream((query) => exportRecordLines(source, query)),
      checkpoint: async (audience) => checkpoint(audience),
      verifierKey: source.verifierKey,
      sealing: () => sealingOf(keyRing),
      close: onceOnly(close),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

type Appending = Pick<RecordStore, 'append' | 'noteSubscribers'>

function appending(appender: SqliteAppender, requests: RepeatedRequests): Appending {
  const outcomeOf = async (result: WriteResult): Promise<AppendOutcome> => {
    if (result.kind === 'known-broken')
      throw new RecordStoreUnavailable('the version that this request made does not hold any more')
    if (result.kind !== 'known') return result
    await requests.told(result.mac)
    const subscribers = appender.subscribersOf(result.mac)
    return { kind: 'repeated', record: result.record, subscribers }
  }
  return {
    append: async (record, request) => {
      requireStorable(record)
      const result = await appender.write(record, request)
      if (result.kind === 'appended' && request !== undefined) requests.begin(request.mac)
      return outcomeOf(result)
    },
    noteSubscribers: async (request, subscribers) => {
      await appender.note(request, subscribers)
      requests.settle(request.mac)
    },
  }
}

const treeHead = (journal: { readonly size: number; rootHash(): Uint8Array }) => ({
  size: journal.size,
  rootHash: journal.rootHash(),
})

function eachAudience<Made>(make: (audience: Audience) => Made): Readonly<Record<Audience, Made>> {
  return { user: make('user'), assistant: make('assistant') }
}

function sealingOf(ring: KeyRing | undefined): ReturnType<RecordStore['sealing']> {
  return ring === undefined ? { isSealed: false } : { isSealed: true, keyId: ring.activeId }
}

function onceOnly(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined
  return () => {
    closing ??= close()
    return closing
  }
}
