import type { Clock } from '../clock.ts'
import type { Environment } from '../read-config.ts'

/** Where a command reads and writes; a test brings its own. */
export type CommandTerminal = {
  readonly arguments: readonly string[]
  readonly environment: Environment
  readonly clock: Clock
  readonly stdin: AsyncIterable<Uint8Array>
  readonly print: (line: string) => void
  readonly printError: (line: string) => void
  /** Rewrites one line of progress; undefined where nobody watches. */
  readonly progress?: ((line: string) => void) | undefined
}

/** Exit codes of every command. */
export const EXIT = {
  /** Done; where something was checked: it holds. */
  done: 0,
  /** What was checked does not hold, or what the verb works on refused or could not be reached. */
  failed: 1,
  /** A bad argument, variable or input; nothing was tried. */
  usage: 2,
} as const

/** One of `EXIT`. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** One call of a verb, its arguments read. */
export type CommandCall = {
  readonly terminal: CommandTerminal
  /** Arguments that are no options, the verb's own name left out. */
  readonly words: readonly string[]
  /** The value of an option; undefined where it was not given. */
  readonly text: (name: string) => string | undefined
  /** All values of an option that may be given more than once. */
  readonly texts: (name: string) => readonly string[]
  /** Whether a flag was given. */
  readonly has: (name: string) => boolean
}

/** One verb of a command. */
export type CommandVerb = {
  readonly name: string
  /** What follows the name, e.g. `--sub NAME`. */
  readonly usage: string
  /** One line for the list of verbs. */
  readonly summary: string
  readonly options: Readonly<Record<string, 'text' | 'texts' | 'flag'>>
  readonly wordsMax: number
  run(call: CommandCall): Promise<ExitCode>
}

/** Bad arguments, variables or input: nothing was tried. The text never repeats a secret. */
export class BadUsage extends Error {
  override readonly name = 'BadUsage'
}
