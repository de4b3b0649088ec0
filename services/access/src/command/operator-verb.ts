import {
  type Clock,
  type ConfigProblem,
  configMessage,
  isVariableSet,
  readConfig,
  slipSentence,
} from '@tallystick/service-kit'
import {
  BadUsage,
  type CommandCall,
  type CommandTerminal,
  type CommandVerb,
  EXIT,
} from '@tallystick/service-kit/command'
import { parseHbar } from '@tallystick/x402/hedera'
import { isAddress } from 'viem'
import { z } from 'zod'
import { accessConfigSchema, ecdsaKey, keyText } from '../config.ts'

/** A verb is called with these. */
export type OperatorCall = Pick<CommandCall, 'words' | 'text' | 'has' | 'isJson' | 'printJson'> & {
  readonly config: OperatorConfig
  readonly clock: Clock
  /** Prints one line for a person. */
  readonly print: (line: string) => void
}

/** One verb of the command; defaults are those of any command. */
export type OperatorVerb = Omit<CommandVerb, 'run'> & {
  /** Variables that must be set, beyond those with a default. */
  readonly needs:
    | readonly NeededVariable[]
    | ((words: readonly string[]) => readonly NeededVariable[])
  /** Does it. Throws BadUsage before anything is tried, OperatorRefusal if a person has to act first. */
  run(call: OperatorCall): Promise<void>
}

/** The verb for the command runner: first reads what the verb needs from the environment. */
export function operatorVerb(verb: OperatorVerb): CommandVerb {
  return {
    ...verb,
    async run({ terminal, ...call }) {
      const { words } = call
      const needs = typeof verb.needs === 'function' ? verb.needs(words) : verb.needs
      const config = readOperatorConfig(terminal, needs)
      await verb.run({ ...call, config, clock: terminal.clock, print: terminal.print })
      return EXIT.done
    },
  }
}

/** Why a verb was not done, in words for the operator, who has to act: a refusal, or a ledger that does not answer. */
export class OperatorRefusal extends Error {
  override readonly name = 'OperatorRefusal'
}

const { shape } = accessConfigSchema

/** The environment of `access-operator`: the service's own variables, and the owner's key. */
const OperatorEnvironment = z.object({
  LEDGER_RPC_URL: shape.LEDGER_RPC_URL,
  LEDGER_CHAIN_ID: shape.LEDGER_CHAIN_ID,
  MIRROR_URL: shape.MIRROR_URL,
  FACILITATOR_URL: shape.FACILITATOR_URL,
  NETWORK: shape.NETWORK,
  PERIODS_PER_PURCHASE: shape.PERIODS_PER_PURCHASE,
  RECORDER_COUNT: shape.RECORDER_COUNT,
  ACCESS_CONTRACT: shape.ACCESS_CONTRACT,
  PREVIOUS_CONTRACTS: shape.PREVIOUS_CONTRACTS,
  PAY_TO: shape.PAY_TO.optional().describe('Account that payments go to.'),
  PAY_TO_KEY: shape.PAY_TO_KEY.optional().describe('Private key of PAY_TO.'),
  RECORDER_KEY: shape.RECORDER_KEY.optional().describe('Private key that records usage.'),
  ALERT_RESERVE_RENEWALS: shape.ALERT_RESERVE_RENEWALS,
  ALERT_RECORDER_HOURS: shape.ALERT_RECORDER_HOURS,
  ALERT_WITHDRAW_HBAR: shape.ALERT_WITHDRAW_HBAR,
  ALERT_REMINDER_HOURS: shape.ALERT_REMINDER_HOURS,
  OWNER_KEY: ecdsaKey().optional().describe('Private key of the owner of the contract.'),
})

/** The variables that the command reads. */
export const OPERATOR_VARIABLES = Object.keys(OperatorEnvironment.shape)

const NEEDED = {
  ACCESS_CONTRACT: 'the address of the access contract',
  PAY_TO: 'the account 0.0.x that payments go to',
  OWNER_KEY: `the owner's key: ${keyText}`,
  PAY_TO_KEY: `the key of PAY_TO: ${keyText}`,
} as const

export type OperatorConfig = z.output<typeof OperatorEnvironment>

type NeededVariable = keyof typeof NEEDED

/** Reads the environment for one verb. Throws BadUsage, naming every bad or missing variable, never a value (S3). */
function readOperatorConfig(
  { environment, printError }: CommandTerminal,
  needs: readonly NeededVariable[],
): OperatorConfig {
  const reading = readConfig(OperatorEnvironment, environment)
  const problems: ConfigProblem[] = reading.kind === 'invalid' ? [...reading.problems] : []
  for (const variable of needs) {
    if (isVariableSet(environment, variable)) continue
    problems.push({ variable, expected: `${NEEDED[variable]} (it is not set)` })
  }
  if (reading.kind === 'invalid' || problems.length > 0) throw new BadUsage(configMessage(problems))
  for (const slip of reading.slips) printError(slipSentence(slip))
  return reading.config
}

/** A variable that the verb named among its needs. */
export function needed<Name extends keyof OperatorConfig>(
  config: OperatorConfig,
  name: Name,
): NonNullable<OperatorConfig[Name]> {
  const value = config[name]
  if (value === undefined) throw new Error(`${name} is not among the verb's needs`)
  return value
}

/** An amount in HBAR as tinybar, or `undefined` if the option is left out. Throws BadUsage. */
export function hbarOption(call: OperatorCall, name: string): bigint | undefined {
  const text = call.text(name)
  if (text === undefined) return undefined
  const tinybar = parseHbar(text)
  if (tinybar === undefined)
    throw new BadUsage(`--${name} takes an amount in HBAR with at most 8 decimals.`)
  return tinybar
}

/** The same for an amount that must be there and above 0. */
export function neededHbarOption(call: OperatorCall, name: string): bigint {
  const tinybar = hbarOption(call, name)
  if (tinybar === undefined || tinybar === 0n)
    throw new BadUsage(`Say how much: --${name} with an amount in HBAR above 0.`)
  return tinybar
}

/** The contract keeps seconds and calls in 32 bits. */
const COUNT_MAX = 2 ** 32 - 1

/** A whole number from 1 to 2^32 − 1, or `undefined` if the option is left out. Throws BadUsage. */
export function countOption(call: OperatorCall, name: string): number | undefined {
  const text = call.text(name)
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,9}$/.test(text) || Number(text) > COUNT_MAX)
    throw new BadUsage(`--${name} takes a whole number from 1 to ${COUNT_MAX}.`)
  return Number(text)
}

/** An EVM address that was given as a word or option, in lower case: mixed case need not be its checksum. Throws BadUsage. */
export function addressFrom(text: string | undefined, what: string): `0x${string}` {
  const address = text?.toLowerCase()
  if (address === undefined || !isAddress(address))
    throw new BadUsage(`${what} is an EVM address, 0x and 40 hexadecimal digits.`)
  return address
}
