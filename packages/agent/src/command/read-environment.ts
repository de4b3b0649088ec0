import { readFileSync } from 'node:fs'
import { readPrivateKey } from '@tallystick/x402/hedera'
import type { Hex } from 'viem'
import { z } from 'zod'
import { findSlips } from '../generated/variable-slips.ts'

/** The process environment, or what a test puts in its place. */
export type Environment = Readonly<Record<string, string | undefined>>

const KEY_EXPECTED = 'an ECDSA private key, 32 bytes or DER in hex'

/** Its 64 digits. Errors of libraries are not passed on, since they repeat the text. */
const privateKey = z.string().transform((text, context): Hex => {
  const key = readPrivateKey(text, { only: 'ecdsa' })
  if (key.kind === 'key') return `0x${key.hex}`
  context.addIssue({ code: 'custom', message: `${KEY_EXPECTED}; it is ${key.what}` })
  return z.NEVER
})

const httpUrl = z.url({ protocol: /^https?$/, error: 'an http or https URL' })

const AgentEnvironment = z.object({
  AGENT_KEY: privateKey.optional(),
  AGENT_ACCOUNT_ID: z
    .string()
    .regex(/^0\.0\.\d{1,19}$/, 'an account id 0.0.x')
    .optional(),
  ACCESS_CONTRACT: z
    .custom<`0x${string}`>((text) => /^0x[0-9a-fA-F]{40}$/.test(String(text)), 'an EVM address')
    .optional(),
  RECEIPTS_FILE: z.string().optional(),
  ACCESS_URL: httpUrl.default('http://127.0.0.1:3001'),
  SERVICE_NAME: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'the name in the service’s paths')
    .default('svc'),
  LEDGER_RPC_URL: httpUrl.default('http://127.0.0.1:7546'),
  LEDGER_CHAIN_ID: z
    .string()
    .regex(/^[1-9]\d{0,9}$/, 'a chain id')
    .default('296')
    .transform(Number),
  MIRROR_URL: httpUrl.default('http://127.0.0.1:5551'),
  NETWORK: z
    .templateLiteral(['hedera:', z.string().regex(/^[a-z0-9]{1,32}$/)], {
      error: 'a CAIP-2 network such as hedera:testnet',
    })
    .default('hedera:testnet'),
})

/** A slip of these names is refused, of any other a warning (S11). */
const GUARDS: ReadonlySet<string> = new Set(['AGENT_KEY', 'AGENT_KEY_FILE', 'ACCESS_CONTRACT'])
const KNOWN: ReadonlySet<string> = new Set([...Object.keys(AgentEnvironment.shape), ...GUARDS])

/** The command reads this from the environment. The key leaves this object only to sign. */
export type AgentConfig = z.infer<typeof AgentEnvironment>

/** Result of reading; `message` names every bad variable at once and never a value. */
type AgentConfigReading =
  | {
      readonly kind: 'valid'
      readonly config: AgentConfig
      /** Sentences about variables that nobody reads. */
      readonly warnings: readonly string[]
    }
  | { readonly kind: 'invalid'; readonly message: string }

/** The text of the key, or what is wrong with where it is. */
function readKey({ AGENT_KEY, AGENT_KEY_FILE }: Environment): { text?: string; problem?: string } {
  if (!AGENT_KEY_FILE) return AGENT_KEY ? { text: AGENT_KEY } : {}
  if (AGENT_KEY) {
    return { problem: 'AGENT_KEY: expected either AGENT_KEY or AGENT_KEY_FILE, not both' }
  }
  try {
    return { text: readFileSync(AGENT_KEY_FILE, 'utf8').trim() }
  } catch {
    return { problem: 'AGENT_KEY_FILE: expected the path of a readable file' }
  }
}

/**
 * Reads the environment; an empty variable counts as unset. `isKeyNeeded` is for verbs that sign, `isContractNeeded` for
 * those that send money to the contract.
 */
export function readEnvironment(
  environment: Environment,
  {
    isKeyNeeded,
    isContractNeeded,
  }: { readonly isKeyNeeded: boolean; readonly isContractNeeded: boolean },
): AgentConfigReading {
  const { problem, text } = readKey(environment)
  const present = Object.keys(environment).filter((name) => Boolean(environment[name]))
  const slips = findSlips(present, KNOWN)
  const values = Object.fromEntries(
    Object.keys(AgentEnvironment.shape).map((name) => [name, environment[name] || undefined]),
  )
  const parsed = AgentEnvironment.safeParse({ ...values, AGENT_KEY: text })
  const lines = [
    ...(problem === undefined ? [] : [problem]),
    ...slips
      .filter(({ meant }) => GUARDS.has(meant))
      .map(({ meant, variable }) => `${variable}: expected the name ${meant}`),
    ...(parsed.error?.issues ?? []).map(
      (issue) => `${String(issue.path[0])}: expected ${issue.message}`,
    ),
  ]
  if (isKeyNeeded && problem === undefined && text === undefined) {
    lines.push(
      `AGENT_KEY: expected ${KEY_EXPECTED}, here or in the file AGENT_KEY_FILE (it is not set)`,
    )
  }
  if (isContractNeeded && values['ACCESS_CONTRACT'] === undefined) {
    lines.push('ACCESS_CONTRACT: expected the contract that gets the money (it is not set)')
  }
  if (parsed.success && lines.length === 0) {
    const warnings = slips.map(
      ({ meant, variable }) => `Nobody reads ${variable}; is ${meant} meant?`,
    )
    return { kind: 'valid', config: parsed.data, warnings }
  }
  const message = ['The configuration is not usable:', ...lines.map((line) => `  ${line}`)]
  return { kind: 'invalid', message: message.join('\n') }
}
