// The record store on SQLite: WAL, synchronous FULL, one writing process (C14, C16, C17). This file opens and closes it and
// joins its halves: sqlite-append.ts, sqlite-reads.ts, sqlite-verify.ts, sqlite-export.ts.
import type { DatabaseSync } from 'node:sqlite'
import type { CompactRange, KeyRing, TreeHead } from '@tallystick/hashchain'
import type { Clock } from '@tallystick/service-kit'
import type { RecordStore } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { SqliteAppender } from './sqlite-append.ts'
import { exportRecordLines } from './sqlite-export.ts'
import { openJournal } from './sqlite-journal.ts'
import { createSqliteReads } from './sqlite-reads.ts'
import {
  guardedOpening,
  guardedStream,
  openRecordDatabase,
  openRecordDatabaseReadOnly,
} from './sqlite-record-database.ts'
import { prepareStatements } from './sqlite-statements.ts'
import { verifyChains } from './sqlite-verify.ts'
import {
  type CheckpointOwner,
  type JournalCheckpoint,
  journalCheckpoint,
} from './store-checkpoint.ts'
import { storePaths, takeStoreLock } from './store-files.ts'
import { createEntrySeal, registerActiveKey, requireSealKeys } from './store-seal.ts'

/** What a reader needs; the lock and the checkpoints lie beside the database. */
type SqliteRecordReaderOptions = CheckpointOwner & {
  /** Seals new values under its active key; absent, values are kept in the clear. */
  readonly keyRing?: KeyRing | undefined
}

export type SqliteRecordStoreOptions = SqliteRecordReaderOptions & {
  readonly clock: Clock
  /** Told of what goes wrong in the background: a checkpoint file that cannot be written. */
  readonly onProblem?: ((error: unknown) => void) | undefined
  /** Pages that the database may grow to; tests of a full disk set it. */
  readonly pagesMax?: number
}

/**
 * Opens the store, making it where there is none. Throws RecordStoreUnavailable where another process has it, the file is
 * damaged, a key is missing, or a journal falls short of its last signed checkpoint. A version that was altered does not
 * keep it from opening: it is reported as BROKEN.
 */
export function openSqliteRecordStore(options: SqliteRecordStoreOptions): RecordStore {
  const lock = takeStoreLock(storePaths(options.databasePath).lock)
  try {
    return guardedOpening(() => openLocked(options, () => lock.release()))
  } catch (error) {
    lock.release()
    throw error
  }
}

function openLocked(options: SqliteRecordStoreOptions, release: () => void): RecordStore {
  const { databasePath, keyRing, clock, pagesMax, onProblem = () => undefined } = options
  const database = openRecordDatabase(databasePath)
  try {
    requireSealKeys(database, keyRing)
    if (keyRing !== undefined) registerActiveKey(database, keyRing)
    if (pagesMax !== undefined) database.exec(`PRAGMA max_page_count = ${pagesMax}`)
    const checkpoints = eachAudience((audience) => journalCheckpoint(options, audience))
    const journals = eachAudience((audience) => {
      const checkpoint = checkpoints[audience].read()
      const journal = openJournal({ database, audience, checkpoint })
      checkpoints[audience].write(journal)
      return journal
    })
    const stored = {
      database,
      statements: prepareStatements(database),
      seal: createEntrySeal(keyRing),
    }
    const appender = new SqliteAppender({
      ...stored,
      clock,
      journals,
      onCommitted: (grown) => {
        for (const audience of grown)
          checkpoints[audience].renew(() => appender.journal(audience), onProblem)
      },
    })
    const source = sourceOf(stored, {
      checkpoints,
      journal: (audience) => appender.journal(audience),
    })
    const close = async (): Promise<void> => {
      appender.close()
      await Promise.all([checkpoints.user.flush(), checkpoints.assistant.flush()])
      database.close()
      release()
    }
    let closing: Promise<void> | undefined
    return {
      append: (record, request) => appender.append(record, request),
      noteSubscribers: (request, subscribers) => appender.noteSubscribers(request, subscribers),
      ...createSqliteReads(stored.statements, stored.seal),
      verify: guardedStream((query) => verifyChains(source, query)),
      exportLines: guardedStream((query) => exportRecordLines(source, query)),
      checkpoint: async (audience) => source.checkpoint(audience),
      verifierKey: source.verifierKey,
      sealing: () =>
        keyRing === undefined ? { isSealed: false } : { isSealed: true, keyId: keyRing.activeId },
      close: () => (closing ??= close()),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

type Stored = {
  readonly statements: ReturnType<typeof prepareStatements>
  readonly seal: ReturnType<typeof createEntrySeal>
}

type Journal = Pick<CompactRange, 'size' | 'rootHash'>

/** Where verification and export read. */
function sourceOf(
  { statements, seal }: Stored,
  of: {
    readonly checkpoints: Readonly<Record<Audience, JournalCheckpoint>>
    readonly journal: (audience: Audience) => Journal
  },
) {
  return {
    statements,
    seal,
    journalSize: (audience: Audience) => of.journal(audience).size,
    verifierKey: (audience: Audience) => of.checkpoints[audience].verifierKey,
    checkpoint: (audience: Audience) => of.checkpoints[audience].sign(of.journal(audience)),
  }
}

function eachAudience<Made>(make: (audience: Audience) => Made): Readonly<Record<Audience, Made>> {
  return { user: make('user'), assistant: make('assistant') }
}

/** What can be read beside a running service. */
type SqliteRecordReader = Pick<RecordStore, 'verify' | 'exportLines' | 'close'>

/**
 * Opens a store to read, without its lock, as it is at this moment: what the service appends meanwhile is not seen.
 * Throws RecordStoreUnavailable as opening to write does.
 */
export function openSqliteRecordReader(options: SqliteRecordReaderOptions): SqliteRecordReader {
  const checkpoints = eachAudience((audience) => journalCheckpoint(options, audience))
  // Before the snapshot, which then holds at least what they count.
  const heads = eachAudience((audience) => checkpoints[audience].read())
  return guardedOpening(() => {
    const database = openRecordDatabaseReadOnly(options.databasePath)
    try {
      const journals = openSnapshot(database, { keyRing: options.keyRing, heads })
      const stored = {
        statements: prepareStatements(database),
        seal: createEntrySeal(options.keyRing),
      }
      const source = sourceOf(stored, { checkpoints, journal: (audience) => journals[audience] })
      return {
        verify: guardedStream((query) => verifyChains(source, query)),
        exportLines: guardedStream((query) => exportRecordLines(source, query)),
        close: async () => database.close(),
      }
    } catch (error) {
      database.close()
      throw error
    }
  })
}

function openSnapshot(
  database: DatabaseSync,
  of: {
    readonly keyRing: KeyRing | undefined
    readonly heads: Readonly<Record<Audience, TreeHead | undefined>>
  },
): Readonly<Record<Audience, Journal>> {
  database.exec('BEGIN')
  requireSealKeys(database, of.keyRing)
  return eachAudience((audience) =>
    openJournal({ database, audience, checkpoint: of.heads[audience] }),
  )
}
