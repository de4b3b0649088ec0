// From an argument list to a verb and an exit code. Nothing here knows a verb; `verbs.ts` is the table.
import { parseArgs } from 'node:util'
import type { Clock, Environment } from '@tallystick/service-kit'
import { readOperatorConfig } from './operator-config.ts'
import { LedgerUnavailable, TransactionReverted } from './operator-ledger.ts'
import { OperatorRefusal, type OperatorVerb } from './operator-verb.ts'
import { verbs } from './verbs.ts'

/** Exit codes of the command. */
export const EXIT = {
  done: 0,
  /** The ledger, the mirror node or the facilitator is down, or the contract refuses. */
  failed: 1,
  /** A bad argument or environment variable; nothing was tried. */
  usage: 2,
} as const

export type OperatorRun = {
  readonly arguments: readonly string[]
  readonly environment: Environment
  readonly clock: Clock
  readonly print: (line: string) => void
  readonly printError: (line: string) => void
}

/** Whether a text may be a private key: 64 hexadecimal digits in a row, or a DER prefix of one. */
function looksLikeKey(text: string): boolean {
  return /[0-9a-f]{64}/i.test(text) || /30(2e|30|54|77)0201/i.test(text)
}

/** A transaction hash has 64 digits too, but no verb takes one. */
const KEY_REFUSAL =
  'One argument looks like a private key. Keys come from the environment (OWNER_KEY or OWNER_KEY_FILE), where other users of this machine do not see them. If it is a real key, replace it: your shell may have kept this line.'

function usage(): readonly string[] {
  const width = Math.max(...verbs.map(({ name, usage: rest }) => `${name} ${rest}`.length))
  return [
    'access-operator: the seller’s side of the access contract',
    '',
    ...verbs.map((verb) => `  ${`${verb.name} ${verb.usage}`.padEnd(width)}  ${verb.summary}`),
    '',
    'Keys and addresses come from the environment: OWNER_KEY, PAY_TO_KEY (or OWNER_KEY_FILE, …),',
    'ACCESS_CONTRACT, PAY_TO, LEDGER_RPC_URL, LEDGER_CHAIN_ID, MIRROR_URL, FACILITATOR_URL.',
    'Exit codes: 0 done, 1 refused or a dependency is down, 2 bad argument or variable.',
  ]
}

type Arguments = {
  readonly words: readonly string[]
  readonly options: Readonly<Record<string, string | boolean | undefined>>
}

/** Parses the arguments after the verb. Throws OperatorRefusal; its text never repeats a value. */
function readArguments(verb: OperatorVerb, list: readonly string[]): Arguments {
  const options = Object.fromEntries(
    Object.entries(verb.options).map(([name, kind]) => [
      name,
      { type: kind === 'text' ? ('string' as const) : ('boolean' as const) },
    ]),
  )
  try {
    const parsed = parseArgs({ args: [...list], options, allowPositionals: true, strict: true })
    return { words: parsed.positionals, options: { ...parsed.values } }
  } catch (cause) {
    throw new OperatorRefusal(`Usage: access-operator ${verb.name} ${verb.usage}`, { cause })
  }
}

async function runVerb(verb: OperatorVerb, run: OperatorRun): Promise<number> {
  const reading = readOperatorConfig(run.environment, verb.needs)
  if (reading.kind === 'invalid') {
    run.printError(reading.message)
    return EXIT.usage
  }
  let parsed: Arguments
  try {
    parsed = readArguments(verb, run.arguments.slice(1))
  } catch (error) {
    if (!(error instanceof OperatorRefusal)) throw error
    run.printError(error.message)
    return EXIT.usage
  }
  try {
    await verb.run({ config: reading.config, clock: run.clock, print: run.print, ...parsed })
    return EXIT.done
  } catch (error) {
    const isExpected =
      error instanceof OperatorRefusal ||
      error instanceof LedgerUnavailable ||
      error instanceof TransactionReverted
    if (!isExpected) throw error
    run.printError(error.message)
    return EXIT.failed
  }
}

/** Runs one command line and returns its exit code. Bugs throw. */
export async function runOperator(run: OperatorRun): Promise<number> {
  if (run.arguments.some(looksLikeKey)) {
    run.printError(KEY_REFUSAL)
    return EXIT.usage
  }
  const [name] = run.arguments
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    for (const line of usage()) run.print(line)
    return name === undefined ? EXIT.usage : EXIT.done
  }
  const verb = verbs.find((candidate) => candidate.name === name)
  if (verb === undefined) {
    run.printError(`There is no such verb. The verbs are: ${verbs.map((one) => one.name).join(', ')}.`)
    return EXIT.usage
  }
  return await runVerb(verb, run)
}
