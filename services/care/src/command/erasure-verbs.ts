import { pause } from '@tallystick/service-kit'
import { BadUsage, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { backupChainKeys, restoreChainKeys } from '../adapters/chain-keys-file.ts'
import { withKeysPlace } from '../adapters/open-chain-keys.ts'
import { eraseChain, listErasures } from '../adapters/open-stores.ts'
import { chainUri, parseRecordUri } from '../wire/record-uri.ts'
import { commandConfig, keysConfig, lineOf, listVerb } from './command-config.ts'
import { PAUSE_MS } from './store-verbs.ts'

const MS_PER_DAY = 86_400_000

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
    const config = keysConfig(terminal)
    const { CHAIN_KEYS_BACKUP_DAYS: days } = commandConfig(terminal, ['CHAIN_KEYS_BACKUP_DAYS'])
    if (config.SEAL_KEYS === undefined)
      throw new BadUsage('SEAL_KEYS is not set: what is stored in the clear cannot be erased.')
    const nowMs = terminal.clock.unixMs()
    const at = new Date(nowMs).toISOString()
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
    const finalAt = new Date(nowMs + days * MS_PER_DAY).toISOString()
    terminal.print(
      `Backups of the chain keys from before now still open it: the erasure is final on ${finalAt}, when the last of them is gone (CHAIN_KEYS_BACKUP_DAYS=${days}).`,
    )
    return EXIT.done
  },
}

export const erasuresVerb = listVerb({
  name: 'erasures',
  usage: '[--json]',
  summary: 'lists what was erased, by whom, when and why',
  options: { json: 'flag' },
  none: 'Nothing was erased.',
  read: ({ terminal }) => listErasures(keysConfig(terminal)),
  line: ({ actor, at, domain, patient, reason }) =>
    `${at}  ${patient}/${domain}  by ${actor}: ${reason}`,
})

/** `care backup-keys`: copies the chain keys, apart from every copy of the records. */
export const backupKeysVerb: CommandVerb = {
  name: 'backup-keys',
  usage: 'TARGET',
  summary:
    'copies the chain keys into a new file; keep only the newest copy, apart from the records',
  wordsMax: 1,
  run: async ({ terminal, words: [targetPath] }) => {
    if (targetPath === undefined) throw new BadUsage('Name the file to write the copy to.')
    const count = await withKeysPlace(keysConfig(terminal), (place) =>
      backupChainKeys(place, targetPath),
    )
    terminal.print(`${targetPath}: the keys of ${count} chains, wrapped under SEAL_KEYS.`)
    return EXIT.done
  },
}

/** `care restore-keys`: fills an empty place from a copy, so that keys are restored, or move from a file to a database. */
export const restoreKeysVerb: CommandVerb = {
  name: 'restore-keys',
  usage: 'SOURCE',
  summary:
    'fills the empty CHAIN_KEYS_URL, or a new CHAIN_KEYS_PATH, from a copy or a file of chain keys, while no service runs',
  wordsMax: 1,
  run: async ({ terminal, words: [sourcePath] }) => {
    if (sourcePath === undefined) throw new BadUsage('Name the file with the copy.')
    const count = await withKeysPlace(
      keysConfig(terminal),
      (place) => restoreChainKeys(place, sourcePath),
      undefined,
    )
    terminal.print(`The keys of ${count} chains are restored from ${sourcePath}.`)
    return EXIT.done
  },
}
