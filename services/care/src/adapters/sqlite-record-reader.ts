import { createNoteSigner, type TreeHead } from '@tallystick/hashchain'
import type { RecordStore } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { exportRecordLines } from './sqlite-export.ts'
import { openJournal } from './sqlite-journal.ts'
import { openRecordDatabaseReadOnly } from './sqlite-record-database.ts'
import type { SqliteRecordStoreOptions } from './sqlite-record-store.ts'
import { prepareStatements } from './sqlite-statements.ts'
import { verifyChains } from './sqlite-verify.ts'
import { readCheckpointFile, signHead } from './store-checkpoint-file.ts'
import { guardedOpening, guardedStream } from './store-guard.ts'
import { storePaths } from './store-paths.ts'
import { createEntrySeal, requireSealKeys } from './store-seal.ts'

/** What can be read beside a running service. */
export type SqliteRecordReader = Pick<RecordStore, 'verify' | 'exportLines' | 'close'>

export type SqliteRecordReaderOptions = Omit<
  SqliteRecordStoreOptions,
  'clock' | 'onProblem' | 'pagesMax'
>

/**
 * Opens a store to read, without its lock, as it is at this moment: what the service appends meanwhile is not seen.
 * Throws RecordStoreUnavailable as opening to write does.
 */
export function openSqliteRecordReader(options: SqliteRecordReaderOptions): SqliteRecordReader {
  const { databasePath, checkpointSeed: seed } = options
  const paths = storePaths(databasePath)
  // Before the snapshot, which then holds at least what they count.
  const [user, assistant] = (['user', 'assistant'] as const).map((audience) =>
    readCheckpointFile({ path: paths.checkpoint(audience), audience, seed }),
  )
  return guardedOpening(() => openSnapshot(options, { user, assistant }))
}

function openSnapshot(
  options: SqliteRecordReaderOptions,
  { user, assistant }: Readonly<Record<Audience, TreeHead | undefined>>,
): SqliteRecordReader {
  const { databasePath, checkpointSeed, keyRing, origin } = options
  const database = openRecordDatabaseReadOnly(databasePath)
  try {
    database.exec('BEGIN')
    requireSealKeys(database, keyRing)
    const journals = {
      user: openJournal({ database, audience: 'user', checkpoint: user }),
      assistant: openJournal({ database, audience: 'assistant', checkpoint: assistant }),
    }
    const signer = (audience: Audience) =>
      createNoteSigner({ keyName: `${origin}/${audience}`, seed: checkpointSeed })
    const source = {
      statements: prepareStatements(database),
      seal: createEntrySeal(keyRing),
      journalSize: (audience: Audience) => journals[audience].size,
      verifierKey: (audience: Audience) => signer(audience).verifierKey,
      checkpoint: (audience: Audience) => {
        const { size } = journals[audience]
        return signHead(signer(audience), { size, rootHash: journals[audience].rootHash() })
      },
    }
    return {
      verify: guardedStream((query) => verifyChains(source, query)),
      exportLines: guardedStream((query) => exportRecordLines(source, query)),
      close: async () => {
        database.close()
      },
    }
  } catch (error) {
    database.close()
    throw error
  }
}
