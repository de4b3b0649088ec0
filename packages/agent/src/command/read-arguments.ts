import { parseArgs } from 'node:util'
import { HEDERA_USDC, keyInArguments, parseHbar } from '@tallystick/x402/hedera'
import { type Address, isAddress, parseUnits } from 'viem'
import { z } from 'zod'
import type { SpendCap } from '../paid-request.ts'

/** The verbs of the command. */
const AGENT_VERBS = ['pay', 'status', 'watch', 'cancel', 'topup', 'guard', 'buy'] as const

/** Verbs that work only for the signer's own window. */
const OWN_VERBS: ReadonlySet<string> = new Set(['cancel', 'guard'])

const hbar = z
  .string()
  .transform(parseHbar)
  .refine((tinybar) => tinybar !== undefined, 'An amount is in HBAR, with at most 8 decimals.')
  .optional()

/** The same on every network. */
const USDC_DECIMALS = HEDERA_USDC['hedera:mainnet'].decimals

const tokenCap = z
  .string()
  .regex(
    /^0\.0\.[1-9]\d{0,9}=\d{1,19}$/,
    '--max-token takes a token and base units of it, such as 0.0.429274=10000.',
  )
  .transform((text): SpendCap => {
    const [asset = '', units = ''] = text.split('=')
    return { asset, amountMax: BigInt(units) }
  })

const isWebAddress = (text: string | undefined): boolean =>
  z.url({ protocol: /^https?$/ }).safeParse(text).success

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const isEvmAddress = (value: unknown): boolean =>
  typeof value === 'string' && isAddress(value, { strict: false })

const Arguments = z
  .object({
    verb: z.enum(AGENT_VERBS, `Say one of: ${AGENT_VERBS.join(', ')}. See --help.`),
    for: z
      .custom<Address>(isEvmAddress, '--for takes an EVM address, 0x and 40 hexadecimal digits.')
      .optional(),
    'max-hbar': hbar,
    hbar,
    'until-renewals': z
      .string()
      .regex(/^[1-9]\d{0,5}$/, '--until-renewals takes a whole number above 0.')
      .transform(Number)
      .optional(),
    'ends-within': z
      .string()
      .regex(/^\d{1,9}$/, '--ends-within takes a whole number of seconds.')
      .transform(Number)
      .optional(),
    unguarded: z.boolean().default(false),
    'max-usdc': z
      .string()
      .regex(
        new RegExp(`^\\d{1,9}(\\.\\d{1,${USDC_DECIMALS}})?$`),
        `--max-usdc takes dollars, with at most ${USDC_DECIMALS} decimals.`,
      )
      .transform((text) => parseUnits(text, USDC_DECIMALS))
      .optional(),
    'max-token': z.array(tokenCap).default([]),
    data: z.string().refine(isJson, '--data takes JSON.').optional(),
    word: z.string().optional(),
    json: z.boolean().default(false),
  })
  .refine(({ verb, hbar: tinybar }) => verb !== 'topup' || (tinybar ?? 0n) > 0n, {
    error: 'Say how much to add: topup --hbar N.',
    abort: true,
  })
  .refine(({ verb, ...options }) => options.for === undefined || !OWN_VERBS.has(verb), {
    error: 'Only the agent itself can cancel or guard: --for goes with neither.',
    abort: true,
  })
  .refine(({ verb, word }) => verb !== 'guard' || word === 'on' || word === 'off', {
    error: 'Say guard on or guard off.',
    abort: true,
  })
  .refine(({ verb, word }) => verb !== 'buy' || isWebAddress(word), {
    error: 'Say what to buy: buy URL.',
    abort: true,
  })
  .refine(({ verb, word }) => verb === 'guard' || verb === 'buy' || word === undefined, {
    error: 'Only guard and buy take something after them.',
    abort: true,
  })
  .refine(
    ({ verb, ...options }) =>
      verb === 'buy' ||
      (options['max-usdc'] === undefined &&
        options['max-token'].length === 0 &&
        options.data === undefined),
    {
      error: 'Access is sold for HBAR: --max-usdc, --max-token and --data go with buy alone.',
      abort: true,
    },
  )
  .transform((options) => ({
    verb: options.verb,
    /** Whose window, if not the signer's own. */
    agent: options.for,
    /** The most that this call may pay, tinybar. */
    maxPaymentTinybar: options['max-hbar'],
    /** `topup` adds this, tinybar. */
    amountTinybar: options.hbar,
    /** Whether a purchase leaves the window unguarded. */
    isUnguarded: options.unguarded,
    /** `guard` sets this. */
    isGuarded: options.word === 'on',
    /** `buy` asks this. */
    url: options.word ?? '',
    /** `buy` sends this. */
    data: options.data,
    /** The most that `buy` may pay in Circle's USDC, base units. */
    maxUsdcUnits: options['max-usdc'],
    /** The most that `buy` may pay in other tokens. */
    tokenCaps: options['max-token'],
    untilRenewals: options['until-renewals'],
    warnSeconds: options['ends-within'],
    isJson: options.json,
  }))

/** A command line as understood. */
export type AgentArguments = z.output<typeof Arguments>

type ArgumentsReading =
  | { readonly kind: 'arguments'; readonly arguments: AgentArguments }
  | { readonly kind: 'help' }
  /** `message` says what is wrong and never repeats what was given. */
  | { readonly kind: 'invalid'; readonly message: string }

const options = {
  for: { type: 'string' },
  'max-hbar': { type: 'string' },
  'max-usdc': { type: 'string' },
  'max-token': { type: 'string', multiple: true },
  data: { type: 'string' },
  hbar: { type: 'string' },
  'until-renewals': { type: 'string' },
  'ends-within': { type: 'string' },
  json: { type: 'boolean' },
  unguarded: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** Reads the argument list, but first refuses any text that looks like a key. */
export function readArguments(list: readonly string[]): ArgumentsReading {
  const keyRefusal = keyInArguments(list, 'AGENT_KEY')
  if (keyRefusal !== undefined) return { kind: 'invalid', message: keyRefusal }
  try {
    const { values, positionals } = parseArgs({ args: [...list], allowPositionals: true, options })
    if (values.help === true || positionals[0] === 'help') return { kind: 'help' }
    const [verb, word] = positionals.length <= 2 ? positionals : []
    const { data, error } = Arguments.safeParse({ verb, word, ...values })
    return data === undefined
      ? { kind: 'invalid', message: error?.issues[0]?.message ?? '' }
      : { kind: 'arguments', arguments: data }
  } catch {
    const message = 'There is an option that this command does not know. See --help.'
    return { kind: 'invalid', message }
  }
}
