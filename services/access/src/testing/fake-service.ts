import {
  createLogger,
  type Environment,
  type ManualClock,
  manualClock,
  requireConfig,
} from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { accessConfigSchema } from '../config.ts'
import { type AgentAccounts, ResourceUnavailable } from '../domain/access-parts.ts'
import type { Hex } from '../domain/access-window.ts'
import type { AgentHistory } from '../domain/agent-history.ts'
import { createRelayBudget, type RelayBudget } from '../domain/relay-budget.ts'
import type { SellerHistory } from '../domain/seller-account.ts'
import { USAGE_FIGURES, type UsageFigures } from '../metering/recorder-parts.ts'
import type { UsageCall, UsageOutcome } from '../metering/usage-call.ts'
import type { UsageRecorder } from '../metering/usage-recorder.ts'
import { type AccessService, createAccessService } from '../service.ts'
import { createFakeContract, type FakeContract } from './fake-contract.ts'
import {
  createFakeFacilitator,
  createFakePaymentLog,
  createFakeScheme,
  type FakeFacilitator,
  type FakePayment,
  type FakePaymentLog,
  PAY_TO,
} from './fake-payments.ts'
import { createFakeSender, type FakeSender } from './fake-sender.ts'

export const START_SECONDS = 1_800_000_000
export const AGENT: Hex = '0xaa00000000000000000000000000000000000000'
export const OTHER_AGENT: Hex = '0xbb00000000000000000000000000000000000000'
const RECORDER: Hex = '0x0000000000000000000000000000000000000cec'
export const USAGE_HASH = `0x${'ab'.repeat(32)}`

export type LogLine = Readonly<Record<string, unknown>>

/** Everything outside the process, as fakes that tests set, for what a real ledger rarely does. */
export type Fakes = {
  readonly clock: ManualClock
  readonly contract: FakeContract
  readonly sender: FakeSender
  readonly log: FakePaymentLog
  readonly facilitator: FakeFacilitator
  readonly scheme: ReturnType<typeof createFakeScheme>
  readonly recorded: UsageCall[]
  /** What its processes logged. */
  readonly lines: LogLine[]
  feePayers: readonly string[]
  /** Accounts at the mirror node by EVM address or id; any other is unknown, and a read throws for `down`. */
  readonly accounts: Map<string, Awaited<ReturnType<AgentAccounts['refresh']>> | 'down'>
  usage: UsageOutcome | undefined
  figures: UsageFigures
  isResourceDown: boolean
  recorderGas: { balanceTinybar: bigint; neededTinybar: bigint }
  /** What the mirror node tells of the seller; nothing unless a test sets it. */
  sellerHistory: SellerHistory | undefined
  /** What the mirror node tells of agents; nothing unless a test sets it. */
  agentHistory: AgentHistory | undefined
  /** Without a limit, unless a test sets another before the start. */
  budget: RelayBudget
}

export function createFakes(): Fakes {
  const clock = manualClock(START_SECONDS * 1000)
  const contract = createFakeContract()
  return {
    clock,
    contract,
    sender: createFakeSender(contract, clock),
    log: createFakePaymentLog(START_SECONDS + 1),
    facilitator: createFakeFacilitator(),
    scheme: createFakeScheme(),
    recorded: [],
    lines: [],
    feePayers: ['0.0.9001'],
    accounts: new Map(),
    usage: undefined,
    figures: Object.fromEntries(
      Object.keys(USAGE_FIGURES).map((name) => [name, 0]),
    ) as unknown as UsageFigures,
    isResourceDown: false,
    recorderGas: { balanceTinybar: 1n, neededTinybar: 1n },
    sellerHistory: undefined,
    agentHistory: undefined,
    budget: createRelayBudget({ clock, callsPerMinute: 0 }),
  }
}

const remaining = (call: UsageCall): number => Math.max(0, call.callsAllowed - call.callsUsedInRead)

/** A recorder that counts on the fake contract at once. */
function fakeUsage(fakes: Fakes): UsageRecorder {
  return {
    callsRemaining: remaining,
    leasedCalls: () => 0,
    callsUsed: ({ callsUsedInRead }) => callsUsedInRead,
    async record(call) {
      if (fakes.usage !== undefined) return fakes.usage
      fakes.recorded.push(call)
      return { kind: 'recorded', transactionHash: USAGE_HASH, callsRemaining: remaining(call) - 1 }
    },
    figures: () => fakes.figures,
    close: async () => undefined,
  }
}

type FakeServiceOptions = {
  readonly environment?: Environment
}

/** One process of the service over fakes; `close` closes its application, too. */
export async function startFakeService(
  fakes: Fakes,
  { environment = {} }: FakeServiceOptions = {},
): Promise<AccessService> {
  const config = requireConfig(accessConfigSchema, {
    BASE_URL: 'https://access.example',
    PAY_TO,
    PAY_TO_KEY: '11'.repeat(32),
    RECORDER_KEY: '22'.repeat(32),
    ...environment,
  })
  const readAccount: AgentAccounts['refresh'] = async (name) => {
    const account = fakes.accounts.get(name)
    if (account === 'down') throw new LedgerUnavailable('down')
    return account
  }
  const service = await createAccessService({
    config,
    clock: fakes.clock,
    logger: createLogger({
      name: 'access',
      level: 'info',
      destination: { write: (line: string) => void fakes.lines.push(JSON.parse(line)) },
    }),
    connect: () => ({
      ...fakes,
      accounts: { account: readAccount, refresh: readAccount },
      scheme: { ...fakes.scheme, find: (payment) => fakes.scheme.find(payment) },
      usage: fakeUsage(fakes),
      feePayers: {
        feePayer: () => fakes.feePayers[0],
        feePayers: () => fakes.feePayers,
        state: () => ({ readAtMs: undefined, failure: undefined }),
        close: () => undefined,
      },
      recorder: RECORDER,
      recorderGas: async () => fakes.recorderGas,
      resource: {
        async read() {
          if (fakes.isResourceDown) throw new ResourceUnavailable('down')
          return { temperature: 21 }
        },
      },
    }),
  })
  return {
    ...service,
    async close() {
      await service.app.close()
      await service.close()
    },
  }
}

/** The header of a payment for the challenge that a 402's body carries. */
export function paymentHeader(challenge: unknown, payment: FakePayment): Record<string, string> {
  const { accepts } = challenge as { accepts: object[] }
  const envelope = { x402Version: 2, accepted: accepts[0], payload: payment }
  return { 'payment-signature': Buffer.from(JSON.stringify(envelope)).toString('base64') }
}
