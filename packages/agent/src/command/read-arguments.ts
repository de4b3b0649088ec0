import { parseArgs } from 'node:util'
import { parseHbar } from '@tallystick/x402/hedera'
import { type Address, isAddress } from 'viem'

/** What a person may say after the verb. */
export type AgentArguments = {
  readonly verb: AgentVerbName
  /** Whose window, where it is not the signer's own. */
  readonly agent: Address | undefined
  /** The most that this call may pay, tinybar. */
  readonly maxPaymentTinybar: bigint | undefined
  /** What `topup` adds, tinybar. */
  readonly amountTinybar: bigint | undefined
  readonly untilRenewals: number | undefined
  readonly isJson: boolean
}

/** The verbs of the command. */
export const AGENT_VERBS = ['pay', 'status', 'watch', 'cancel', 'topup'] as const

/** One verb of the command. */
export type AgentVerbName = (typeof AGENT_VERBS)[number]

export type ArgumentsReading =
  | { readonly kind: 'arguments'; readonly arguments: AgentArguments }
  | { readonly kind: 'help' }
  /** `message` says what is wrong and never repeats what was given. */
  | { readonly kind: 'invalid'; readonly message: string }

const KEY_REFUSAL =
  'One argument looks like a private key. Keys come from the environment (AGENT_KEY or AGENT_KEY_FILE), where other users of this machine do not see them. If it is a real key, replace it: your shell may have kept this line.'

/** Whether a text may be a private key: 64 hexadecimal digits in a row, or the DER prefix of one. */
export function looksLikeKey(text: string): boolean {
  return /[0-9a-f]{64}/i.test(text) || /30(2e|30|54|77)0201/i.test(text)
}

const invalid = (message: string): ArgumentsReading => ({ kind: 'invalid', message })

function hbarOf(text: string | undefined): bigint | undefined | 'bad' {
  if (text === undefined) return undefined
  return parseHbar(text) ?? 'bad'
}

function isVerb(text: string): text is AgentVerbName {
  return AGENT_VERBS.some((verb) => verb === text)
}

type Values = {
  readonly for?: string | undefined
  readonly 'max-hbar'?: string | undefined
  readonly hbar?: string | undefined
  readonly 'until-renewals'?: string | undefined
  readonly json?: boolean | undefined
}

function checked(verb: AgentVerbName, values: Values): ArgumentsReading {
  const agent = values.for
  if (agent !== undefined && !isAddress(agent, { strict: false })) {
    return invalid('--for takes an EVM address, 0x and 40 hexadecimal digits.')
  }
  const maxPaymentTinybar = hbarOf(values['max-hbar'])
  const amountTinybar = hbarOf(values.hbar)
  if (maxPaymentTinybar === 'bad' || amountTinybar === 'bad') {
    return invalid('An amount is in HBAR, with at most 8 decimals.')
  }
  if (verb === 'topup' && (amountTinybar === undefined || amountTinybar === 0n)) {
    return invalid('Say how much to add: topup --hbar N.')
  }
  if (verb === 'cancel' && agent !== undefined) {
    return invalid('Only the agent itself can cancel: --for does not go with cancel.')
  }
  const until = values['until-renewals']
  if (until !== undefined && !/^[1-9]\d{0,5}$/.test(until)) {
    return invalid('--until-renewals takes a whole number above 0.')
  }
  return {
    kind: 'arguments',
    arguments: {
      verb,
      agent,
      maxPaymentTinybar,
      amountTinybar,
      untilRenewals: until === undefined ? undefined : Number(until),
      isJson: values.json === true,
    },
  }
}

/** Reads the argument list. A text that looks like a key is refused before anything else is read. */
export function readArguments(list: readonly string[]): ArgumentsReading {
  if (list.some(looksLikeKey)) return invalid(KEY_REFUSAL)
  try {
    const { values, positionals } = parseArgs({
      args: [...list],
      allowPositionals: true,
      options: {
        for: { type: 'string' },
        'max-hbar': { type: 'string' },
        hbar: { type: 'string' },
        'until-renewals': { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    const [verb, ...rest] = positionals
    if (values.help === true || verb === 'help') return { kind: 'help' }
    if (verb === undefined || !isVerb(verb) || rest.length > 0) {
      return invalid(`Say one of: ${AGENT_VERBS.join(', ')}. See --help.`)
    }
    return checked(verb, values)
  } catch {
    return invalid('There is an option that this command does not know. See --help.')
  }
}
