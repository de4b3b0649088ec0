import { backupSqliteStore } from '@tallystick/journal-store'
import { BadUsage, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { databaseVerbs } from '@tallystick/service-kit/database-verbs'
import { acceptStore, migrateRecords, moveStores } from '../adapters/open-stores.ts'
import { RECORDS } from '../adapters/sqlite-record-database.ts'
import { AUDIENCES } from '../wire/records.ts'
import { storeConfig, storePlace } from './command-config.ts'

/** `care migrate` and `care move`. */
export const recordVerbs = databaseVerbs({
  noun: 'the records',
  readConfig: storeConfig,
  migrate: migrateRecords,
  move: moveStores,
})

/** `care backup`: copies the records into a new file while the service runs (S8). */
export const backupVerb: CommandVerb = {
  name: 'backup',
  usage: 'TARGET',
  summary: 'copies the records into a new file, even while the service runs',
  wordsMax: 1,
  run: async (call) => {
    const { terminal } = call
    const [targetPath] = call.words
    if (targetPath === undefined) throw new BadUsage('Name the file to write the backup to.')
    const { DATABASE_PATH, DATABASE_URL } = storePlace(call)
    if (DATABASE_URL !== undefined)
      throw new BadUsage('The server backs up its databases itself: docs/how-to/postgres.md.')
    const entries = await backupSqliteStore(RECORDS, { databasePath: DATABASE_PATH, targetPath })
    terminal.print(
      `${targetPath}: ${entries.user} user and ${entries.assistant} assistant versions, checked.`,
    )
    terminal.print(
      'It holds no keys or checkpoints: keep SEAL_KEYS, CHECKPOINT_KEY and a copy of the chain keys (care backup-keys) separately.',
    )
    return EXIT.done
  },
}

/** `care accept-backup`: signs the journals as a restored backup holds them. */
export const acceptBackupVerb: CommandVerb = {
  name: 'accept-backup',
  summary: 'signs the journals as they are, after a backup was restored on purpose',
  run: async ({ terminal }) => {
    const accepted = await acceptStore(storeConfig(terminal))
    for (const audience of AUDIENCES) {
      const { signedSize, size } = accepted[audience]
      const before =
        signedSize === undefined
          ? 'there was no checkpoint by this key'
          : `the last checkpoint counted ${signedSize}${signedSize > size ? `: ${signedSize - size} are given up` : ''}`
      terminal.print(`${audience} journal: ${size} entries accepted; ${before}.`)
    }
    return EXIT.done
  },
}
