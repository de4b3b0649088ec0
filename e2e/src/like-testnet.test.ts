// Two real processes over one contract on a ledger that is as slow, late, limited and lossy as the public one: agents buy, and
// call around the seconds at which their windows end, some of them more than their quota allows. `npm run test:long` makes
// more than 10,000 such calls, at nine ends of windows.
import { setTimeout as pause } from 'node:timers/promises'
import { accessWindowAbi } from '@tallystick/contracts'
import type { DevnetAccount } from '@tallystick/devnet'
import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import { createPublicClient, http, parseEventLogs } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ReplicaStack, startReplicaStack } from './replica-stack.ts'

const isLong = process.env['TALLYSTICK_LONG'] === '1'
const HBAR = 100_000_000n
const FUNDS_TINYBAR = 100n * HBAR
/** So many that no agent's money runs out before the slowest of them has bought and the last end is over. */
const PERIODS = 24
const PURCHASE_TINYBAR = 3n * HBAR * BigInt(PERIODS)
const REPLICAS = 2
/** Long enough that what is read of a window, seconds late, is still of that window. */
const PERIOD_SECONDS = 30
/** So many that a modest agent's calls never wait for receipts (A11: below 200 left they do), and fewer than a greedy one's. */
const CALLS_ALLOWED = 300
const GREEDY = { agents: 1, callsEach: 40 }
const MODEST = { agents: isLong ? 10 : 1, callsEach: 8 }
/** Ends of paid windows, one after another. */
const ENDS = isLong ? 9 : 1
/** Seconds around a window's end at which every agent calls at every process. */
const VOLLEYS = [-2, -1, 0, 1, 3]
const CALLS =
  (GREEDY.agents * GREEDY.callsEach + MODEST.agents * MODEST.callsEach) *
  REPLICAS *
  VOLLEYS.length *
  ENDS
/** Until a payment that nobody knows the fate of has been found on the ledger. */
const PURCHASE_MS_MAX = 240_000
const RESEND_MS = 2_000
/** What the relay reads of logs at once. */
const LOG_BLOCKS = 1_000n

type Body = {
  readonly error?: string
  readonly accepts?: readonly object[]
  readonly subscription?: { readonly expiresAt: number }
}
type Answer = { readonly status: number; readonly body: Body }

let stack: ReplicaStack

beforeAll(async () => {
  const offer = {
    periodSeconds: PERIOD_SECONDS,
    callsAllowed: CALLS_ALLOWED,
    periodsPerPurchase: PERIODS,
  }
  stack = await startReplicaStack(offer, REPLICAS)
  stack.devnet.controls.likeTestnet()
})
afterAll(() => stack.stop())

async function call(at: number, agent: DevnetAccount, header?: string): Promise<Answer> {
  const headers = header === undefined ? {} : { 'payment-signature': header }
  const url = `${stack.baseUrls[at % REPLICAS]}/api/svc/access?agent=${agent.evmAddress}`
  const answer = await fetch(url, { headers })
  return { status: answer.status, body: (await answer.json()) as Body }
}

/** Asks until there is a challenge, since a read may be lost. */
async function challengeFor(at: number, agent: DevnetAccount): Promise<object> {
  for (const endMs = performance.now() + PURCHASE_MS_MAX; performance.now() < endMs; ) {
    const { body } = await call(at, agent)
    const [accepted] = body.accepts ?? []
    if (accepted !== undefined) return accepted
    await pause(RESEND_MS)
  }
  throw new Error('nothing is on sale')
}

/** Signs one payment and sends it until it is served. Returns the window's end. */
async function buy(at: number, agent: DevnetAccount): Promise<number> {
  const accepted = await challengeFor(at, agent)
  const scheme = new ExactHederaClient({
    signer: hederaSigner(agent),
    memo: `x402:${agent.evmAddress}`,
  })
  const { payload } = await scheme.createPaymentPayload(2, accepted as never)
  const payment = { x402Version: 2, accepted, payload }
  const header = Buffer.from(JSON.stringify(payment)).toString('base64')
  const seen: string[] = []
  for (const endMs = performance.now() + PURCHASE_MS_MAX; performance.now() < endMs; ) {
    const { status, body } = await call(at, agent, header)
    if (status === 200) return body.subscription?.expiresAt ?? 0
    seen.push(`${status} ${body.error}`)
    await pause(RESEND_MS)
  }
  throw new Error(`the window was not sold: ${seen.join(', ')}`)
}

const spentTinybar = async (agent: DevnetAccount): Promise<bigint> =>
  FUNDS_TINYBAR - (await stack.balanceTinybar(agent))

type Caller = { readonly agent: DevnetAccount; readonly callsEach: number }

/** How often each agent was served in each window, each answer was given, and the answers that fit no paid window. */
class Tally {
  readonly served = new Map<string, number>()
  readonly answers = new Map<string, number>()
  readonly odd: string[] = []

  note(agent: DevnetAccount, offset: number, { status, body }: Answer): void {
    const answer = `${status} ${body.error ?? ''}`.trimEnd()
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1)
    const window = `${agent.evmAddress} ${body.subscription?.expiresAt}`.toLowerCase()
    if (status === 200) this.served.set(window, (this.served.get(window) ?? 0) + 1)
    else if (status !== 429 && status !== 502) this.odd.push(`${offset} s: ${status} ${body.error}`)
  }
}

/** Volleys around one end, each at its second: a call that waits for its receipt holds up no other. */
async function crossEnd(callers: readonly Caller[], endsAt: number, tally: Tally): Promise<void> {
  const calls: Promise<void>[] = []
  for (const offset of VOLLEYS) {
    await pause(Math.max(0, (endsAt + offset - stack.devnet.nowSeconds()) * 1_000))
    for (const { agent, callsEach } of callers)
      for (let at = 0; at < REPLICAS * callsEach; at += 1)
        calls.push(call(at, agent).then((answer) => tally.note(agent, offset, answer)))
  }
  await Promise.all(calls)
}

/** What the contract says of each window: its count, and calls that it refused or that came too late to count (A11). */
async function usageEvents(): Promise<Readonly<Record<UsageEvent, ReadonlyMap<string, number>>>> {
  const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
  const said = {
    UsageRecorded: new Map<string, number>(),
    UsageRefused: new Map<string, number>(),
    UsageLate: new Map<string, number>(),
  }
  const head = await client.getBlockNumber()
  for (let fromBlock = 0n; fromBlock <= head; fromBlock += LOG_BLOCKS) {
    const toBlock = fromBlock + LOG_BLOCKS - 1n
    const logs = await client.getLogs({ address: stack.contract, fromBlock, toBlock })
    const eventName = Object.keys(said) as UsageEvent[]
    for (const event of parseEventLogs({ abi: accessWindowAbi, logs, eventName })) {
      const window = `${event.args.agent} ${event.args.windowExpiresAt}`.toLowerCase()
      const before = said[event.eventName].get(window) ?? 0
      const calls =
        event.eventName === 'UsageRecorded'
          ? Math.max(before, event.args.callsUsed)
          : before + event.args.calls
      said[event.eventName].set(window, calls)
    }
  }
  return said
}

type UsageEvent = 'UsageRecorded' | 'UsageRefused' | 'UsageLate'

async function newCallers({ agents, callsEach }: typeof GREEDY, name: string): Promise<Caller[]> {
  const made = Array.from({ length: agents }, (_, at) =>
    stack.devnet.createAccount({ name: `${name}-${at}`, balanceTinybar: FUNDS_TINYBAR }),
  )
  return (await Promise.all(made)).map((agent) => ({ agent, callsEach }))
}

it(`A8, A9, A11: like testnet: each purchase is charged once, and of ${CALLS} calls at window ends none is a false 402 and none over quota`, async () => {
  const callers = [...(await newCallers(GREEDY, 'greedy')), ...(await newCallers(MODEST, 'modest'))]
  const ends = await Promise.all(callers.map(({ agent }, at) => buy(at, agent)))
  // Windows that were bought seconds apart end seconds apart: the volleys are around the first.
  const soonest = stack.devnet.nowSeconds() + 3
  const passed = Math.max(0, Math.ceil((soonest - Math.min(...ends)) / PERIOD_SECONDS))
  const firstEnd = Math.min(...ends) + passed * PERIOD_SECONDS
  const tally = new Tally()
  for (let end = 0; end < ENDS; end += 1)
    await crossEnd(callers, firstEnd + end * PERIOD_SECONDS, tally)
  console.info('answers:', Object.fromEntries(tally.answers))
  expect(tally.odd).toEqual([])
  for (const { agent } of callers)
    expect(
      [...tally.served.keys()].some((key) => key.startsWith(agent.evmAddress.toLowerCase())),
    ).toBe(true)
  stack.devnet.controls.answerPromptly()
  const { UsageRecorded, UsageRefused, UsageLate } = await usageEvents()
  const over = [...tally.served, ...UsageRecorded]
  expect(over.filter(([, calls]) => calls > CALLS_ALLOWED)).toEqual([])
  console.info('refused:', Object.fromEntries(UsageRefused), 'late:', Object.fromEntries(UsageLate))
  for (const { agent } of callers) expect(await spentTinybar(agent)).toBe(PURCHASE_TINYBAR)
})
