import {
  BadUsage,
  type CommandCall,
  type CommandTerminal,
  type CommandVerb,
  EXIT,
  readVariables,
} from '@tallystick/service-kit/command'
import { requireStoreConfig } from '@tallystick/service-kit/database-verbs'
import { z } from 'zod'
import type { StoreConfig } from '../adapters/open-stores.ts'
import { careConfigSchema, chainKeysFault } from '../config.ts'
import { type ChainSlot, parseRecordUri } from '../wire/record-uri.ts'

type Shape = typeof careConfigSchema.shape

/** Reads the variables of the service's environment that a verb needs. Throws BadUsage naming every bad one. */
export function commandConfig<Name extends keyof Shape>(
  terminal: CommandTerminal,
  names: readonly Name[],
): z.output<z.ZodObject<Pick<Shape, Name>>> {
  const fields = Object.fromEntries(names.map((name) => [name, careConfigSchema.shape[name]]))
  return readVariables(terminal, z.object(fields as Pick<Shape, Name>))
}

const KEY_VARIABLES = [
  'DATABASE_PATH',
  'DATABASE_URL',
  'SEAL_KEYS',
  'CHAIN_KEYS_PATH',
  'CHAIN_KEYS_URL',
] as const

/** Throws BadUsage if it is not said where the keys of chains are. */
function requireKeysPlace<Read extends Parameters<typeof chainKeysFault>[0]>(config: Read): Read {
  const fault = chainKeysFault(config)
  if (fault !== undefined) throw new BadUsage(`${fault.path[0]}: expected ${fault.message}.`)
  return config
}

/** Where the store and the keys of its chains are. Throws BadUsage. */
export const keysConfig = (terminal: CommandTerminal) =>
  requireKeysPlace(commandConfig(terminal, KEY_VARIABLES))

/** What it takes to open the service's store, from its environment. Throws BadUsage. */
export function storeConfig(terminal: CommandTerminal): StoreConfig {
  const names = [...KEY_VARIABLES, 'CHECKPOINT_KEY', 'BASE_URL', 'SERVICE_NAME'] as const
  return requireStoreConfig(requireKeysPlace(commandConfig(terminal, names)))
}

/** Where the store is, for verbs that need no keys. Throws BadUsage. */
export const storePlace = ({ terminal }: CommandCall) =>
  commandConfig(terminal, ['DATABASE_PATH', 'DATABASE_URL'])

/** The chain that `--uri` names, if it is given. Throws BadUsage. */
export function slotOption(call: CommandCall): ChainSlot | undefined {
  const uri = call.text('uri')
  const slot = uri === undefined ? undefined : parseRecordUri(uri)?.slot
  if (uri !== undefined && slot === undefined)
    throw new BadUsage('--uri takes care://patient/domain or care-internal://patient/domain.')
  return slot
}

/** A verb that lists rows, each as a line or, with `--json`, as JSON; without rows, it says so. */
export function listVerb<Row extends object>({
  members,
  none,
  read,
  line,
  ...verb
}: Omit<CommandVerb, 'json' | 'wordsMax' | 'run'> & {
  /** What a row has in JSON. */
  readonly members: readonly (keyof Row & string)[]
  readonly none: string
  readonly read: (call: CommandCall) => Promise<readonly Row[]>
  readonly line: (row: Row) => string
}): CommandVerb {
  return {
    ...verb,
    json: { prints: 'one line for each', members },
    run: async (call) => {
      const rows = await read(call)
      for (const row of rows)
        if (call.isJson) call.printJson(row)
        else call.terminal.print(line(row))
      if (rows.length === 0 && !call.isJson) call.terminal.print(none)
      return EXIT.done
    },
  }
}

/** Longest name or reason, bytes: a line, not a document. */
const LINE_BYTES_MAX = 1_024

/** A line that an operator must give. Throws BadUsage. */
export function requireLine(value: string | undefined, name: string): string {
  const text = value?.trim() ?? ''
  if (text === '' || Buffer.byteLength(text) > LINE_BYTES_MAX || /\p{Cc}/u.test(text))
    throw new BadUsage(`${name} takes a line of at most ${LINE_BYTES_MAX} bytes.`)
  return text
}
