import { BadUsage, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { resealRecords } from '../adapters/sqlite-reseal.ts'
import { commandConfig } from './command-config.ts'

/** Pause between transactions, milliseconds: a running service gets its turn. */
const PAUSE_MS = 1

/** `care reseal`: moves everything under the first key of SEAL_KEYS. */
export const resealVerb: CommandVerb = {
  name: 'reseal',
  usage: '',
  summary:
    'seals every value under the first key of SEAL_KEYS; no hash changes, the service may run',
  options: {},
  wordsMax: 0,
  run: async ({ terminal }) => {
    const config = commandConfig(terminal, ['DATABASE_PATH', 'SEAL_KEYS'])
    if (config.SEAL_KEYS === undefined)
      throw new BadUsage('SEAL_KEYS is not set: there is no key to seal under.')
    const outcome = await resealRecords({
      databasePath: config.DATABASE_PATH,
      keyRing: config.SEAL_KEYS,
      pause: () =>
        new Promise((resolve) => {
          terminal.clock.after(PAUSE_MS, resolve)
        }),
    })
    const { activeKeyId, resealed, broken, retired, needed } = outcome
    terminal.print(`Resealed ${resealed} versions under key ${activeKeyId}.`)
    if (broken > 0)
      terminal.print(`${broken} versions do not open and were left as they are: see /verify.`)
    for (const keyId of retired) terminal.print(`Key ${keyId} is no longer needed.`)
    for (const keyId of needed) terminal.print(`Key ${keyId} is still needed.`)
    return broken === 0 ? EXIT.done : EXIT.failed
  },
}
