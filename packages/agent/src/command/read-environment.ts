import { type CommandTerminal, readVariables } from '@tallystick/service-kit/command'
import {
  httpUrlField,
  integerField,
  readSecretField,
  serviceNameField,
  textField,
  withFieldMeta,
} from '@tallystick/service-kit/config-field'
import { readPrivateKey } from '@tallystick/x402/hedera'
import { isAddress } from 'viem'
import { z } from 'zod'

const keyText = 'an ECDSA private key, 32 bytes or DER in hex'
/** Its 64 digits. Errors of libraries are not passed on, since they repeat the text. */
const privateKey: z.ZodType<string, string> = withFieldMeta(
  readSecretField(keyText, (text) => {
    const key = readPrivateKey(text, { only: 'ecdsa' })
    return key.kind === 'key' ? { text: `0x${key.hex}` } : key
  }).transform((key) => key.reveal()),
  { expected: keyText, isSecret: true },
)

const contractText = 'the contract that gets the money, an EVM address'
const contract = withFieldMeta(
  z.custom<`0x${string}`>((text) => isAddress(String(text), { strict: false }), contractText),
  { expected: contractText, isGuard: true },
)

const networkText = 'a CAIP-2 network such as hedera:testnet'
const network = withFieldMeta(
  z.templateLiteral(['hedera:', z.string().regex(/^[a-z0-9]{1,32}$/)], { error: networkText }),
  { expected: networkText },
)

const AgentEnvironment = z.object({
  AGENT_KEY: privateKey.optional(),
  AGENT_ACCOUNT_ID: textField('an account id 0.0.x', (text) =>
    /^0\.0\.\d{1,19}$/.test(text),
  ).optional(),
  ACCESS_CONTRACT: contract.optional(),
  RECEIPTS_FILE: textField('a path').optional(),
  ACCESS_URL: httpUrlField().prefault('http://127.0.0.1:3001'),
  SERVICE_NAME: serviceNameField('svc'),
  LEDGER_RPC_URL: httpUrlField().prefault('http://127.0.0.1:7546'),
  LEDGER_CHAIN_ID: integerField({ min: 1, max: 9_999_999_999 }).prefault('296'),
  MIRROR_URL: httpUrlField().prefault('http://127.0.0.1:5551'),
  NETWORK: network.prefault('hedera:testnet'),
})

/** The command reads this from the environment. The key leaves this object only to sign. */
export type AgentConfig = z.output<typeof AgentEnvironment>

/** Where the command's money and service are: a local stack gives all of them or none. */
export const AGENT_VARIABLES = Object.keys(AgentEnvironment.omit({ RECEIPTS_FILE: true }).shape)

/** What a verb must have, beyond the variables with a default. */
export type Needs = { readonly key: boolean; readonly contract?: boolean }

/** Reads the environment. Throws BadUsage, which names every bad or missing variable at once and never a value. */
export function readEnvironment(terminal: CommandTerminal, needs: Needs): AgentConfig {
  const { shape } = AgentEnvironment
  return readVariables(
    terminal,
    z.object({
      ...shape,
      AGENT_KEY: needs.key ? privateKey : shape.AGENT_KEY,
      ACCESS_CONTRACT: needs.contract === true ? contract : shape.ACCESS_CONTRACT,
    }),
  )
}
