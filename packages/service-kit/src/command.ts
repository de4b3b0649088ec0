/**
 * A service's command-line tool: a table of verbs, and the way from an argument list to an exit code. Nothing here knows
 * a verb; each command has its own table.
 */
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { type Clock, DAY_SECONDS, systemClock } from './clock.ts'
import { configMessage, type Environment, readConfig, slipSentence } from './config.ts'
import { LOCAL_STACK_FILE, readStackEnvironment, type StackUser } from './stack-environment.ts'
import { isSlip } from './variable-slips.ts'

/** Where a command reads and writes; a test brings its own. */
export type CommandTerminal = {
  readonly arguments: readonly string[]
  readonly environment: Environment
  /** A local stack is described there, if one runs. */
  readonly stackFile?: string | undefined
  readonly clock: Clock
  readonly stdin: AsyncIterable<Uint8Array>
  readonly print: (line: string) => void
  readonly printError: (line: string) => void
  /** Rewrites one line of progress; undefined if nobody is watching. */
  readonly progress?: ((line: string) => void) | undefined
}

/** Exit codes shared by every command. */
export const EXIT = {
  /** Done; if something was checked, it holds. */
  done: 0,
  /** The check failed, or the verb's target refused or could not be reached. */
  failed: 1,
  /** A bad argument, variable or input; nothing was attempted. */
  usage: 2,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** One call of a verb, with its arguments read. */
export type CommandCall = {
  readonly terminal: CommandTerminal
  /** Positional arguments, without the verb's name. */
  readonly words: readonly string[]
  /** The value of an option; undefined if it was not given. */
  readonly text: (name: string) => string | undefined
  /** All values of a repeatable option. */
  readonly texts: (name: string) => readonly string[]
  /** Whether a flag was given. */
  readonly has: (name: string) => boolean
  /** Whether `--json` was given. */
  readonly isJson: boolean
  /** Prints the members that the verb promises, amounts of money as strings; one that is undefined is left out. */
  readonly printJson: (value: object) => void
}

/** What `--json` prints. Behind its name, a member may list its own in brackets. */
type JsonForm = {
  readonly prints: 'one document' | 'one line for each'
  readonly members: readonly string[]
}

/** `Code` is what it may exit with. */
export type CommandVerb<Code extends number = ExitCode> = {
  readonly name: string
  /** Follows the name, e.g. `--sub NAME`; absent, nothing does. */
  readonly usage?: string
  /** One line for the list of verbs. */
  readonly summary: string
  /** A call that works, as typed behind the command's name: `erase care://ann/plan --by dr-osei --reason "asked to"`. */
  readonly example: string
  readonly options?: Readonly<Record<string, 'text' | 'texts' | 'flag'>>
  /** Absent, it takes none. */
  readonly wordsMax?: number
  /** Of a verb that reads: what its flag `--json` prints. */
  readonly json?: JsonForm
  run(call: CommandCall): Promise<Code>
}

/** Bad arguments, variables or input; nothing was attempted. The message never repeats a secret. */
export class BadUsage extends Error {
  override readonly name = 'BadUsage'
}

/** A file could not be written; the message is for the operator. */
class OutputFailed extends Error {
  override readonly name = 'OutputFailed'
}

type Command<Code extends number = number> = {
  /** A person types this, e.g. `care`. */
  readonly name: string
  /** The first line of the help, after the name. */
  readonly title: string
  /** Listed by the help in this order. */
  readonly verbs: readonly CommandVerb<Code>[]
  /** The last lines of the help: variables and exit codes. */
  readonly notes: readonly string[]
  /** Explains an error that a person can act on; undefined for a bug. */
  readonly explainRefusal: (error: unknown) => string | undefined
  /** Where the command is for a service that a local stack runs: `--stack FILE` names the stack. */
  readonly stack?: StackUser
}

const STACK_HELP =
  '--stack FILE, with any verb: the variables of a stack that npm start runs. .local/stack.json is found without it, unless a variable is set.'

/** All packages have one version. */
export const readVersion = (): string =>
  packageFile.parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')))
    .version
const packageFile = z.object({ version: z.string() })

/** How a person asks for help. */
export const HELP = ['help', '--help', '-h']

const usageLine = ({ name }: Command, verb: CommandVerb<number>): string =>
  [name, verb.name, verb.usage, verb.json && '[--json]'].filter(Boolean).join(' ')

function help(command: Command): readonly string[] {
  const { name, title, verbs, notes, stack } = command
  return [
    `${name}: ${title}`,
    '',
    ...verbs.flatMap((verb) => [`  ${usageLine(command, verb)}`, `      ${verb.summary}`]),
    '',
    ...notes,
    ...(stack === undefined ? [] : [STACK_HELP]),
    `An example of each: ${name} VERB --help.`,
  ]
}

const verbHelp = (command: Command, verb: CommandVerb<number>): readonly string[] => [
  `Usage: ${usageLine(command, verb)}`,
  `  ${verb.summary}`,
  '',
  `Example: ${command.name} ${verb.example}`,
  ...(verb.json === undefined
    ? []
    : [`With --json ${verb.json.prints}: ${verb.json.members.join(', ')}.`]),
  ...(command.stack === undefined ? [] : [STACK_HELP]),
]

/** Few names of verbs or options are known at once, so that short ones may be meant too. */
const NAME_LETTERS_MIN = 3

/** Names the verb or option that was probably meant, if any: a slip away, or begun alike. */
function didYouMean(typed: string, known: readonly string[]): string {
  const meant =
    known.find((name) => isSlip(typed, name, NAME_LETTERS_MIN)) ??
    known.find((name) => name.startsWith(typed))
  return meant === undefined ? '' : ` Did you mean ${meant}?`
}

// No option has a short form, and a key's id may begin with a dash: such an argument is a word or a value.
const DASH_MARK = '\0'
const markDash = (argument: string): string =>
  /^-[^-]/.test(argument) ? `${DASH_MARK}${argument}` : argument
const unmarkDash = (argument: string): string =>
  argument.startsWith(DASH_MARK) ? argument.slice(DASH_MARK.length) : argument

type Options = NonNullable<CommandVerb['options']>

/** The verb's own options, and those that it has like others. */
const allOptions = ({ stack }: Command, { json, options }: CommandVerb<number>): Options => ({
  ...options,
  ...(json && { json: 'flag' }),
  ...(stack && { stack: 'text' }),
})

/** Names an option of a command line that there is not, without its value, and the one that was meant; empty for any other fault. */
export function explainUnknownOption(options: object, list: readonly string[]): string {
  const names = list.flatMap((argument) => /^--([a-z][a-z0-9-]*)/.exec(argument)?.[1] ?? [])
  const unknown = names.find((name) => !Object.hasOwn(options, name))
  if (unknown === undefined) return ''
  const meant = didYouMean(unknown, Object.keys(options)).replace('mean ', 'mean --')
  return `There is no --${unknown}.${meant} `
}

/** The terminal with the variables of the local stack, which is looked for once a verb reads any. */
function onStack(
  { stack }: Command,
  terminal: CommandTerminal,
  named: string | undefined,
): CommandTerminal {
  if (stack === undefined) return terminal
  const { stackFile: found } = terminal
  let environment: Environment | undefined
  const read = (): Environment => {
    const reading = readStackEnvironment(stack, { ...terminal, found, named })
    if (reading.kind === 'refused') throw new BadUsage(reading.sentence)
    if (reading.sentence !== undefined) terminal.printError(reading.sentence)
    return reading.environment
  }
  return {
    ...terminal,
    get environment() {
      return (environment ??= read())
    },
  }
}

/** Of a verb that never prints any. */
const NO_JSON: JsonForm = { prints: 'one document', members: [] }

function jsonText({ members }: JsonForm, value: object): string {
  const known: Readonly<Record<string, unknown>> = { ...value }
  const picked = members
    .map((member) => member.split(' ')[0] ?? '')
    .map((name) => [name, known[name]])
  return JSON.stringify(Object.fromEntries(picked), (_, each: unknown) =>
    typeof each === 'bigint' ? String(each) : each,
  )
}

/** Reads the arguments after the verb. Throws BadUsage, whose message never repeats a value. */
function readCall(
  command: Command,
  verb: CommandVerb<number>,
  terminal: CommandTerminal,
): CommandCall {
  const { json, wordsMax = 0 } = verb
  const known = allOptions(command, verb)
  const options = Object.fromEntries(
    Object.entries(known).map(([name, kind]) => [
      name,
      {
        type: kind === 'flag' ? ('boolean' as const) : ('string' as const),
        multiple: kind === 'texts',
      },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({
      args: terminal.arguments.slice(1).map(markDash),
      options,
      allowPositionals: true,
      strict: true,
    })
    if (positionals.length > wordsMax) throw new Error('too many words')
    const readTexts = (name: string): readonly string[] =>
      [values[name]].flat().flatMap((value) => (typeof value === 'string' ? unmarkDash(value) : []))
    return {
      terminal: onStack(command, terminal, readTexts('stack')[0]),
      words: positionals.map(unmarkDash),
      text: (name) => readTexts(name)[0],
      texts: readTexts,
      has: (name) => values[name] === true,
      isJson: values['json'] === true,
      printJson: (value) => terminal.print(jsonText(json ?? NO_JSON, value)),
    }
  } catch (cause) {
    const unknown = explainUnknownOption(known, terminal.arguments.slice(1))
    throw new BadUsage(`${unknown}Usage: ${usageLine(command, verb)}`, { cause })
  }
}

/** Runs one command line and returns its exit code. Bugs throw. */
export async function runCommand<Code extends number = ExitCode>(
  command: Command<Code>,
  terminal: CommandTerminal,
): Promise<Code | ExitCode> {
  const [name, ...others] = terminal.arguments
  if (name === undefined || HELP.includes(name)) {
    for (const line of help(command)) terminal.print(line)
    return name === undefined ? EXIT.usage : EXIT.done
  }
  if (name === '--version') {
    terminal.print(`${command.name} ${readVersion()}`)
    return EXIT.done
  }
  const verb = command.verbs.find((candidate) => candidate.name === name)
  if (verb === undefined) {
    const names = command.verbs.map((each) => each.name)
    const meant = didYouMean(name, names)
    terminal.printError(`There is no such verb.${meant} The verbs are: ${names.join(', ')}.`)
    return EXIT.usage
  }
  if (others.some((argument) => HELP.slice(1).includes(argument))) {
    for (const line of verbHelp(command, verb)) terminal.print(line)
    return EXIT.done
  }
  try {
    return await verb.run(readCall(command, verb, terminal))
  } catch (error) {
    const isUsage = error instanceof BadUsage
    const isTold = isUsage || error instanceof OutputFailed
    const message = isTold ? error.message : command.explainRefusal(error)
    if (message === undefined) throw error
    terminal.printError(message)
    return isUsage ? EXIT.usage : EXIT.failed
  }
}

/**
 * Lines of a file, or of standard input for `-`, without their ends. Only LF ends a line: `node:readline` would also split at
 * U+2028 and U+2029, which JSON may contain unescaped. Throws BadUsage for a file that cannot be read.
 */
export async function* inputLines(terminal: CommandTerminal, file: string): AsyncIterable<string> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const bytes of file === '-' ? terminal.stdin : createReadStream(file)) {
      const text = decoder.decode(bytes, { stream: true })
      const end = text.lastIndexOf('\n')
      if (end >= 0) yield* (rest + text.slice(0, end)).split('\n')
      rest = end < 0 ? rest + text : text.slice(end + 1)
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error)
      throw new BadUsage(`${file} cannot be read.`, { cause: error })
    throw error
  }
  rest += decoder.decode()
  if (rest !== '') yield rest
}

/** Its owner alone reads it: an export holds values in the clear, or prices that may not be passed on. */
const OUTPUT_MODE = 0o600

/**
 * Writes lines to standard output, or into the new file that `--output` names. The file gets its name once it is whole and on
 * the disk; a command that is killed leaves `FILE.PID.part`. Throws BadUsage for a file that exists or cannot be made.
 */
export async function writeOutput(call: CommandCall, lines: AsyncIterable<string>): Promise<void> {
  const path = call.text('output')
  if (path === undefined) {
    for await (const line of lines) call.terminal.print(line)
    return
  }
  if (existsSync(path)) throw new BadUsage(`${path} exists already; an export overwrites nothing.`)
  const draft = `${path}.${process.pid}.part`
  const file = await open(draft, 'w', OUTPUT_MODE).catch((cause: unknown) => {
    throw new BadUsage(`${path} cannot be created.`, { cause })
  })
  try {
    await pipeline(
      async function* () {
        for await (const line of lines) yield `${line}\n`
      },
      file.createWriteStream({ flush: true }),
    )
    await rename(draft, path)
    await using folder = await open(dirname(path))
    await folder.sync()
  } catch (error) {
    await rm(draft, { force: true })
    const isOfFile = error instanceof Error && 'syscall' in error
    throw isOfFile
      ? new OutputFailed(`${path} could not be written: ${error.message}`, { cause: error })
      : error
  }
}

/** The terminal of this process; the command's entry file passes `process`. */
export function processTerminal(owner: NodeJS.Process): CommandTerminal {
  const { argv, env, stdin, stdout, stderr } = owner
  // A reader that closes the pipe, such as `head`, ends the command without an error.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') owner.exit(0)
    throw error
  })
  return {
    arguments: argv.slice(2),
    environment: env,
    stackFile: LOCAL_STACK_FILE,
    clock: systemClock,
    stdin,
    print: (line) => stdout.write(`${line}\n`),
    printError: (line) => stderr.write(`${line}\n`),
    progress: stderr.isTTY ? (line) => void stderr.write(`\r\u001b[K${line}`) : undefined,
  }
}

/** Reads the variables that a verb needs, and warns of slips in their names. Throws BadUsage naming every bad one. */
export function readVariables<Schema extends z.ZodObject>(
  { environment, printError }: CommandTerminal,
  schema: Schema,
): z.output<Schema> {
  const reading = readConfig(schema, environment)
  if (reading.kind === 'invalid') throw new BadUsage(configMessage(reading.problems))
  for (const slip of reading.slips) printError(slipSentence(slip))
  return reading.config
}

/** A token that lasts longer is as good as a key, and keys are rotated once a year. */
const LIFETIME_SECONDS_MAX = 365 * DAY_SECONDS

/** The value of `--lifetime-seconds`, from 1 second to a year; `fallbackSeconds` if absent. Throws BadUsage. */
export function lifetimeOption(call: CommandCall, fallbackSeconds: number): number {
  const text = call.text('lifetime-seconds')
  const seconds = text === undefined ? fallbackSeconds : Number(text)
  if (!Number.isSafeInteger(seconds) || seconds < 1 || seconds > LIFETIME_SECONDS_MAX)
    throw new BadUsage('--lifetime-seconds takes a whole number, at most a year.')
  return seconds
}
