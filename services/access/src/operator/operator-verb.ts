import type { Clock } from '@tallystick/service-kit'
import type { NeededVariable, OperatorConfig } from './operator-config.ts'

/** What a verb is called with. */
export type OperatorCall = {
  readonly config: OperatorConfig
  /** Arguments that are no options, the verb's own name left out. */
  readonly words: readonly string[]
  /** Options by name, without the dashes. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>
  readonly clock: Clock
  /** Prints one line for a person. */
  readonly print: (line: string) => void
}

/** One verb of the command. */
export type OperatorVerb = {
  readonly name: string
  /** What follows the name, e.g. `--hbar N`. */
  readonly usage: string
  /** One line for the list of verbs. */
  readonly summary: string
  readonly options: Readonly<Record<string, 'text' | 'switch'>>
  /** Variables that must be set, beyond those with a default. */
  readonly needs:
    | readonly NeededVariable[]
    | ((words: readonly string[]) => readonly NeededVariable[])
  /** Does it. Throws BadUsage before anything is tried, OperatorRefusal where a person has to act first. */
  run(call: OperatorCall): Promise<void>
}

/** A bad argument or variable: nothing was tried. Its text never repeats a value. */
export class BadUsage extends Error {
  override readonly name = 'BadUsage'
}

/** A state in which the verb makes no sense, or a refusal of the contract: the operator has to act first. */
export class OperatorRefusal extends Error {
  override readonly name = 'OperatorRefusal'
}
