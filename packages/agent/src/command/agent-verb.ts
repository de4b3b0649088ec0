// What every verb of `tallystick-agent` has in common: its arguments, its agent on the configured ledger, and how it ends.
import { appendFileSync } from 'node:fs'
import {
  BadUsage,
  type CommandCall,
  type CommandTerminal,
  type CommandVerb,
} from '@tallystick/service-kit/command'
import { LedgerUnavailable } from '@tallystick/x402'
import { HEDERA_USDC, parseHbar } from '@tallystick/x402/hedera'
import { type Address, isAddress, parseUnits } from 'viem'
import {
  type AccessAgent,
  type AccessAgentOptions,
  type AgentSigner,
  createAccessAgent,
} from '../access-agent.ts'
import { AccessServiceUnavailable } from '../access-outcome.ts'
import { AccountUnknown, agentSigner, resolveAccountId } from '../agent-signer.ts'
import { ShopUnavailable } from '../buy.ts'
import type { SpendCap } from '../paid-request.ts'
import type { PurchaseEvidence } from '../purchase-evidence.ts'
import { type AgentOutput, EXIT, type ExitCode, jsonLine } from './output.ts'
import { type AgentConfig, type Needs, readEnvironment } from './read-environment.ts'
import { type Outcome, outcomeLines } from './sentences.ts'

/** The same on every network. */
const USDC_DECIMALS = HEDERA_USDC['hedera:mainnet'].decimals
const USDC_TEXT = new RegExp(`^\\d{1,9}(\\.\\d{1,${USDC_DECIMALS}})?$`)

/** A terminal on which a watch can draw. */
export type AgentTerminal = CommandTerminal &
  AgentOutput & {
    /** Registers what to run at Ctrl-C or SIGTERM. Only `watch` uses it; the other verbs end as any program does. */
    readonly onInterrupt: (run: () => void) => void
  }

/** A verb is called with these. */
type AgentCall = Omit<CommandCall, 'terminal' | 'printJson'> & {
  readonly terminal: AgentTerminal
}

/** What a verb works with once the environment is read. */
type AgentTools = {
  readonly agent: AccessAgent
  readonly config: AgentConfig
  readonly signer: AgentSigner | undefined
  readonly payments: ReturnType<typeof paymentOptions>
}

/** A verb whose arguments are good: what it needs, and what it does then. */
type AgentTask = Needs &
  Partial<Pick<AccessAgentOptions, 'agent' | 'guardsPurchases' | 'maxPaymentTinybar'>> & {
    readonly run: (tools: AgentTools) => Promise<Outcome | ExitCode>
  }

export type AgentVerb = Omit<CommandVerb, 'run'> & {
  /** Reads the arguments, before anything else is looked at. Throws BadUsage. */
  readonly read: (call: AgentCall) => AgentTask
}

const EXIT_BY_KIND: Readonly<Record<Outcome['kind'], ExitCode>> = {
  granted: EXIT.done,
  'payment-needed': EXIT.paymentNeeded,
  'cannot-pay': EXIT.failed,
  'payment-refused': EXIT.failed,
  'payment-pending': EXIT.paymentPending,
  'quota-spent': EXIT.quotaSpent,
  'too-many-requests': EXIT.failed,
  'proof-needed': EXIT.failed,
  unavailable: EXIT.failed,
  status: EXIT.done,
  cancelled: EXIT.done,
  'nothing-to-cancel': EXIT.nothingThere,
  'topped-up': EXIT.done,
  'guard-set': EXIT.done,
  'guard-unchanged': EXIT.done,
  'no-open-window': EXIT.nothingThere,
  refused: EXIT.failed,
  bought: EXIT.done,
  'not-sold': EXIT.failed,
  'price-named': EXIT.paymentNeeded,
  'cannot-be-paid': EXIT.failed,
  'purchase-pending': EXIT.paymentPending,
}

/** The message of a failure that a person can act on; undefined for a bug. */
export function explainFailure(error: unknown): string | undefined {
  const isExpected =
    error instanceof AccessServiceUnavailable ||
    error instanceof ShopUnavailable ||
    error instanceof LedgerUnavailable ||
    error instanceof AccountUnknown
  return isExpected ? error.message : undefined
}

const RESEND_SENTENCE =
  'The service does not know yet what became of the payment; the same payment is sent again.'

/** Appends evidence to a file that only its owner can read, one JSON object per line. */
function keepIn(path: string): (evidence: PurchaseEvidence) => void {
  return (evidence) => appendFileSync(path, `${jsonLine(evidence)}\n`, { mode: 0o600 })
}

function openSigner({ terminal: { clock } }: AgentCall, config: AgentConfig) {
  const { AGENT_ACCOUNT_ID, AGENT_KEY: privateKey, MIRROR_URL: mirrorUrl } = config
  const lookUp = async (evmAddress: Address) =>
    await resolveAccountId({ mirrorUrl, evmAddress, clock })
  if (privateKey === undefined) return undefined
  return agentSigner({ privateKey, accountId: AGENT_ACCOUNT_ID ?? lookUp })
}

/** What every payment of this call has in common. */
function paymentOptions({ isJson, terminal }: AgentCall, config: AgentConfig) {
  const { RECEIPTS_FILE: path } = config
  return {
    clock: terminal.clock,
    network: config.NETWORK,
    keep: path === undefined ? undefined : keepIn(path),
    onResend: () => {
      if (!isJson) terminal.print(RESEND_SENTENCE)
    },
  }
}

function openTools(call: AgentCall, task: AgentTask, config: AgentConfig): AgentTools {
  const signer = openSigner(call, config)
  const payments = paymentOptions(call, config)
  const agent = createAccessAgent({
    ...payments,
    baseUrl: config.ACCESS_URL,
    serviceName: config.SERVICE_NAME,
    ledger: { rpcUrl: config.LEDGER_RPC_URL, chainId: config.LEDGER_CHAIN_ID },
    agent: task.agent,
    contract: config.ACCESS_CONTRACT,
    maxPaymentTinybar: task.maxPaymentTinybar,
    guardsPurchases: task.guardsPurchases,
    signer,
  })
  return { agent, config, payments, signer }
}

/** The verb for the command runner. */
export const agentVerb =
  (terminal: AgentTerminal) =>
  ({ read, ...verb }: AgentVerb): CommandVerb<ExitCode> => ({
    ...verb,
    usage: [verb.usage, '[--json]'].filter(Boolean).join(' '),
    options: { ...verb.options, json: 'flag' },
    async run({ terminal: found, ...rest }) {
      const call = { ...rest, terminal }
      const task = read(call)
      const tools = openTools(call, task, readEnvironment(found, task))
      try {
        const outcome = await task.run(tools)
        if (typeof outcome === 'number') return outcome
        const address = tools.agent.agent.toLowerCase()
        const lines = call.isJson ? [jsonLine(outcome)] : outcomeLines(outcome, address)
        for (const line of lines) terminal.print(line)
        return EXIT_BY_KIND[outcome.kind]
      } catch (error) {
        const message = explainFailure(error)
        if (message === undefined || !call.isJson) throw error
        terminal.printError(jsonLine({ kind: 'failed', message }))
        return EXIT.failed
      }
    },
  })

/** An option that `read` understands; undefined if it is left out. Throws BadUsage with `message` if it does not. */
function readOption<Value>(
  call: AgentCall,
  name: string,
  { read, message }: { read: (text: string) => Value | undefined; message: string },
): Value | undefined {
  const text = call.text(name)
  const value = text === undefined ? undefined : read(text)
  if (text !== undefined && value === undefined) throw new BadUsage(`--${name} takes ${message}.`)
  return value
}

/** The value of `--max-hbar` or `--hbar`, tinybar. */
export const hbarOption = (call: AgentCall, name: 'hbar' | 'max-hbar'): bigint | undefined =>
  readOption(call, name, { read: parseHbar, message: 'HBAR, with at most 8 decimals' })

/** A whole number from `min` on. */
export const countOption = (call: AgentCall, name: string, min: 0 | 1): number | undefined =>
  readOption(call, name, {
    read: (text) => (/^\d{1,9}$/.test(text) && Number(text) >= min ? Number(text) : undefined),
    message: min === 0 ? 'a whole number of seconds' : 'a whole number above 0',
  })

/** Whose window, if not the signer's own. */
export const forOption = (call: AgentCall): Address | undefined =>
  readOption(call, 'for', {
    read: (text) => (isAddress(text, { strict: false }) ? text : undefined),
    message: 'an EVM address, 0x and 40 hexadecimal digits',
  })

/** Dollars in Circle's USDC, base units. */
export const usdcOption = (call: AgentCall): bigint | undefined =>
  readOption(call, 'max-usdc', {
    read: (text) => (USDC_TEXT.test(text) ? parseUnits(text, USDC_DECIMALS) : undefined),
    message: `dollars, with at most ${USDC_DECIMALS} decimals`,
  })

/** JSON text. */
export const dataOption = (call: AgentCall): string | undefined =>
  readOption(call, 'data', { read: (text) => (hasJson(text) ? text : undefined), message: 'JSON' })

/** The caps in tokens, base units. */
export const tokenOptions = (call: AgentCall): readonly SpendCap[] =>
  call.texts('max-token').map((text) => {
    const [, asset = '', units = ''] = /^(0\.0\.[1-9]\d{0,9})=(\d{1,19})$/.exec(text) ?? []
    if (asset === '')
      throw new BadUsage(
        '--max-token takes a token and base units of it, such as 0.0.429274=10000.',
      )
    return { asset, amountMax: BigInt(units) }
  })

function hasJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
