import type { Clock, Environment } from '@tallystick/service-kit'

/** Where a command reads and writes; a test brings its own. */
export type GradingTerminal = {
  readonly arguments: readonly string[]
  readonly environment: Environment
  readonly clock: Clock
  readonly stdin: AsyncIterable<Uint8Array>
  readonly print: (line: string) => void
  readonly printError: (line: string) => void
  /** Rewrites one line of progress on a terminal; undefined where nobody watches. */
  readonly progress?: (line: string) => void
}

/** Exit codes of `grading`. */
export const EXIT = {
  /** Done; for `verify`: everything holds. */
  done: 0,
  /** `verify`: something does not hold. Otherwise: the ledger refused or could not be reached. */
  failed: 1,
  /** A bad argument, variable or input file; nothing was tried. */
  usage: 2,
} as const

/** One of `EXIT`. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** One call of a verb, its arguments read. */
export type GradingCall = {
  readonly terminal: GradingTerminal
  readonly words: readonly string[]
  readonly text: (name: string) => string | undefined
  readonly has: (name: string) => boolean
}

/** One verb of the command. */
export type GradingVerb = {
  readonly name: string
  /** What follows the name. */
  readonly usage: string
  readonly summary: string
  readonly options: Readonly<Record<string, 'text' | 'flag'>>
  readonly wordsMax: number
  run(call: GradingCall): Promise<ExitCode>
}

/** Bad arguments, variables or input: nothing was tried. The text never repeats a secret. */
export class BadUsage extends Error {
  override readonly name = 'BadUsage'
}
