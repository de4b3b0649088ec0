// From an argument list and an environment to an agent, a verb and an exit code.
import { appendFileSync } from 'node:fs'
import { type Clock, LedgerUnavailable } from '@tallystick/x402'
import { createMirrorNode, HBAR_ASSET } from '@tallystick/x402/hedera'
import type { Address } from 'viem'
import { type AccessAgent, type AgentSigner, createAccessAgent } from '../access-agent.ts'
import { AccessServiceUnavailable } from '../access-outcome.ts'
import { AccountUnknown, agentSigner, resolveAccountId } from '../agent-signer.ts'
import { buy, ShopUnavailable } from '../buy.ts'
import { findUsdc } from '../money-sentence.ts'
import type { SpendCap } from '../paid-request.ts'
import type { PurchaseEvidence } from '../purchase-evidence.ts'
import { type AgentOutput, EXIT, type ExitCode, jsonLine } from './output.ts'
import { type AgentArguments, readArguments } from './read-arguments.ts'
import { type AgentConfig, type Environment, readEnvironment } from './read-environment.ts'
import { runWatch } from './run-watch.ts'
import { type Outcome, outcomeLines } from './sentences.ts'

type AgentRun = {
  readonly arguments: readonly string[]
  readonly environment: Environment
  readonly clock: Clock
  readonly output: AgentOutput
  /** Registers what to run at Ctrl-C or SIGTERM. Only `watch` uses it; the other verbs end as any program does. */
  readonly onInterrupt: (run: () => void) => void
}

const RESEND_SENTENCE =
  'The service does not know yet what became of the payment; the same payment is sent again.'

const EXIT_OF: Readonly<Record<Outcome['kind'], ExitCode>> = {
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

const USAGE = `tallystick-agent: pay once for access, and watch the window renew itself

  pay [--max-hbar N] [--for 0x…]   call the resource; if no window is open, pay at most N HBAR (a gift with --for) and
                                   guard the new window, unless --unguarded
  status [--for 0x…]               window, balance and calls; free
  watch [--until-renewals N] [--for 0x…]
                                   see the window count down and renew; ends after N renewals
  watch --ends-within SECONDS      ends with code 7 when the paid time ends within SECONDS, or 8 when access has ended,
                                   and says why
  cancel                           end renewals and get the rest of the balance back
  topup --hbar N [--for 0x…]       add to the balance of an open window
  guard on|off                     whether calls in the window must prove the agent's key; off, whoever knows the
                                   agent's address can use the window up
  buy URL [--data JSON] [--max-hbar N] [--max-usdc N] [--max-token 0.0.x=UNITS]
                                   call any shop that takes x402 on Hedera (with --data by POST), and pay at most that: a cap
                                   in one asset allows no other; without one, say the price

  --json                           one JSON object per outcome, amounts in tinybar or a token's base units

Environment: AGENT_KEY (or AGENT_KEY_FILE), AGENT_ACCOUNT_ID (looked up when absent), ACCESS_URL, SERVICE_NAME,
ACCESS_CONTRACT, LEDGER_RPC_URL, LEDGER_CHAIN_ID, MIRROR_URL, NETWORK, RECEIPTS_FILE (gets what the service signs
about each payment). A key is never taken from an argument. buy needs the key, MIRROR_URL and NETWORK alone.

Exit codes: 0 done, 1 refused or a dependency is down, 2 bad argument or variable, 3 a payment is needed and not
allowed by a cap, 4 quota spent, 5 a payment is pending (do not pay again), 6 nothing to cancel, top up or watch,
7 the paid time ends within --ends-within, 8 access has ended`

/** Appends evidence to a file that only its owner can read, one JSON object per line. */
function keepIn(path: string): (evidence: PurchaseEvidence) => void {
  return (evidence) => appendFileSync(path, `${jsonLine(evidence)}\n`, { mode: 0o600 })
}

function openSigner(config: AgentConfig, clock: Clock): AgentSigner | undefined {
  const { AGENT_ACCOUNT_ID, AGENT_KEY: privateKey, MIRROR_URL: mirrorUrl } = config
  const lookUp = async (evmAddress: Address) =>
    await resolveAccountId({ mirrorUrl, evmAddress, clock })
  return privateKey && agentSigner({ privateKey, accountId: AGENT_ACCOUNT_ID ?? lookUp })
}

/** What every payment of this run has in common. */
function paymentOptions(options: AgentArguments, config: AgentConfig, run: AgentRun) {
  const { RECEIPTS_FILE: path } = config
  return {
    clock: run.clock,
    network: config.NETWORK,
    keep: path === undefined ? undefined : keepIn(path),
    onResend: () => {
      if (!options.isJson) run.output.print(RESEND_SENTENCE)
    },
  }
}

function openAgent(options: AgentArguments, config: AgentConfig, run: AgentRun): AccessAgent {
  return createAccessAgent({
    ...paymentOptions(options, config, run),
    baseUrl: config.ACCESS_URL,
    serviceName: config.SERVICE_NAME,
    ledger: { rpcUrl: config.LEDGER_RPC_URL, chainId: config.LEDGER_CHAIN_ID },
    agent: options.agent,
    contract: config.ACCESS_CONTRACT,
    maxPaymentTinybar: options.maxPaymentTinybar,
    guardsPurchases: !options.isUnguarded,
    signer: openSigner(config, run.clock),
  })
}

async function runBuy(
  options: AgentArguments,
  config: AgentConfig,
  run: AgentRun,
): Promise<Outcome> {
  const signer = openSigner(config, run.clock)
  if (signer === undefined) throw new Error('buy without a key')
  const caps: SpendCap[] = [...options.tokenCaps]
  const { maxPaymentTinybar, maxUsdcUnits } = options
  if (maxPaymentTinybar !== undefined)
    caps.push({ asset: HBAR_ASSET, amountMax: maxPaymentTinybar })
  const usdc = findUsdc(config.NETWORK)
  if (maxUsdcUnits !== undefined && usdc !== undefined)
    caps.push({ asset: usdc.id, amountMax: maxUsdcUnits })
  return await buy({
    ...paymentOptions(options, config, run),
    url: options.url,
    json: options.data,
    signer,
    caps,
    mirror: createMirrorNode({ url: config.MIRROR_URL, clock: run.clock }),
  })
}

async function runVerb(
  options: AgentArguments,
  config: AgentConfig,
  run: AgentRun,
): Promise<ExitCode> {
  const { isJson, verb } = options
  const { clock, onInterrupt, output } = run
  const agent = openAgent(options, config, run)
  if (verb === 'watch') {
    return await runWatch({ ...options, agent, clock, output, onInterrupt })
  }
  const verbs: Readonly<Record<typeof verb, () => Promise<Outcome>>> = {
    pay: () => agent.access(),
    status: () => agent.status(),
    cancel: () => agent.cancel(),
    topup: () => agent.topUp(options.amountTinybar ?? 0n),
    guard: () => agent.guard(options.isGuarded),
    buy: () => runBuy(options, config, run),
  }
  const outcome = await verbs[verb]()
  const lines = isJson ? [jsonLine(outcome)] : outcomeLines(outcome, agent.agent.toLowerCase())
  for (const line of lines) output.print(line)
  return EXIT_OF[outcome.kind]
}

/** The message of a failure that a person can act on; undefined for a bug. */
function expectedFailure(error: unknown): string | undefined {
  const isExpected =
    error instanceof AccessServiceUnavailable ||
    error instanceof ShopUnavailable ||
    error instanceof LedgerUnavailable ||
    error instanceof AccountUnknown
  return isExpected ? error.message : undefined
}

/** Runs one command line and returns its exit code. Bugs throw. */
export async function runAgent(run: AgentRun): Promise<ExitCode> {
  const reading = readArguments(run.arguments)
  if (reading.kind === 'help') {
    run.output.print(USAGE)
    return EXIT.done
  }
  if (reading.kind === 'invalid') {
    run.output.printError(reading.message)
    return EXIT.usage
  }
  const options = reading.arguments
  const isReading = options.verb === 'status' || options.verb === 'watch'
  const isKeyNeeded = !isReading || options.agent === undefined
  const isContractNeeded = options.verb === 'topup'
  const environment = readEnvironment(run.environment, { isKeyNeeded, isContractNeeded })
  if (environment.kind === 'invalid') {
    run.output.printError(environment.message)
    return EXIT.usage
  }
  for (const warning of environment.warnings) run.output.printError(warning)
  const { NETWORK } = environment.config
  if (options.maxUsdcUnits !== undefined && findUsdc(NETWORK) === undefined) {
    run.output.printError(`Nobody knows USDC on ${NETWORK}: allow a token by --max-token.`)
    return EXIT.usage
  }
  try {
    return await runVerb(options, environment.config, run)
  } catch (error) {
    const message = expectedFailure(error)
    if (message === undefined) throw error
    run.output.printError(options.isJson ? jsonLine({ kind: 'failed', message }) : message)
    return EXIT.failed
  }
}
