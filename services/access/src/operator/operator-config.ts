import {
  type ConfigProblem,
  configMessage,
  type Environment,
  httpUrlField,
  integerField,
  readConfig,
  Secret,
  textField,
  withFieldMeta,
} from '@tallystick/service-kit'
import type { Address, Hex } from 'viem'
import { z } from 'zod'

const KEY_EXPECTED = 'an ECDSA secp256k1 key: 64 hexadecimal digits'

function keyField(owner: string) {
  const field = z
    .string()
    .regex(/^(0x)?[0-9a-fA-F]{64}$/, KEY_EXPECTED)
    .transform((text) => new Secret(text))
  return withFieldMeta(field, { expected: KEY_EXPECTED, isSecret: true }).optional().describe(owner)
}

function patternField(pattern: RegExp, expected: string) {
  return withFieldMeta(z.string().regex(pattern, expected), { expected })
}

/** The environment of `access-operator`: the service's own names, and the owner's key. */
export const OperatorEnvironment = z.object({
  LEDGER_RPC_URL: httpUrlField()
    .prefault('http://127.0.0.1:7546')
    .describe('JSON-RPC endpoint of the ledger.'),
  LEDGER_CHAIN_ID: integerField({ min: 1, max: 2 ** 31 })
    .prefault('296')
    .describe('Chain id of the ledger; 296 is Hedera testnet.'),
  MIRROR_URL: httpUrlField()
    .prefault('http://127.0.0.1:5551')
    .describe('REST endpoint of the mirror node.'),
  FACILITATOR_URL: httpUrlField()
    .prefault('http://127.0.0.1:4020')
    .describe('x402 facilitator; it submits refunds.'),
  NETWORK: textField('a CAIP-2 network').prefault('hedera:testnet').describe('x402 network.'),
  PERIODS_PER_PURCHASE: integerField({ min: 1, max: 1_000 })
    .prefault('4')
    .describe('Periods that one payment buys.'),
  ACCESS_CONTRACT: patternField(/^0x[0-9a-fA-F]{40}$/, 'an EVM address')
    .optional()
    .describe('The access contract.'),
  PAY_TO: patternField(/^0\.0\.\d{1,19}$/, 'an account id 0.0.x')
    .optional()
    .describe('Account that payments go to and that forwards them.'),
  OWNER_KEY: keyField('Key of the owner of the contract.'),
  PAY_TO_KEY: keyField('Key of PAY_TO.'),
  RECORDER_KEY: keyField('Key of a recorder.'),
})

/** Parsed environment of the command. */
export type OperatorConfig = z.output<typeof OperatorEnvironment>

/** Variables that a verb may ask for. */
export type NeededVariable =
  | 'ACCESS_CONTRACT'
  | 'PAY_TO'
  | 'OWNER_KEY'
  | 'PAY_TO_KEY'
  | 'RECORDER_KEY'

export type OperatorConfigReading =
  | { readonly kind: 'valid'; readonly config: OperatorConfig }
  | { readonly kind: 'invalid'; readonly message: string }

/** Reads the environment for one verb; every bad or missing variable is in one message, never a value (S3). */
export function readOperatorConfig(
  environment: Environment,
  needs: readonly NeededVariable[],
): OperatorConfigReading {
  const reading = readConfig(OperatorEnvironment, environment)
  const problems: ConfigProblem[] = reading.kind === 'invalid' ? [...reading.problems] : []
  for (const variable of needs) {
    const isSet = Boolean(environment[variable]) || Boolean(environment[`${variable}_FILE`])
    if (isSet) continue
    const expected = `${OperatorEnvironment.shape[variable].description ?? ''} It is not set`
    problems.push({ variable, expected: expected.trim() })
  }
  return reading.kind === 'valid' && problems.length === 0
    ? { kind: 'valid', config: reading.config }
    : { kind: 'invalid', message: configMessage(problems) }
}

/** A key as the ledger's libraries take it. Throws if the verb did not ask for the variable. */
export function keyOf(
  config: OperatorConfig,
  variable: 'OWNER_KEY' | 'PAY_TO_KEY' | 'RECORDER_KEY',
): Hex {
  const secret = config[variable]
  if (secret === undefined) throw new Error(`${variable} was not asked for`)
  return `0x${secret.reveal().replace(/^0x/, '')}`
}

/** The contract's address. Throws if the verb did not ask for the variable. */
export function contractOf(config: OperatorConfig): Address {
  if (config.ACCESS_CONTRACT === undefined) throw new Error('ACCESS_CONTRACT was not asked for')
  return config.ACCESS_CONTRACT as Address
}

/** The account that is paid. Throws if the verb did not ask for the variable. */
export function payToOf(config: OperatorConfig): string {
  if (config.PAY_TO === undefined) throw new Error('PAY_TO was not asked for')
  return config.PAY_TO
}
