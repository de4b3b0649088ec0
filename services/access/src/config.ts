import {
  checkedSecretField,
  HOUR_MS,
  httpUrlField,
  integerField,
  readSecretField,
  receiptKeysField,
  type Secret,
  secretField,
  serviceNameField,
  sharedConfigFields,
  withFieldMeta,
} from '@tallystick/service-kit'
import { readPrivateKey, TINYBAR_PER_HBAR } from '@tallystick/x402/hedera'
import { z } from 'zod'
import type { AlertLimits } from './domain/seller-alerts.ts'

/** A text of that form, and how it is read. */
const matching = <Value>(expected: string, form: RegExp, read: (text: string) => Value) =>
  withFieldMeta(z.string().regex(form, expected).transform(read), { expected })

const accountId = () =>
  matching('a Hedera account id such as 0.0.1001', /^0\.0\.[1-9]\d{0,18}$/, (text) => text)

const feePayers = () =>
  matching(
    'Hedera account ids, separated by commas',
    /^\s*0\.0\.\d+\s*(,\s*0\.0\.\d+\s*)*$/,
    (text) => text.split(',').map((part) => part.trim()),
  )

const addresses = () =>
  matching(
    'at most 20 EVM addresses, separated by commas',
    // Each is asked once for each credit to payTo.
    /^\s*0x[a-fA-F0-9]{40}\s*(,\s*0x[a-fA-F0-9]{40}\s*){0,19}$/,
    (text) => text.split(',').map((part) => part.trim().toLowerCase() as `0x${string}`),
  )

export const keyText = 'an ECDSA private key, 32 bytes or DER in hex'

export const ecdsaKey = () =>
  readSecretField(keyText, (text) => {
    const key = readPrivateKey(text, { only: 'ecdsa' })
    return key.kind === 'key' ? { text: `0x${key.hex}` } : key
  })

/** A key in the form that the ledger's libraries take. */
export function keyHex(key: Secret): `0x${string}` {
  return key.reveal() as `0x${string}`
}

const address = () =>
  matching('an EVM address', /^0x[a-fA-F0-9]{40}$/, (text) => text.toLowerCase() as `0x${string}`)

const webhookText = 'an https URL, or an http URL of this machine'
/** Webhooks carry their secret in the address. */
const webhookUrl = () => checkedSecretField(webhookText, isWebhookUrl)

function isWebhookUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url?.protocol === 'https:') return true
  return url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
}

const networkText = 'hedera:testnet or hedera:mainnet'

const SESSION_SECRET_BYTES_MIN = 32

/** The whole environment of the service (S3). */
export const accessConfigSchema = z
  .object({
    ...sharedConfigFields({ port: 3001, baseUrl: 'http://localhost:3001' }),
    SERVICE_NAME: serviceNameField('svc').describe(
      'Path segment of the routes: /api/<name>/access.',
    ),
    NETWORK: withFieldMeta(z.enum(['hedera:testnet', 'hedera:mainnet']), { expected: networkText })
      .prefault('hedera:testnet')
      .describe('CAIP-2 network of payments.'),
    LEDGER_RPC_URL: httpUrlField()
      .prefault('http://127.0.0.1:7546')
      .describe('JSON-RPC of the ledger.'),
    RELAY_CALLS_PER_MINUTE: integerField({ min: 0, max: 1_000_000 })
      .optional()
      .describe(
        'Contract reads, and requests of several reads, that the relay takes in a minute of all RECORDER_COUNT processes, each of which makes an equal part; 0 is no limit. Without it 100, as Hedera’s relay has it for free, and of a relay on this machine, or whose host has a name without a dot, no limit.',
      ),
    LEDGER_CHAIN_ID: integerField({ min: 1, max: 999_999_999_999 })
      .prefault('296')
      .describe('Chain id that the ledger must have.'),
    MIRROR_URL: httpUrlField()
      .prefault('http://127.0.0.1:5551')
      .describe('Mirror node REST API, without /api/v1.'),
    FACILITATOR_URL: httpUrlField().prefault('http://127.0.0.1:4020').describe('x402 facilitator.'),
    SECOND_FACILITATOR_URL: httpUrlField()
      .optional()
      .describe(
        'x402 facilitator whose fee payer challenges name while the first is down; its success is read from the mirror node before it is believed.',
      ),
    FEE_PAYERS: withFieldMeta(
      feePayers()
        .optional()
        .describe(
          'Accounts that pay transaction fees at FACILITATOR_URL; without them its own list is used.',
        ),
      { isGuard: true },
    ),
    ACCESS_CONTRACT: address()
      .optional()
      .describe('The access contract. Without it both routes answer 503.'),
    PREVIOUS_CONTRACTS: withFieldMeta(
      addresses()
        .optional()
        .describe(
          'Every access contract that PAY_TO served before, the latest first: what they sold is neither opened nor refunded again.',
        ),
      { isGuard: true },
    ),
    PAY_TO: accountId().describe('Account that payments go to, used for nothing else.'),
    EARLIER_RECEIPT_KEYS: receiptKeysField()
      .optional()
      .describe(
        'Public keys of receipts that this host signed before PAY_TO_KEY changed, as /.well-known/did.json had them.',
      ),
    PAY_TO_KEY: ecdsaKey().describe(
      'ECDSA private key of PAY_TO in hex: forwards payments into the contract.',
    ),
    RECORDER_KEY: ecdsaKey().describe(
      'ECDSA private key in hex that records usage; each process has its own.',
    ),
    RECORDER_COUNT: integerField({ min: 1, max: 100 })
      .prefault('1')
      .describe(
        'How many processes serve this contract. Rates and the relay’s budget are divided by it; /ready is red while the contract has more recorders.',
      ),
    SESSION_SECRET: secretField({ minBytes: SESSION_SECRET_BYTES_MIN })
      .optional()
      .describe(
        'Makes the tokens of guarded agents; the same in every process, and needed where RECORDER_COUNT is above 1. Without it a process makes its own at the start.',
      ),
    AGENT_CALLS_PER_SECOND: integerField({ min: 0, max: 100_000 })
      .prefault('50')
      .describe(
        'Calls for one unguarded agent that all processes together serve on average, four seconds’ worth at once; 0 is no limit.',
      ),
    ADDRESS_CALLS_PER_SECOND: integerField({ min: 0, max: 1_000_000 })
      .prefault('500')
      .describe('The same for calls of /access from one client address (of IPv6 its /64).'),
    TRUST_PROXY_HOPS: integerField({ min: 0, max: 10 })
      .prefault('0')
      .describe(
        'Proxies in front that add to X-Forwarded-For; client addresses are read behind them.',
      ),
    PERIODS_PER_PURCHASE: integerField({ min: 1, max: 10_000 })
      .prefault('4')
      .describe('Periods that one payment buys.'),
    RESOURCE_URL: httpUrlField()
      .optional()
      .describe('JSON that granted calls are served; without it live conditions of the ledger.'),
    RESOURCE_TIMEOUT_MS: integerField({ min: 100, max: 20_000 })
      .prefault('5000')
      .describe('How long the resource’s source may take, milliseconds.'),
    ALERT_WEBHOOK_URL: webhookUrl()
      .optional()
      .describe('Where alerts are posted as JSON; without it they are a metric and a log line.'),
    ALERT_RESERVE_RENEWALS: integerField({ min: 1, max: 100_000 })
      .prefault('4')
      .describe('Alert when the reserve arms fewer further renewals.'),
    ALERT_RECORDER_HOURS: integerField({ min: 1, max: 8_760 })
      .prefault('24')
      .describe('Alert when the recorder’s money lasts fewer hours at its present rate.'),
    ALERT_WITHDRAW_HBAR: integerField({ min: 1, max: 1_000_000_000 })
      .prefault('100')
      .describe('Alert when more than this is earned and not withdrawn.'),
    ALERT_REMINDER_HOURS: integerField({ min: 1, max: 720 })
      .prefault('24')
      .describe('How often a standing alert is told again.'),
  })
  // All processes must accept one another's tokens: with a secret each, a call at another process would sign in again.
  .refine((config) => config.RECORDER_COUNT === 1 || config.SESSION_SECRET !== undefined, {
    path: ['SESSION_SECRET'],
    error: `a secret of at least ${SESSION_SECRET_BYTES_MIN} bytes, since RECORDER_COUNT is above 1`,
  })

export type AccessConfig = z.output<typeof accessConfigSchema>

/** Hedera's relay takes so much from one address: tier 1 of its docs/rate-limiting.md. */
const FREE_RELAY_CALLS_PER_MINUTE = 100

/** This process's part of the calls; 0 is no limit. */
export function relayCallsPerMinute({
  RECORDER_COUNT: processes,
  RELAY_CALLS_PER_MINUTE: configured,
  LEDGER_RPC_URL: url,
}: Pick<AccessConfig, 'RECORDER_COUNT' | 'RELAY_CALLS_PER_MINUTE' | 'LEDGER_RPC_URL'>): number {
  // A part of less than one call would be no limit.
  const processShare = (calls: number): number =>
    calls && Math.max(1, Math.floor(calls / processes))
  if (configured !== undefined) return processShare(configured)
  // On this machine, or in a network of containers.
  const isLocal = /^(127\.|\[::1\]|[^.]+$)/.test(new URL(url).hostname)
  return isLocal ? 0 : processShare(FREE_RELAY_CALLS_PER_MINUTE)
}

/** The figures at which the seller is alerted. */
export const alertLimits = (
  config: Pick<
    AccessConfig,
    `ALERT_${'RESERVE_RENEWALS' | 'RECORDER_HOURS' | 'WITHDRAW_HBAR' | 'REMINDER_HOURS'}`
  >,
): AlertLimits => ({
  reserveRenewals: config.ALERT_RESERVE_RENEWALS,
  recorderHours: config.ALERT_RECORDER_HOURS,
  withdrawTinybar: BigInt(config.ALERT_WITHDRAW_HBAR) * TINYBAR_PER_HBAR,
  reminderMs: config.ALERT_REMINDER_HOURS * HOUR_MS,
})
