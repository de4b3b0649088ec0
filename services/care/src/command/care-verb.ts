import type { Clock, Environment } from '@tallystick/service-kit'

/** Where a command reads and writes; a test brings its own. */
export type CareTerminal = {
  readonly arguments: readonly string[]
  readonly environment: Environment
  readonly clock: Clock
  readonly stdin: AsyncIterable<Uint8Array>
  readonly print: (line: string) => void
  readonly printError: (line: string) => void
}

/** Exit codes of `care`. */
export const EXIT = {
  /** Done; for `verify`: everything holds. */
  done: 0,
  /** `verify`: something does not hold. Otherwise: the store refused or could not be reached. */
  failed: 1,
  /** A bad argument, variable or input file; nothing was tried. */
  usage: 2,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** One call of a verb, its arguments read. */
export type CareCall = {
  readonly terminal: CareTerminal
  readonly words: readonly string[]
  readonly text: (name: string) => string | undefined
  readonly texts: (name: string) => readonly string[]
  readonly has: (name: string) => boolean
}

/** One verb of the command. */
export type CareVerb = {
  readonly name: string
  /** What follows the name. */
  readonly usage: string
  readonly summary: string
  readonly options: Readonly<Record<string, 'text' | 'texts' | 'flag'>>
  readonly wordsMax: number
  run(call: CareCall): Promise<ExitCode>
}

/** Bad arguments, variables or input: nothing was tried. The text never repeats a secret. */
export class BadUsage extends Error {
  override readonly name = 'BadUsage'
}
