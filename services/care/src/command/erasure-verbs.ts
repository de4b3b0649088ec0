import { pause } from '@tallystick/service-kit'
import { BadUsage, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { backupChainKeys } from '../adapters/chain-keys-file.ts'
import { eraseChain, listErasures } from '../adapters/open-stores.ts'
import { chainKeysPath } from '../adapters/sqlite-record-database.ts'
import { chainUri, parseRecordUri } from '../wire/record-uri.ts'
import { commandConfig, lineOf, listVerb } from './command-config.ts'
import { KEY_VARIABLES, PAUSE_MS } from './store-verbs.ts'

/** `care erase`: destroys the key of a chain (C31). */
export const eraseVerb: CommandVerb = {
  name: 'erase',
  usage: 'URI --by NAME --reason TEXT',
  summary:
    'destroys a record’s key for good: its sentences are gone here and in every backup, its hashes and proofs stay',
  options: { by: 'text', reason: 'text' },
  wordsMax: 1,
  run: async (call) => {
    const { terminal, words } = call
    const slot = parseRecordUri(words[0] ?? '')?.slot
    if (slot === undefined)
      throw new BadUsage(
        'Name the record: care://patient/domain or care-internal://patient/domain.',
      )
    const actor = lineOf(call.text('by'), '--by')
    const reason = lineOf(call.text('reason'), '--reason')
    const config = commandConfig(terminal, KEY_VARIABLES)
    if (config.SEAL_KEYS === undefined)
      throw new BadUsage('SEAL_KEYS is not set: what is stored in the clear cannot be erased.')
    const at = new Date(terminal.clock.unixMs()).toISOString()
    const outcome = await eraseChain(
      config,
      { slot, by: { at, actor, reason } },
      { keyRing: config.SEAL_KEYS, pause: () => pause(terminal.clock, PAUSE_MS) },
    )
    const uri = chainUri(slot)
    if (outcome.kind === 'absent') {
      terminal.print(`There is no record ${uri}.`)
      return EXIT.failed
    }
    terminal.print(`${uri}: the values of ${outcome.versions} versions are gone for good.`)
    terminal.print('Copies of the chain keys that are older than now still open it: replace them.')
    return EXIT.done
  },
}

export const erasuresVerb = listVerb({
  name: 'erasures',
  usage: '[--json]',
  summary: 'lists what was erased, by whom, when and why',
  options: { json: 'flag' },
  none: 'Nothing was erased.',
  read: async ({ terminal }) => {
    const config = commandConfig(terminal, KEY_VARIABLES)
    if (config.SEAL_KEYS === undefined) throw new BadUsage('SEAL_KEYS is not set.')
    return listErasures(config, config.SEAL_KEYS)
  },
  line: ({ actor, at, domain, patient, reason }) =>
    `${at}  ${patient}/${domain}  by ${actor}: ${reason}`,
})

/** `care backup-keys`: copies the file of chain keys, apart from every copy of the records. */
export const backupKeysVerb: CommandVerb = {
  name: 'backup-keys',
  usage: 'TARGET',
  summary:
    'copies the chain keys into a new file; keep only the newest copy, apart from the records',
  wordsMax: 1,
  run: async ({ terminal, words }) => {
    const [targetPath] = words
    if (targetPath === undefined) throw new BadUsage('Name the file to write the copy to.')
    const { CHAIN_KEYS_PATH, DATABASE_PATH } = commandConfig(terminal, KEY_VARIABLES)
    const databasePath = CHAIN_KEYS_PATH ?? chainKeysPath(DATABASE_PATH)
    const kept = await backupChainKeys({ databasePath, targetPath })
    terminal.print(`${targetPath}: the keys of ${kept} chains, wrapped under SEAL_KEYS.`)
    return EXIT.done
  },
}
