// From an argument list to a verb and an exit code. Nothing here knows a verb; `verbs.ts` is the table.
import { parseArgs } from 'node:util'
import { AuditTrailUnavailable } from '../adapters/sqlite-audit-trail.ts'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import {
  BadUsage,
  type CareCall,
  type CareTerminal,
  type CareVerb,
  EXIT,
  type ExitCode,
} from './care-verb.ts'
import { verbs } from './verbs.ts'

function usage(): readonly string[] {
  return [
    'care: the care-record store’s command',
    '',
    ...verbs.flatMap((verb) => [
      `  care ${verb.name} ${verb.usage}`.trimEnd(),
      `      ${verb.summary}`,
    ]),
    '',
    'Everything but verify reads the service’s environment: DATABASE_PATH, SEAL_KEYS, CHECKPOINT_KEY, TOKEN_SECRET (or',
    'SEAL_KEYS_FILE, …), BASE_URL, SERVICE_NAME.',
    'Exit codes: 0 done or intact; 1 broken, refused or out of reach; 2 bad argument, variable or input.',
  ]
}

function readCall(verb: CareVerb, terminal: CareTerminal): CareCall {
  const options = Object.fromEntries(
    Object.entries(verb.options).map(([name, kind]) => [
      name,
      {
        type: kind === 'flag' ? ('boolean' as const) : ('string' as const),
        multiple: kind === 'texts',
      },
    ]),
  )
  try {
    const args = terminal.arguments.slice(1)
    const { values, positionals } = parseArgs({
      args,
      options,
      allowPositionals: true,
      strict: true,
    })
    if (positionals.length > verb.wordsMax) throw new Error('too many words')
    const textsOf = (name: string): readonly string[] =>
      [values[name]].flat().filter((value) => typeof value === 'string')
    return {
      terminal,
      words: positionals,
      text: (name) => textsOf(name)[0],
      texts: textsOf,
      has: (name) => values[name] === true,
    }
  } catch (cause) {
    throw new BadUsage(`Usage: care ${verb.name} ${verb.usage}`.trimEnd(), { cause })
  }
}

/** Runs one command line and returns its exit code. Bugs throw. */
export async function runCare(terminal: CareTerminal): Promise<ExitCode> {
  const [name] = terminal.arguments
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    for (const line of usage()) terminal.print(line)
    return name === undefined ? EXIT.usage : EXIT.done
  }
  const verb = verbs.find((candidate) => candidate.name === name)
  if (verb === undefined) {
    const names = verbs.map((one) => one.name).join(', ')
    terminal.printError(`There is no such verb. The verbs are: ${names}.`)
    return EXIT.usage
  }
  try {
    return await verb.run(readCall(verb, terminal))
  } catch (error) {
    const isRefusal =
      error instanceof RecordStoreUnavailable || error instanceof AuditTrailUnavailable
    if (!isRefusal && !(error instanceof BadUsage)) throw error
    terminal.printError(error.message)
    return isRefusal ? EXIT.failed : EXIT.usage
  }
}
