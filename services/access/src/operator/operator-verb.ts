import type { Clock } from '@tallystick/service-kit'
import { type CommandCall, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { type NeededVariable, type OperatorConfig, readOperatorConfig } from './operator-config.ts'

/** What a verb is called with. */
export type OperatorCall = Pick<CommandCall, 'words' | 'text' | 'has'> & {
  readonly config: OperatorConfig
  readonly clock: Clock
  /** Prints one line for a person. */
  readonly print: (line: string) => void
}

/** One verb of the command; what is not said here is as in any command. */
export type OperatorVerb = Omit<CommandVerb, 'run'> & {
  /** Variables that must be set, beyond those with a default. */
  readonly needs:
    | readonly NeededVariable[]
    | ((words: readonly string[]) => readonly NeededVariable[])
  /** Does it. Throws BadUsage before anything is tried, OperatorRefusal where a person has to act first. */
  run(call: OperatorCall): Promise<void>
}

/** The verb as the runner of commands takes it: it reads what the verb needs of the environment first. */
export function operatorVerb(verb: OperatorVerb): CommandVerb {
  return {
    ...verb,
    async run({ terminal, words, text, has }) {
      const needed = typeof verb.needs === 'function' ? verb.needs(words) : verb.needs
      const config = readOperatorConfig(terminal.environment, needed)
      await verb.run({ config, words, text, has, clock: terminal.clock, print: terminal.print })
      return EXIT.done
    },
  }
}

/** A state in which the verb makes no sense, or a refusal of the contract: the operator has to act first. */
export class OperatorRefusal extends Error {
  override readonly name = 'OperatorRefusal'
}
