// From an argument list to a verb and an exit code. Nothing here knows a verb; `verbs.ts` is the table.
import { parseArgs } from 'node:util'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import {
  BadUsage,
  EXIT,
  type ExitCode,
  type GradingCall,
  type GradingTerminal,
  type GradingVerb,
} from './grading-verb.ts'
import { verbs } from './verbs.ts'

function usage(): readonly string[] {
  return [
    'grading: the bet-grading ledger’s command',
    '',
    ...verbs.flatMap((verb) => [
      `  grading ${verb.name} ${verb.usage}`.trimEnd(),
      `      ${verb.summary}`,
    ]),
    '',
    'Reads the service’s environment: DATABASE_PATH, BASE_URL, TOKEN_SECRET (or TOKEN_SECRET_FILE).',
    'Exit codes: 0 done or intact; 1 broken, refused or out of reach; 2 bad argument, variable or input.',
  ]
}

function readCall(verb: GradingVerb, terminal: GradingTerminal): GradingCall {
  const options = Object.fromEntries(
    Object.entries(verb.options).map(([name, kind]) => [
      name,
      { type: kind === 'flag' ? ('boolean' as const) : ('string' as const) },
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
    return {
      terminal,
      words: positionals,
      text: (name) => {
        const value = values[name]
        return typeof value === 'string' ? value : undefined
      },
      has: (name) => values[name] === true,
    }
  } catch (cause) {
    throw new BadUsage(`Usage: grading ${verb.name} ${verb.usage}`.trimEnd(), { cause })
  }
}

/** Runs one command line and returns its exit code. Bugs throw. */
export async function runGrading(terminal: GradingTerminal): Promise<ExitCode> {
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
    const isRefusal = error instanceof GradingStoreUnavailable
    if (!isRefusal && !(error instanceof BadUsage)) throw error
    terminal.printError(error.message)
    return isRefusal ? EXIT.failed : EXIT.usage
  }
}
