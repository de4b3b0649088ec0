import { BadUsage, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { backupGrading } from '../adapters/sqlite-backup.ts'
import { existingLedger } from './command-store.ts'

/** `grading backup`: copies ledger and reservations into new files while the service runs (S8). */
export const backupVerb: CommandVerb = {
  name: 'backup',
  usage: 'TARGET',
  summary:
    'copies the ledger into a new file, and its payments beside it, also while the service runs',
  options: {},
  wordsMax: 1,
  run: async ({ terminal, words }) => {
    const [targetPath] = words
    if (targetPath === undefined) throw new BadUsage('Name the file that the backup goes into.')
    const databasePath = existingLedger(terminal)
    for (const path of await backupGrading({ databasePath, targetPath }))
      terminal.print(`${path}: written and checked.`)
    terminal.print('The checkpoint key is not in it: keep the .checkpoint-key file apart.')
    return EXIT.done
  },
}
