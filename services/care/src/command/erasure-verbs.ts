import { DAY_MS, isoNow } from '@tallystick/service-kit'
import { BadUsage, type CommandCall, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { backupChainKeys, restoreChainKeys } from '../adapters/keys/chain-keys-file.ts'
import { withKeysPlace } from '../adapters/keys/open-chain-keys.ts'
import { eraseChain, freeChain, listErasures, listFrees } from '../adapters/open-stores.ts'
import { chainUri, type NamedChain, parseChainUri } from '../wire/record-uri.ts'
import { lineText, recordName } from '../wire/text-of-others.ts'
import { commandConfig, keysConfig, listVerb, requireLine, storePlace } from './command-config.ts'

/** The chain that the first word names. Throws BadUsage. */
function namedChain({ words }: CommandCall): NamedChain {
  const chain = parseChainUri(words[0] ?? '')?.slot
  if (chain === undefined)
    throw new BadUsage('Name the record: care://patient/domain or care-internal://patient/domain.')
  return chain
}

/** By whom, why, and when: now. Throws BadUsage. */
const doneBy = (call: CommandCall) => ({
  at: isoNow(call.terminal.clock),
  actor: requireLine(call.text('by'), '--by'),
  reason: requireLine(call.text('reason'), '--reason'),
})

/** `care erase`: destroys the key of a chain (C31). */
export const eraseVerb: CommandVerb = {
  name: 'erase',
  usage: 'URI --by NAME --reason TEXT',
  summary:
    'destroys a record’s key for good: its sentences are gone here and in every backup, its hashes and proofs stay',
  example: 'erase care://ann/plan --by dr-osei --reason "asked to"',
  options: { by: 'text', reason: 'text' },
  wordsMax: 1,
  run: async (call) => {
    const { terminal } = call
    const slot = namedChain(call)
    const by = doneBy(call)
    const config = keysConfig(terminal)
    const { CHAIN_KEYS_BACKUP_DAYS: days } = commandConfig(terminal, ['CHAIN_KEYS_BACKUP_DAYS'])
    if (config.SEAL_KEYS === undefined)
      throw new BadUsage('SEAL_KEYS is not set: what is stored in the clear cannot be erased.')
    const outcome = await eraseChain(config, { slot, by }, config.SEAL_KEYS)
    const uri = chainUri(slot)
    if (outcome.kind === 'absent') {
      terminal.print(`There is no record ${uri}.`)
      return EXIT.failed
    }
    terminal.print(`${uri}: the values of ${outcome.versions} versions are gone for good.`)
    const finalAt = new Date(Date.parse(outcome.at) + days * DAY_MS).toISOString()
    terminal.print(
      `Backups of the chain keys from before ${outcome.at} still open it: the erasure is final on ${finalAt}, when the last of them is gone (CHAIN_KEYS_BACKUP_DAYS=${days}).`,
    )
    return EXIT.done
  },
}

export const erasuresVerb = listVerb({
  name: 'erasures',
  summary: 'lists what was erased, by whom, when and why',
  example: 'erasures --json',
  members: ['at', 'patient', 'domain', 'turn', 'actor', 'reason'],
  none: 'Nothing was erased.',
  read: ({ terminal }) => listErasures(keysConfig(terminal)),
  line: ({ actor, at, domain, patient, reason, turn }) =>
    `${at}  ${recordName({ patient, domain })}${turn === 0 ? '' : `, its chain ${turn + 1}`}  by ${lineText(actor)}: ${lineText(reason)}`,
})

/** `care free`: moves a topic's chain aside (C47). */
export const freeVerb: CommandVerb = {
  name: 'free',
  usage: 'URI --by NAME --reason TEXT',
  summary:
    'moves a record’s chain aside, so that the topic can begin anew for either audience; the old chain stays provable under its number',
  example: 'free care://ann/plan --by dr-osei --reason "another Ann"',
  options: { by: 'text', reason: 'text' },
  wordsMax: 1,
  run: async (call) => {
    const { terminal } = call
    const slot = namedChain(call)
    const uri = chainUri(slot)
    if (slot.freed !== undefined) throw new BadUsage(`${uri} was freed already.`)
    const outcome = await freeChain(storePlace(call), { slot, by: doneBy(call) })
    if (outcome.kind === 'absent') {
      terminal.print(`There is no record ${uri}.`)
      return EXIT.failed
    }
    const { freed, versions } = outcome
    terminal.print(
      `${uri}: the topic is free. Its chain of ${versions} versions stays provable as ${chainUri({ ...slot, freed })}; care erase takes that URI too.`,
    )
    return EXIT.done
  },
}

export const freesVerb = listVerb({
  name: 'frees',
  summary: 'lists the chains that were moved aside, by whom, when and why',
  example: 'frees --json',
  members: ['at', 'patient', 'domain', 'audience', 'freed', 'actor', 'reason'],
  none: 'Nothing was freed.',
  read: (call) => listFrees(storePlace(call)),
  line: ({ actor, at, reason, ...chain }) =>
    `${at}  ${chainUri(chain)}  by ${lineText(actor)}: ${lineText(reason)}`,
})

/** `care backup-keys`: copies the chain keys, apart from every copy of the records. */
export const backupKeysVerb: CommandVerb = {
  name: 'backup-keys',
  usage: 'TARGET',
  summary:
    'copies the chain keys into a new file; keep only the newest copy, apart from the records',
  example: 'backup-keys /backup/chain-keys.json',
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
  example: 'restore-keys /backup/chain-keys.json',
  wordsMax: 1,
  run: async ({ terminal, words: [sourcePath] }) => {
    if (sourcePath === undefined) throw new BadUsage('Name the file with the copy.')
    const count = await withKeysPlace(
      keysConfig(terminal),
      (place) => restoreChainKeys(place, sourcePath),
      'make',
    )
    terminal.print(`The keys of ${count} chains are restored from ${sourcePath}.`)
    return EXIT.done
  },
}
