import {
  choiceField,
  httpUrlField,
  integerField,
  parsedField,
  readSecretField,
  sharedConfigFields,
  spanConfigFields,
  switchField,
  textField,
} from '@tallystick/service-kit'
import { type EvmAsset, isEvmAddress, parseEvmAsset, X_LAYER_USDT0 } from '@tallystick/x402/evm'
import { HEDERA_NETWORKS, isAccountId, readPrivateKey } from '@tallystick/x402/hedera'
import { z } from 'zod'
import { parseConsensusNodes } from './hedera/consensus-client.ts'

/** A chain's tokens from a comma-separated list; undefined if one is unreadable or there is none. */
export function parseEvmAssets(text: string, chainId: number): readonly EvmAsset[] | undefined {
  const network = `eip155:${chainId}`
  const assets = text.split(',').map((part) => parseEvmAsset(part, network))
  return assets.every((asset) => asset !== undefined) ? assets : undefined
}

const nodesExpected = 'host:port=account pairs, separated by commas, e.g. 127.0.0.1:50211=0.0.3'
const accountExpected = 'an account id such as 0.0.1001'
const keyExpected = 'a private key in hex: 32 bytes of an ECDSA key, or DER of either kind'

const evmKeyExpected = 'an ECDSA private key, 32 bytes or DER in hex'

/** A key as it was given, since DER names its kind. */
const privateKey = (expected: string, options?: Parameters<typeof readPrivateKey>[1]) =>
  readSecretField(expected, (text) => {
    const key = readPrivateKey(text, options)
    return key.kind === 'key' ? { text } : key
  })
const assetsExpected =
  'tokens separated by commas, each address/name/version/decimals, e.g. 0x4ae46a509f6b1d9056937ba4500cb143933d2dc8/USDG/2/6; the address alone for USD₮0 on X Layer'

const servedExpected = 'Hedera accounts and EVM addresses, separated by commas'

function parseReceivers(text: string): readonly string[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  return parts.every((part) => isAccountId(part) || isEvmAddress(part)) ? parts : undefined
}

const shared = sharedConfigFields({ port: 4020, baseUrl: 'http://localhost:4020' })

const fields = z.object({
  PORT: shared.PORT,
  HOST: shared.HOST,
  NETWORK: choiceField(HEDERA_NETWORKS)
    .prefault('hedera:testnet')
    .describe(
      'Ledger on which payments are settled, as CAIP-2; a local ledger uses the name of the one it stands in for.',
    ),
  CONSENSUS_NODES: parsedField(parseConsensusNodes, { expected: nodesExpected })
    .optional()
    .describe('Consensus nodes to submit to; by default the public nodes of NETWORK.'),
  MIRROR_URL: httpUrlField()
    .prefault('https://testnet.mirrornode.hedera.com')
    .describe('Mirror node to read accounts, keys and balances from.'),
  FEE_PAYER: textField(accountExpected, isAccountId).describe(
    'Account that pays the settlement fees.',
  ),
  FEE_PAYER_KEY: privateKey(keyExpected).describe('Private key of FEE_PAYER.'),
  SERVED_PAY_TO: parsedField(parseReceivers, { expected: servedExpected, isGuard: true })
    .optional()
    .describe(
      'The only receivers whose payments, and refunds, are settled; without it anybody’s are, at your cost, and the start says so.',
    ),
  EVM_RPC_URL: httpUrlField()
    .optional()
    .describe('JSON-RPC of a second network, an EVM chain; if unset, only NETWORK is served.'),
  EVM_CHAIN_ID: integerField({ min: 1, max: 4_294_967_295 })
    .prefault('196')
    .describe('Chain id of that network; 196 is X Layer.'),
  EVM_KEY: privateKey(evmKeyExpected, { only: 'ecdsa' })
    .optional()
    .describe(
      'Private key of the account that submits there and pays the gas; set together with EVM_RPC_URL.',
    ),
  EVM_ASSETS: textField(assetsExpected, (text) => parseEvmAssets(text, 196) !== undefined)
    .prefault(X_LAYER_USDT0.address)
    .describe(
      'Tokens with signed transfers (EIP-3009) to settle, with their EIP-712 name and version.',
    ),
  CONTRACT_WALLETS: switchField()
    .prefault('true')
    .describe(
      'Whether wallets that are contracts may pay there (EIP-1271); `false` or `off` to settle only what a key signed.',
    ),
  LOG_LEVEL: shared.LOG_LEVEL,
  ...spanConfigFields(),
  METRICS_TOKEN: shared.METRICS_TOKEN,
})

/** The fields as read; incomplete after a bad variable. */
type Partly = Partial<z.output<typeof fields>>

/** The facilitator's environment (S3). */
export const facilitatorConfig = fields.superRefine(
  ({ EVM_ASSETS, EVM_CHAIN_ID, EVM_KEY, EVM_RPC_URL }: Partly, context) => {
    if ((EVM_RPC_URL === undefined) !== (EVM_KEY === undefined)) {
      const [missing, message] =
        EVM_KEY === undefined
          ? ['EVM_KEY', `${evmKeyExpected}, since EVM_RPC_URL is set`]
          : ['EVM_RPC_URL', 'an http or https URL, since EVM_KEY is set']
      context.addIssue({ code: 'custom', path: [missing], message })
    }
    if (EVM_RPC_URL === undefined || EVM_ASSETS === undefined) return
    if (EVM_CHAIN_ID === undefined || !Number.isInteger(EVM_CHAIN_ID)) return
    // An address alone means USD₮0 on X Layer; on another chain the token is written in full.
    if (parseEvmAssets(EVM_ASSETS, EVM_CHAIN_ID) === undefined)
      context.addIssue({ code: 'custom', path: ['EVM_ASSETS'], message: assetsExpected })
  },
  // Checked even if other variables are bad, so that one message names them all.
  { when: () => true },
)
