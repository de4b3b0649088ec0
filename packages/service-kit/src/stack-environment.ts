/** The variables of a service of the local stack that `npm start` runs, for a command that is typed beside it (S15). */
import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'

/** `npm start` describes its stack there, from the folder in which it runs. */
export const LOCAL_STACK_FILE = '.local/stack.json'

/** This much of the file that describes the stack is for commands. */
const StackFile = z.object({
  process: z.object({ pid: z.number() }),
  environments: z.record(z.string(), z.record(z.string(), z.string())),
})

type Environment = Readonly<Record<string, string | undefined>>

/** Which of the stack's services a command is for, and the variables that it reads. */
export type StackUser = { readonly service: string; readonly variables: readonly string[] }

type StackReading =
  | {
      readonly kind: 'environment'
      readonly environment: Environment
      /** Which stack is used, or why it is not; undefined where there is none. */
      readonly sentence?: string
    }
  /** A stack that was named cannot be used. */
  | { readonly kind: 'refused'; readonly sentence: string }

/** Set for other programs, too, and read by no command. */
const NOT_OF_COMMANDS: ReadonlySet<string> = new Set(['HOST', 'PORT', 'LOG_LEVEL'])

/** Whether a process is running. A zombie, ended but not reaped by its parent, is not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const stat = `/proc/${pid}/stat` // on Linux; elsewhere signal 0 must do
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'))
}

function readStack(file: string): z.output<typeof StackFile> | undefined {
  try {
    return StackFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}

/**
 * The environment of a command: its own, and for what is not set there that of the stack that `named` describes. A stack that is
 * only `found` is used whole or not at all, so that no command mixes it with a place that somebody has set.
 */
export function readStackEnvironment(
  { service, variables }: StackUser,
  at: {
    readonly environment: Environment
    readonly named: string | undefined
    readonly found: string | undefined
  },
): StackReading {
  const { environment, found, named } = at
  const file = named ?? found
  if (file === undefined || (named === undefined && !existsSync(file)))
    return { kind: 'environment', environment }
  const aside = (why: string): StackReading =>
    named === undefined
      ? { kind: 'environment', environment, sentence: `The stack of ${file} is left aside: ${why}` }
      : { kind: 'refused', sentence: `--stack ${file}: ${why}` }
  const stack = readStack(file)
  if (stack === undefined) return aside('the file describes none; npm start writes one.')
  if (!isRunning(stack.process.pid)) return aside('it does not run any more; npm start starts one.')
  const variablesOfStack = stack.environments[service] ?? {}
  const isSet = (name: string): boolean =>
    Boolean(environment[name]) || Boolean(environment[`${name}_FILE`])
  const set = [...Object.keys(variablesOfStack), ...variables].find(
    (name) => isSet(name) && !NOT_OF_COMMANDS.has(name),
  )
  if (named === undefined && set !== undefined)
    return aside(`${set} is set; with --stack ${file} it gives the other variables.`)
  const unset = Object.entries(variablesOfStack).filter(([name]) => !isSet(name))
  return {
    kind: 'environment',
    environment: { ...environment, ...Object.fromEntries(unset) },
    sentence: `On the stack of ${file}.`,
  }
}
