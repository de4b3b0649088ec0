import { parseTokenKeys, TOKEN_SECRET_BYTES_MIN, type TokenKeys } from '@tallystick/jwt-lite'
import {
  httpUrlField,
  integerField,
  parsedField,
  receiptKeysField,
  secretField,
  sharedConfigFields,
  storeConfigFault,
  storeConfigFields,
  switchField,
  textField,
  withFieldMeta,
} from '@tallystick/service-kit'
import {
  type EvmAsset,
  evmChainId,
  OKX_URL,
  parseEvmAsset,
  X_LAYER_USDT0,
} from '@tallystick/x402/evm'
import { z } from 'zod'
import { CLOSE_AGE_SECONDS_MAX } from './ingest/accept-price.ts'

const network = () =>
  textField('an EVM network such as eip155:196', (text) => evmChainId(text) !== undefined)

const assetText =
  'a token as address/name/version/decimals, e.g. 0x4ae46a509f6b1d9056937ba4500cb143933d2dc8/Global Dollar/1/6; the address alone for USD₮0'
const asset = () =>
  textField(assetText, (text) => {
    const { decimals = 0 } = parseEvmAsset(text, X_LAYER_USDT0.network) ?? {}
    return decimals >= CENT_DECIMALS
  })

/** Prices in cents need a token with two decimals or more. */
const CENT_DECIMALS = 2

const address = () =>
  parsedField(
    (text) =>
      /^0x[a-fA-F0-9]{40}$/.test(text) ? (text.toLowerCase() as `0x${string}`) : undefined,
    { expected: 'an EVM address' },
  )

/** A parsed secret leaves no text to print: keys live in `KeyObject`s. */
const tokenKeys = () =>
  parsedField(
    (text): TokenKeys | undefined => {
      const parsed = parseTokenKeys(text)
      return parsed.kind === 'keys' ? parsed.keys : undefined
    },
    {
      expected: `one or more secrets of at least ${TOKEN_SECRET_BYTES_MIN} bytes, one a line`,
      isSecret: true,
    },
  )

/** The Odds API charges per sport and round: a longer list is a mistake. */
const SPORTS_MAX = 50
const names = () =>
  parsedField(
    (text) => {
      const list = text.split(',').map((name) => name.trim())
      const isGood = list.length <= SPORTS_MAX && list.every((name) => /^[a-z0-9_]+$/.test(name))
      return isGood ? list : undefined
    },
    { expected: 'names in lower case, separated by commas' },
  )

const facilitatorText =
  'an http or https URL, unless OKX_API_KEY, OKX_SECRET_KEY and OKX_PASSPHRASE are set'
const okxText = 'a secret, all three of OKX or none, and not beside FACILITATOR_URL'
const okxSecret = () => withFieldMeta(secretField(), { expected: okxText, isSecret: true })

/** A command that is tried out leaves it where git looks away. */
export const DEFAULT_DATABASE_PATH = '.local/grading.db'

const fields = z.object({
  ...sharedConfigFields({ port: 3003, baseUrl: 'http://localhost:3003' }),
  ...storeConfigFields({
    databasePath: DEFAULT_DATABASE_PATH,
    description: 'Ledger file; payments and the checkpoint key are kept beside it.',
  }),
  PAY_TO: address().describe('Address that receives payments; each ledger file needs its own.'),
  NETWORK: network().prefault(X_LAYER_USDT0.network).describe('CAIP-2 network for payments.'),
  ASSET: asset()
    .prefault(X_LAYER_USDT0.address)
    .describe('Payment token: a dollar with signed transfers (EIP-3009).'),
  LEDGER_RPC_URL: httpUrlField()
    .prefault('https://rpc.xlayer.tech')
    .describe('JSON-RPC endpoint of the payment network.'),
  FACILITATOR_URL: withFieldMeta(httpUrlField(), { expected: facilitatorText })
    .optional()
    .describe('x402 facilitator; or OKX’s, through the next three variables.'),
  SECOND_FACILITATOR_URL: httpUrlField()
    .optional()
    .describe(
      'x402 facilitator that settles what the first did not; its success is read from the chain before it is believed.',
    ),
  CONTRACT_WALLETS: switchField()
    .prefault('true')
    .describe(
      'Whether wallets that are contracts may pay (EIP-1271); `false` or `off` to take only what a key signed.',
    ),
  OKX_API_KEY: okxSecret().optional().describe('API key at OKX’s facilitator.'),
  OKX_SECRET_KEY: okxSecret().optional().describe('Signs requests to OKX; never sent.'),
  OKX_PASSPHRASE: okxSecret().optional().describe('Passphrase of the API key.'),
  OKX_URL: httpUrlField().prefault(OKX_URL).describe('Origin of OKX’s facilitator.'),
  EARLIER_RECEIPT_KEYS: receiptKeysField()
    .optional()
    .describe(
      'Public keys of receipts that this host signed before CHECKPOINT_KEY changed, as /.well-known/did.json had them.',
    ),
  TRUST_PROXY_HOPS: integerField({ min: 0, max: 10 })
    .prefault('0')
    .describe(
      'Proxies in front that add to X-Forwarded-For; client addresses are read behind them.',
    ),
  TOKEN_SECRET: tokenKeys()
    .optional()
    .describe('HS256 keys for upload tokens, one per line; without them uploads are refused.'),
  ODDS_API_KEY: secretField()
    .optional()
    .describe('The Odds API key; without it nothing is polled.'),
  ODDS_API_SPORTS: names().prefault('soccer_epl').describe('Sports to poll, by their keys there.'),
  ODDS_API_REGIONS: names().prefault('eu').describe('Regions whose bookmakers to poll.'),
  ODDS_API_MARKETS: names().prefault('h2h,spreads,totals').describe('Markets to poll.'),
  ODDS_API_URL: httpUrlField()
    .prefault('https://api.the-odds-api.com')
    .describe('Origin of The Odds API.'),
  ODDS_POLL_SECONDS: integerField({ min: 10, max: CLOSE_AGE_SECONDS_MAX })
    .prefault('300')
    .describe(
      'Pause between rounds, seconds; a round costs sports × regions × markets of the key’s quota. A price that is older at the start than the longest pause is not a close.',
    ),
})

const OKX = ['OKX_API_KEY', 'OKX_SECRET_KEY', 'OKX_PASSPHRASE'] as const

/** Members whose variable is bad are missing. */
type Partly = Partial<z.output<typeof fields>>

/** The first variable at fault unless exactly one facilitator is configured. */
function facilitatorFault(config: Partly): string | undefined {
  const missing = OKX.filter((name) => config[name] === undefined)
  if (config.FACILITATOR_URL === undefined)
    return missing.length === OKX.length ? 'FACILITATOR_URL' : missing[0]
  return OKX.find((name) => config[name] !== undefined)
}

/** The service's environment (S3). */
export const gradingConfigSchema = fields.superRefine(
  (config: Partly, context) => {
    const fault = facilitatorFault(config)
    if (fault !== undefined)
      context.addIssue({ code: 'custom', path: [fault], message: facilitatorText })
    const storeFault = storeConfigFault(config)
    if (storeFault !== undefined) context.addIssue({ code: 'custom', ...storeFault })
    const { ASSET, NETWORK } = config
    // An address alone is USD₮0 on X Layer; other networks need the token written in full.
    if (ASSET !== undefined && NETWORK !== undefined && parseEvmAsset(ASSET, NETWORK) === undefined)
      context.addIssue({ code: 'custom', path: ['ASSET'], message: assetText })
  },
  // Runs even when there are other problems, so that one message names them all.
  { when: () => true },
)

export type GradingConfig = z.output<typeof gradingConfigSchema>

export function paymentAsset({ ASSET, NETWORK }: GradingConfig): EvmAsset {
  const parsed = parseEvmAsset(ASSET, NETWORK)
  if (parsed === undefined) throw new RangeError('ASSET names no token of NETWORK')
  return parsed
}
