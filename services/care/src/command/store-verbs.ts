import { backupSqliteStore } from '@tallystick/journal-store'
import { BadUsage, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { databaseVerbs } from '@tallystick/service-kit/database-verbs'
import { acceptStore, migrateRecords, moveStores } from '../adapters/open-stores.ts'
import { RECORDS } from '../adapters/schemas/sqlite-record-database.ts'
import { AUDIENCES, type Audience } from '../wire/audience.ts'
import { commandConfig, storeConfig, storePlace } from './command-config.ts'

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
  example: 'backup /backup/care.db',
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

type Accepted = Awaited<ReturnType<typeof acceptStore>>

/** How many of the counted entries are not here. `isSame`: those that are here are the ones that were counted. */
function givenUpText(counted: number, { isSame, size }: { isSame: boolean; size: number }): string {
  if (isSame) return counted > size ? `: ${counted - size} are given up` : ''
  return `, and not all of them are these: up to ${counted} are given up`
}

function journalLine(audience: Audience, accepted: Accepted['journals'][Audience]): string {
  const { isContinued, signedSize, size } = accepted
  const isShorter = (signedSize ?? 0) > size
  const isSame = isContinued || isShorter
  const before =
    signedSize === undefined
      ? 'there was no checkpoint by this key'
      : `the last checkpoint counted ${signedSize}${givenUpText(signedSize, { isSame, size })}`
  return `${audience} journal: ${size} entries accepted; ${before}.`
}

function witnessLine({ lead, name, problem }: Accepted['witnesses'][number]): string {
  if (lead !== undefined) {
    const { problem: kind, seen, size } = lead
    const givenUp = givenUpText(seen, { isSame: kind === 'rolled_back', size })
    return `The witness ${name} has seen ${seen}${givenUp}. It cosigns nothing of this journal any more.`
  }
  return problem === undefined
    ? `The witness ${name} has seen nothing that is not here.`
    : `The witness ${name} did not tell what it has seen (${problem}): that is not counted. If it has seen more, the service serves nothing; then run this again.`
}

/** `care accept-backup`: signs the journals as a restored backup holds them. */
export const acceptBackupVerb: CommandVerb = {
  name: 'accept-backup',
  summary:
    'signs the journals as they are, after a backup was restored on purpose, and says what is given up, as checkpoints and WITNESSES tell',
  example: 'accept-backup',
  run: async ({ terminal }) => {
    const config = { ...storeConfig(terminal), ...commandConfig(terminal, ['WITNESSES']) }
    const { journals, witnesses } = await acceptStore(config, terminal.clock)
    for (const audience of AUDIENCES) terminal.print(journalLine(audience, journals[audience]))
    for (const witness of witnesses) terminal.print(witnessLine(witness))
    return EXIT.done
  },
}
