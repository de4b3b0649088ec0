import { type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { type AcceptedLedger, acceptBackup } from '../adapters/accept-backup.ts'
import { existingLedger, ledgerOptions } from './command-store.ts'

function givenUp({ last, size }: AcceptedLedger): string {
  if (last === undefined) return 'no checkpoint by this key was there'
  const counted = `the last checkpoint counted ${last.size}`
  if (last.size > size) return `${counted}: ${last.size - size} are given up`
  return last.isContinued ? `${counted}: none is given up` : `${counted}, which were not these`
}

/** `grading accept-backup`: signs the ledger as a restored backup has it. */
export const acceptBackupVerb: CommandVerb = {
  name: 'accept-backup',
  usage: '',
  summary: 'signs the ledger as it is found, after a backup was restored on purpose',
  options: {},
  wordsMax: 0,
  run: async ({ terminal }) => {
    existingLedger(terminal)
    const accepted = await acceptBackup(ledgerOptions(terminal))
    terminal.print(`${accepted.size} entries accepted; ${givenUp(accepted)}.`)
    return EXIT.done
  },
}
