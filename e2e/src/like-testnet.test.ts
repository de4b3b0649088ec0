// Two real processes over one contract on a ledger that is as slow, late, limited and lossy as the public one: agents buy, and
// call around the seconds at which their windows end. `npm run test:long` makes more than 10,000 such calls.
import { setTimeout as pause } from 'node:timers/promises'
import type { DevnetAccount } from '@tallystick/devnet'
import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ReplicaStack, startReplicaStack } from './replica-stack.ts'

const isLong = process.env['TALLYSTICK_LONG'] === '1'
const HBAR = 100_000_000n
const FUNDS_TINYBAR = 100n * HBAR
/** So many that no agent's money runs out before the slowest of them has bought. */
const PERIODS = 16
const PURCHASE_TINYBAR = 3n * HBAR * BigInt(PERIODS)
const REPLICAS = 2
/** Long enough that what is read of a window, seconds late, is still of that window. */
const PERIOD_SECONDS = 30
/** Fewer than the calls of a window, so that quotas are spent too. */
const CALLS_ALLOWED = 24
const AGENTS = isLong ? 12 : 2
const CALLS_EACH = 4
/** Ends of paid windows, at which an agent stays in. */
const ENDS = isLong ? 3 : 1
/** Seconds around a window's end at which every agent calls at every process. */
const VOLLEYS = [-2, -1, 0, 1, 3]
const CALLS_A_ROUND = AGENTS * REPLICAS * CALLS_EACH * VOLLEYS.length * ENDS
const ROUNDS = isLong ? Math.ceil(10_000 / CALLS_A_ROUND) : 1
/** Until a payment that nobody knows the fate of has been found on the ledger. */
const PURCHASE_MS_MAX = 240_000
const RESEND_MS = 2_000

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
}, 90_000)
afterAll(() => stack.stop(), 40_000)

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

/** How often each agent was served in each window, and the answers that are no part of an open window. */
type Tally = { readonly served: Map<string, number>; readonly odd: string[] }

async function crossEnd(agents: readonly DevnetAccount[], endsAt: number): Promise<Tally> {
  const served = new Map<string, number>()
  const odd: string[] = []
  for (const offset of VOLLEYS) {
    await pause(Math.max(0, (endsAt + offset - stack.devnet.nowSeconds()) * 1_000))
    const volley = agents.flatMap((agent) =>
      Array.from({ length: REPLICAS * CALLS_EACH }, async (_, at) => {
        const { status, body } = await call(at, agent)
        const window = `${agent.name} ${body.subscription?.expiresAt}`
        if (status === 200) served.set(window, (served.get(window) ?? 0) + 1)
        else if (status !== 429 && status !== 502) odd.push(`${offset} s: ${status} ${body.error}`)
      }),
    )
    await Promise.all(volley)
  }
  return { served, odd }
}

it.each(Array.from({ length: ROUNDS }, (_, round) => round))(
  `A8, A9, A11: like testnet, round %i of ${ROUNDS}: each purchase is charged once, and of ${CALLS_A_ROUND} calls at window ends none is a false 402 and none over quota`,
  async (round) => {
    const agents = await Promise.all(
      Array.from({ length: AGENTS }, (_, at) =>
        stack.devnet.createAccount({ name: `slow-${round}-${at}`, balanceTinybar: FUNDS_TINYBAR }),
      ),
    )
    const ends = await Promise.all(agents.map((agent, at) => buy(at, agent)))
    const served = new Map<string, number>()
    // Windows that were bought seconds apart end seconds apart: the volleys are around the first.
    const passed = Math.max(
      0,
      Math.ceil((stack.devnet.nowSeconds() + 3 - Math.min(...ends)) / PERIOD_SECONDS),
    )
    const firstEnd = Math.min(...ends) + passed * PERIOD_SECONDS
    for (let end = 0; end < ENDS; end += 1) {
      const tally = await crossEnd(agents, firstEnd + end * PERIOD_SECONDS)
      expect(tally.odd).toEqual([])
      for (const [window, times] of tally.served)
        served.set(window, (served.get(window) ?? 0) + times)
    }
    expect(served.size).toBeGreaterThan(0)
    expect([...served].filter(([, times]) => times > CALLS_ALLOWED)).toEqual([])
    stack.devnet.controls.answerPromptly()
    for (const agent of agents) expect(await spentTinybar(agent)).toBe(PURCHASE_TINYBAR)
    stack.devnet.controls.likeTestnet()
  },
  PURCHASE_MS_MAX + ENDS * PERIOD_SECONDS * 4_000,
)
