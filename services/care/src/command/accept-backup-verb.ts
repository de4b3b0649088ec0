import { type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { acceptBackup } from '../adapters/store-backup.ts'
import { storeOptions } from './command-config.ts'

/** `care accept-backup`: signs the journals as a restored backup has them. */
export const acceptBackupVerb: CommandVerb = {
  name: 'accept-backup',
  usage: '',
  summary: 'signs the journals as they are found, after a backup was restored on purpose',
  options: {},
  wordsMax: 0,
  run: async ({ terminal }) => {
    for (const { audience, size, signedSize } of acceptBackup(storeOptions(terminal))) {
      const before =
        signedSize === undefined
          ? 'no checkpoint by this key was there'
          : `the last checkpoint counted ${signedSize}${signedSize > size ? `: ${signedSize - size} are given up` : ''}`
      terminal.print(`${audience} journal: ${size} entries accepted; ${before}.`)
    }
    return EXIT.done
  },
}
