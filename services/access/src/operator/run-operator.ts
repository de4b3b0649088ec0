// From an argument list to a verb and an exit code. Nothing here knows a verb; `verbs.ts` is the table.
import { parseArgs } from 'node:util'
import type { Clock, Environment } from '@tallystick/service-kit'
import {
  FacilitatorUnavailable,
  LedgerUnavailable as MirrorNodeUnavailable,
} from '@tallystick/x402'
import { ChainUnavailable, ContractAbsent } from '../domain/access-contract.ts'
import { MirrorUnavailable } from '../domain/payment-log.ts'
import { readOperatorConfig } from './operator-config.ts'
import { LedgerUnavailable, reasonOf, TransactionReverted } from './operator-ledger.ts'
import { BadUsage, OperatorRefusal, type OperatorVerb } from './operator-verb.ts'
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

/** Whether a text may be a private key: 64 hexadecimal digits in a row, or its DER prefix. No verb takes such a text. */
function looksLikeKey(text: string): boolean {
  return /[0-9a-f]{64}/i.test(text) || /30(2e|30|54|77)0201/i.test(text)
}

const KEY_REFUSAL =
  'One argument looks like a private key. Keys come from the environment (OWNER_KEY or OWNER_KEY_FILE), where other users of this machine do not see them. If it is a real key, replace it: your shell may have kept this line.'

function usage(): readonly string[] {
  return [
    'access-operator: the seller’s side of the access contract',
    '',
    ...verbs.flatMap((verb) => [`  ${verb.name} ${verb.usage}`.trimEnd(), `      ${verb.summary}`]),
    '',
    'Keys and addresses come from the environment: OWNER_KEY, PAY_TO_KEY, RECORDER_KEY (or',
    'OWNER_KEY_FILE, …), ACCESS_CONTRACT, PAY_TO, PERIODS_PER_PURCHASE, NETWORK, LEDGER_RPC_URL,',
    'LEDGER_CHAIN_ID, MIRROR_URL, FACILITATOR_URL.',
    'Exit codes: 0 done, 1 refused or a dependency is down, 2 bad argument or variable.',
  ]
}

type Arguments = {
  readonly words: readonly string[]
  readonly options: Readonly<Record<string, string | boolean | undefined>>
}

/** Parses the arguments after the verb. Throws BadUsage. */
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
    throw new BadUsage(`Usage: access-operator ${verb.name} ${verb.usage}`, { cause })
  }
}

/** What a person can do something about; anything else is a bug and throws. */
function expectedFailure(error: unknown): string | undefined {
  const isExpected =
    error instanceof OperatorRefusal ||
    error instanceof LedgerUnavailable ||
    error instanceof TransactionReverted ||
    error instanceof FacilitatorUnavailable ||
    error instanceof MirrorUnavailable ||
    error instanceof MirrorNodeUnavailable ||
    error instanceof ChainUnavailable ||
    error instanceof ContractAbsent
  if (!isExpected) return undefined
  // messages of this folder are whole; those of the service's adapters leave the reason to their cause
  const isWhole =
    error instanceof OperatorRefusal ||
    error instanceof LedgerUnavailable ||
    error instanceof TransactionReverted
  return isWhole || error.cause === undefined
    ? error.message
    : `${error.message} (${reasonOf(error.cause)})`
}

async function runVerb(verb: OperatorVerb, run: OperatorRun): Promise<number> {
  try {
    const parsed = readArguments(verb, run.arguments.slice(1))
    const needs = typeof verb.needs === 'function' ? verb.needs(parsed.words) : verb.needs
    const reading = readOperatorConfig(run.environment, needs)
    if (reading.kind === 'invalid') throw new BadUsage(reading.message)
    await verb.run({ config: reading.config, clock: run.clock, print: run.print, ...parsed })
    return EXIT.done
  } catch (error) {
    const message = error instanceof BadUsage ? error.message : expectedFailure(error)
    if (message === undefined) throw error
    run.printError(message)
    return error instanceof BadUsage ? EXIT.usage : EXIT.failed
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
    run.printError(
      `There is no such verb. The verbs are: ${verbs.map((one) => one.name).join(', ')}.`,
    )
    return EXIT.usage
  }
  return await runVerb(verb, run)
}
