import {
  type ConfigProblem,
  configMessage,
  type Environment,
  readConfig,
} from '@tallystick/service-kit'
import { BadUsage } from '@tallystick/service-kit/command'
import type { Address, Hex } from 'viem'
import { z } from 'zod'
import { accessConfigSchema, ecdsaKey, keyHex, keyText } from '../config.ts'

const { shape } = accessConfigSchema

/** The environment of `access-operator`: the service's own variables, and the owner's key. */
export const OperatorEnvironment = z.object({
  LEDGER_RPC_URL: shape.LEDGER_RPC_URL,
  LEDGER_CHAIN_ID: shape.LEDGER_CHAIN_ID,
  MIRROR_URL: shape.MIRROR_URL,
  FACILITATOR_URL: shape.FACILITATOR_URL,
  NETWORK: shape.NETWORK,
  PERIODS_PER_PURCHASE: shape.PERIODS_PER_PURCHASE,
  ACCESS_CONTRACT: shape.ACCESS_CONTRACT,
  PAY_TO: shape.PAY_TO.optional().describe('Account that payments go to.'),
  PAY_TO_KEY: shape.PAY_TO_KEY.optional().describe('Private key of PAY_TO.'),
  RECORDER_KEY: shape.RECORDER_KEY.optional().describe('Private key that records usage.'),
  OWNER_KEY: ecdsaKey().optional().describe('Private key of the owner of the contract.'),
})

const NEEDED = {
  ACCESS_CONTRACT: 'the address of the access contract',
  PAY_TO: 'the account 0.0.x that payments go to',
  OWNER_KEY: `the owner's key: ${keyText}`,
  PAY_TO_KEY: `the key of PAY_TO: ${keyText}`,
} as const

/** Parsed environment of the command. */
export type OperatorConfig = z.output<typeof OperatorEnvironment>

/** Variables that a verb may ask for. */
export type NeededVariable = keyof typeof NEEDED

/** Reads the environment for one verb. Throws BadUsage, naming every bad or missing variable, never a value (S3). */
export function readOperatorConfig(
  environment: Environment,
  needs: readonly NeededVariable[],
): OperatorConfig {
  const reading = readConfig(OperatorEnvironment, environment)
  const problems: ConfigProblem[] = reading.kind === 'invalid' ? [...reading.problems] : []
  for (const variable of needs) {
    const isSet = Boolean(environment[variable]) || Boolean(environment[`${variable}_FILE`])
    if (isSet) continue
    problems.push({ variable, expected: `${NEEDED[variable]} (it is not set)` })
  }
  if (reading.kind === 'invalid' || problems.length > 0) throw new BadUsage(configMessage(problems))
  return reading.config
}

/** A key as the ledger's libraries take it. Throws if the verb did not ask for the variable. */
export function keyOf(
  config: OperatorConfig,
  variable: 'OWNER_KEY' | 'PAY_TO_KEY' | 'RECORDER_KEY',
): Hex {
  const secret = config[variable]
  if (secret === undefined) throw new Error(`${variable} was not asked for`)
  return keyHex(secret)
}

/** The contract's address. Throws if the verb did not ask for the variable. */
export function contractOf(config: OperatorConfig): Address {
  if (config.ACCESS_CONTRACT === undefined) throw new Error('ACCESS_CONTRACT was not asked for')
  return config.ACCESS_CONTRACT
}

/** The account that is paid. Throws if the verb did not ask for the variable. */
export function payToOf(config: OperatorConfig): string {
  if (config.PAY_TO === undefined) throw new Error('PAY_TO was not asked for')
  return config.PAY_TO
}
