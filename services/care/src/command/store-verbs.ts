import { backupSqliteStore } from '@tallystick/journal-store'
import { pause } from '@tallystick/service-kit'
import { BadUsage, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { databaseVerbs } from '@tallystick/service-kit/database-verbs'
import { acceptStore, migrateRecords, moveStores, resealStore } from '../adapters/open-stores.ts'
import { RECORDS } from '../adapters/sqlite-record-database.ts'
import { AUDIENCES } from '../wire/records.ts'
import { keysConfig, storeConfig, storePlace } from './command-config.ts'

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

/** Pause between transactions, in milliseconds, so that a running service can write in between. */
export const PAUSE_MS = 1

/** `care reseal`: reseals everything under the first key of SEAL_KEYS. */
export const resealVerb: CommandVerb = {
  name: 'reseal',
  summary:
    'seals every value under the first key of SEAL_KEYS; hashes stay the same, the service may run',
  run: async ({ terminal }) => {
    const config = keysConfig(terminal)
    if (config.SEAL_KEYS === undefined)
      throw new BadUsage('SEAL_KEYS is not set, so there is no key to seal under.')
    const outcome = await resealStore(config, {
      keyRing: config.SEAL_KEYS,
      pause: () => pause(terminal.clock, PAUSE_MS),
    })
    const { activeKeyId, resealed, rewrapped, broken, retired, needed } = outcome
    terminal.print(`Resealed ${resealed} versions under key ${activeKeyId}.`)
    if (rewrapped > 0)
      terminal.print(`Brought the keys of ${rewrapped} chains under key ${activeKeyId}.`)
    if (broken > 0)
      terminal.print(`${broken} versions do not open and were left as they are: see /verify.`)
    for (const keyId of retired) terminal.print(`Key ${keyId} is no longer needed.`)
    for (const keyId of needed) terminal.print(`Key ${keyId} is still needed.`)
    return broken === 0 ? EXIT.done : EXIT.failed
  },
}
