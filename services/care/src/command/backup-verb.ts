import { BadUsage, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { backupRecords } from '../adapters/store-backup.ts'
import { commandConfig } from './command-config.ts'

/** `care backup`: copies the records into a new file while the service runs (S8). */
export const backupVerb: CommandVerb = {
  name: 'backup',
  usage: 'TARGET',
  summary: 'copies the records into a new file, also while the service runs',
  options: {},
  wordsMax: 1,
  run: async ({ terminal, words }) => {
    const [targetPath] = words
    if (targetPath === undefined) throw new BadUsage('Name the file that the backup goes into.')
    const { DATABASE_PATH } = commandConfig(terminal, ['DATABASE_PATH'])
    const entries = await backupRecords({ databasePath: DATABASE_PATH, targetPath })
    terminal.print(
      `${targetPath}: ${entries.user} user and ${entries.assistant} assistant versions, checked.`,
    )
    terminal.print('Keys and checkpoints are not in it: keep SEAL_KEYS and CHECKPOINT_KEY apart.')
    return EXIT.done
  },
}
