// A local ledger and a facilitator for the tests of the operator's verbs, and a way to run one command line against them.
import { Readable } from 'node:stream'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import { startFacilitator } from '@tallystick/facilitator'
import type { Clock, ListeningService } from '@tallystick/service-kit'
import { createHttpFacilitator } from '@tallystick/x402'
import { ExactHederaClient, hederaRequirement, hederaSigner } from '@tallystick/x402/hedera'
import { type Address, createPublicClient, http, type PublicClient } from 'viem'
import { deployAccessWindow, LOCAL_OFFER } from './deploy.ts'
import { REFUND_SLOT_SECONDS } from './refund.ts'
import { runOperator } from './run-operator.ts'

/** The tests' own accounts, so that nothing depends on the names of the ledger's roles. */
const ROLES = ['owner', 'pay-to', 'recorder', 'fee-payer'] as const
/** 10,000 HBAR. */
const ROLE_BALANCE_TINYBAR = 1_000_000_000_000n

/** Tinybar. */
export const HBAR = 100_000_000n
/** One purchase at the local default: 4 periods of 3 HBAR. */
export const PURCHASE_TINYBAR = 12n * HBAR

/** What a command line printed, and how it ended. */
type OperatorResult = { readonly code: number; readonly out: string; readonly err: string }

/** A transfer as a client would pay it. */
type TestPayment = {
  readonly from: DevnetAccount
  readonly amountTinybar: bigint
  readonly memo?: string
}

type OperatorStack = {
  readonly devnet: Devnet
  readonly facilitatorUrl: string
  readonly clock: Clock
  /** Moves ledger, facilitator and command into the next slot of refunds. */
  nextSlot(): void
  account(name: string): DevnetAccount
  /** Runs `access-operator` with the stack's environment; `extra` adds variables or, with '', removes them. */
  run(line: readonly string[], extra?: Readonly<Record<string, string>>): Promise<OperatorResult>
  /** A native transfer to payTo through the facilitator, as a client would pay. Returns its transaction id. */
  pay(payment: TestPayment): Promise<string>
  stop(): Promise<void>
}

/** The machine's clock, moved so that a refund's slot has just begun: a test never waits for the next one. */
function clockInsideSlot(): Clock & { moveMs(ms: number): void } {
  const intoSlotMs = Date.now() % (REFUND_SLOT_SECONDS * 1_000)
  let offsetMs = 20_000 - intoSlotMs
  return {
    unixMs: () => Date.now() + offsetMs,
    after(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    moveMs(ms) {
      offsetMs += ms
    },
  }
}

type Payees = {
  readonly facilitator: ListeningService
  readonly clock: Clock
  readonly feePayer: DevnetAccount
  readonly payTo: DevnetAccount
}

async function payThrough(at: Payees, payment: TestPayment): Promise<string> {
  const { from, amountTinybar, memo } = payment
  const { accountId, privateKey } = from
  const client = new ExactHederaClient({
    signer: hederaSigner({ accountId, privateKey }),
    clock: at.clock,
    ...(memo === undefined ? {} : { memo }),
  })
  const requirement = hederaRequirement({
    network: 'hedera:testnet',
    amountTinybar,
    payTo: at.payTo.accountId,
    feePayer: at.feePayer.accountId,
  })
  const { payload } = await client.createPaymentPayload(2, {
    ...requirement,
    network: 'hedera:testnet',
    extra: { ...requirement.extra },
  })
  const facilitator = createHttpFacilitator({ url: at.facilitator.url, clock: at.clock })
  const settlement = await facilitator.settle(
    { x402Version: 2, payload, accepted: requirement },
    requirement,
  )
  if (!settlement.success) throw new Error(`not settled: ${settlement.errorReason}`)
  return settlement.transaction
}

/** Starts ledger and facilitator on free ports. */
async function startOperatorStack(): Promise<OperatorStack> {
  const clock = clockInsideSlot()
  const devnet = await startDevnet({ clock, wallClock: clock })
  for (const role of ROLES) {
    await devnet.createAccount({ name: `test ${role}`, balanceTinybar: ROLE_BALANCE_TINYBAR })
  }
  const account = (name: string): DevnetAccount => {
    const known = ROLES.some((role) => role === name) ? `test ${name}` : name
    const found = devnet.accounts.find((each) => each.name === known)
    if (found === undefined) throw new Error(`no account named ${name}`)
    return found
  }
  const feePayer = account('fee-payer')
  const { address, nodeAccountId } = devnet.consensus
  const facilitator = await startFacilitator({
    clock,
    network: 'hedera:testnet',
    consensusNodes: [{ address, accountId: nodeAccountId }],
    mirrorUrl: devnet.mirrorUrl,
    feePayer: feePayer.accountId,
    feePayerKey: feePayer.privateKey,
  })
  const environment = {
    LEDGER_RPC_URL: devnet.rpcUrl,
    MIRROR_URL: devnet.mirrorUrl,
    FACILITATOR_URL: facilitator.url,
    PAY_TO: account('pay-to').accountId,
    PAY_TO_KEY: account('pay-to').privateKey,
    OWNER_KEY: account('owner').privateKey,
    RECORDER_KEY: account('recorder').privateKey,
  }
  return {
    devnet,
    facilitatorUrl: facilitator.url,
    clock,
    nextSlot: () => clock.moveMs(REFUND_SLOT_SECONDS * 1_000),
    account,
    async run(line, extra = {}) {
      const out: string[] = []
      const err: string[] = []
      const code = await runOperator({
        arguments: line,
        environment: { ...environment, ...extra },
        clock,
        stdin: Readable.from([]),
        print: (text) => out.push(text),
        printError: (text) => err.push(text),
      })
      return { code, out: out.join('\n'), err: err.join('\n') }
    },
    pay: (payment) =>
      payThrough({ facilitator, clock, feePayer, payTo: account('pay-to') }, payment),
    async stop() {
      await facilitator.stop()
      await devnet.stop()
    },
  }
}

/** A stack with a contract on it, of 20 s periods and a reserve of 50 HBAR. */
export type DeployedStack = OperatorStack & {
  readonly contract: Address
  /** The variables that `deploy` said to set. */
  readonly deployed: { readonly ACCESS_CONTRACT: Address }
  readonly reader: PublicClient
}

export async function startDeployedStack(): Promise<DeployedStack> {
  const stack = await startOperatorStack()
  const { contract } = await deployAccessWindow({
    rpcUrl: stack.devnet.rpcUrl,
    chainId: stack.devnet.chainId,
    ownerKey: stack.account('owner').privateKey,
    forwarder: stack.account('pay-to').evmAddress,
    recorders: [stack.account('recorder').evmAddress],
    offer: LOCAL_OFFER,
    reserveTinybar: 50n * HBAR,
  })
  return {
    ...stack,
    contract,
    deployed: { ACCESS_CONTRACT: contract },
    reader: createPublicClient({ transport: http(stack.devnet.rpcUrl) }),
  }
}
