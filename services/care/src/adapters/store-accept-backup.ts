import { createNoteSigner } from '@tallystick/hashchain'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { readJournal } from './sqlite-journal.ts'
import { openRecordDatabase } from './sqlite-record-database.ts'
import { readCheckpointFile, signHead, writeCheckpointFile } from './store-checkpoint-file.ts'
import { takeStoreLock } from './store-lock.ts'
import { storePaths } from './store-paths.ts'

/** What was accepted of one journal. */
export type AcceptedJournal = {
  readonly audience: Audience
  /** Entries that are there now. */
  readonly size: number
  /** Entries that the last checkpoint counted; undefined where none by our key was there. */
  readonly signedSize: number | undefined
}

/**
 * Signs the journals as they are found, so that a restored backup opens again. Entries must be there without gaps; what
 * the last checkpoint counted beyond them is given up. Throws RecordStoreUnavailable, also where a service is running.
 */
export function acceptBackup(options: {
  readonly databasePath: string
  readonly checkpointSeed: Uint8Array
  readonly origin: string
}): readonly AcceptedJournal[] {
  const { databasePath, checkpointSeed: seed, origin } = options
  const paths = storePaths(databasePath)
  const lock = takeStoreLock(paths.lock)
  try {
    const database = openRecordDatabase(databasePath, 'existing')
    try {
      const readings = (['user', 'assistant'] as const).map((audience) => {
        const reading = readJournal({ database, audience, checkpoint: 'unchecked' })
        if (reading.kind === 'refused')
          throw new RecordStoreUnavailable(`the ${audience} journal has gaps: ${reading.reason}`)
        return { audience, tree: reading.tree }
      })
      return readings.map(({ audience, tree }) => {
        const path = paths.checkpoint(audience)
        const signedSize = signedSizeIn({ path, audience, seed })
        const signer = createNoteSigner({ keyName: `${origin}/${audience}`, seed })
        writeCheckpointFile(path, signHead(signer, { size: tree.size, rootHash: tree.rootHash() }))
        return { audience, size: tree.size, signedSize }
      })
    } finally {
      database.close()
    }
  } finally {
    lock.release()
  }
}

function signedSizeIn(options: Parameters<typeof readCheckpointFile>[0]): number | undefined {
  try {
    return readCheckpointFile(options)?.size
  } catch {
    return undefined // not by our key: what is being put right here
  }
}
