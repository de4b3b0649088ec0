// From an argument list to a verb and an exit code. Nothing here knows a verb; each command has its own table.
import { parseArgs } from 'node:util'
import {
  BadUsage,
  type CommandCall,
  type CommandTerminal,
  type CommandVerb,
  EXIT,
  type ExitCode,
} from './command-verb.ts'

export type Command = {
  /** What a person types, e.g. `care`. */
  readonly name: string
  /** The first line of the help, after the name. */
  readonly title: string
  /** In the order of the help. */
  readonly verbs: readonly CommandVerb[]
  /** The help's last lines: variables and exit codes. */
  readonly notes: readonly string[]
  /** What to print of an error that a person can do something about; undefined for a bug. */
  readonly refusalOf: (error: unknown) => string | undefined
}

function help({ name, title, verbs, notes }: Command): readonly string[] {
  return [
    `${name}: ${title}`,
    '',
    ...verbs.flatMap((verb) => [
      `  ${name} ${verb.name} ${verb.usage}`.trimEnd(),
      `      ${verb.summary}`,
    ]),
    '',
    ...notes,
  ]
}

/** Reads the arguments after the verb. Throws BadUsage; its text never repeats a value. */
function readCall(command: Command, verb: CommandVerb, terminal: CommandTerminal): CommandCall {
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
    const { values, positionals } = parseArgs({
      args: terminal.arguments.slice(1),
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
    throw new BadUsage(`Usage: ${command.name} ${verb.name} ${verb.usage}`.trimEnd(), { cause })
  }
}

/** Runs one command line and returns its exit code. Bugs throw. */
export async function runCommand(command: Command, terminal: CommandTerminal): Promise<ExitCode> {
  const [name] = terminal.arguments
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    for (const line of help(command)) terminal.print(line)
    return name === undefined ? EXIT.usage : EXIT.done
  }
  const verb = command.verbs.find((candidate) => candidate.name === name)
  if (verb === undefined) {
    const names = command.verbs.map((one) => one.name).join(', ')
    terminal.printError(`There is no such verb. The verbs are: ${names}.`)
    return EXIT.usage
  }
  try {
    return await verb.run(readCall(command, verb, terminal))
  } catch (error) {
    const isUsage = error instanceof BadUsage
    const message = isUsage ? error.message : command.refusalOf(error)
    if (message === undefined) throw error
    terminal.printError(message)
    return isUsage ? EXIT.usage : EXIT.failed
  }
}
