// Agents that buy a window at three processes of access at once, and then call through the proxy.
import { setTimeout as pause } from 'node:timers/promises'
import { accessWindowAbi } from '@tallystick/contracts'
import type { DevnetAccount } from '@tallystick/devnet'
import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import { createPublicClient, http } from 'viem'
import { type ReplicaStack, startReplicaStack } from '../replica-stack.ts'
import { untilStarted } from './care-cluster.ts'
import type { CallSeen, PaymentSeen } from './check-payments.ts'
import { AGAIN_MS_MAX, PAYMENT_MS_MAX } from './grading-cluster.ts'
import { startProxy } from './round-robin-proxy.ts'

const HBAR = 100_000_000n
const FUNDS_TINYBAR = 100n * HBAR
/** Longer than any run: no window ends in it. */
const PERIOD_SECONDS = 7_200
/** More than an agent calls. */
const CALLS_ALLOWED = 10_000
/** Four periods of 3 HBAR. */
const PRICE_TINYBAR = 12n * HBAR
const ANSWER_MS_MAX = 10_000
const AGAIN_MS = 250

type Answer = { readonly status: number; readonly body: { readonly accepts?: readonly object[] } }

async function askAccess(
  baseUrl: string,
  { evmAddress }: DevnetAccount,
  header?: string,
): Promise<Answer> {
  const headers = header === undefined ? {} : { 'payment-signature': header }
  const signal = AbortSignal.timeout(ANSWER_MS_MAX)
  try {
    const url = `${baseUrl}/api/svc/access?agent=${evmAddress}`
    const answer = await fetch(url, { headers, signal })
    return { status: answer.status, body: (await answer.json()) as Answer['body'] }
  } catch {
    return { status: 0, body: {} }
  }
}

type Sale = { readonly agent: DevnetAccount; readonly header: string }

const isDefinite = ({ status }: Answer): boolean => status > 0 && status < 500 && status !== 429

/** One process, until it answers definitely. */
async function payAt(baseUrl: string, { agent, header }: Sale, endMs: number) {
  while (performance.now() < endMs) {
    const answer = await askAccess(baseUrl, agent, header)
    // Who pays first opens the window for all: their bodies differ.
    if (isDefinite(answer)) return [{ status: answer.status, text: '' }]
    await pause(AGAIN_MS)
  }
  return []
}

export async function startAccessCluster() {
  const stack = await startReplicaStack({
    periodSeconds: PERIOD_SECONDS,
    callsAllowed: CALLS_ALLOWED,
  })
  const proxy = await startProxy(stack.baseUrls.map((url) => Number(new URL(url).port)))
  const agents = new Map<string, DevnetAccount>()
  const sales = new Map<string, Sale>()
  /** Amid a fault it asks again; the test's own limit ends a hang. */
  const sign = async (agent: DevnetAccount): Promise<string> => {
    for (;;) {
      const { body } = await askAccess(proxy.url, agent)
      const [accepted] = body.accepts ?? []
      if (accepted !== undefined) {
        const scheme = new ExactHederaClient({ signer: hederaSigner(agent) })
        const { payload } = await scheme.createPaymentPayload(2, accepted as never)
        const envelope = { x402Version: 2, accepted, payload }
        return Buffer.from(JSON.stringify(envelope)).toString('base64')
      }
      await pause(AGAIN_MS)
    }
  }
  const sendEverywhere = async (
    id: string,
    sale: Sale,
    { limitMs = PAYMENT_MS_MAX, startMs = Date.now() },
  ): Promise<PaymentSeen> => {
    const endMs = performance.now() + limitMs
    let firstMs: number | undefined
    const answers = await Promise.all(
      stack.baseUrls.map(async (url) => {
        const answer = await payAt(url, sale, endMs)
        if (answer.length > 0) firstMs ??= Date.now()
        return answer
      }),
    )
    return { id, startMs, firstMs, answers: answers.flat() }
  }
  return {
    name: 'access',
    /** A new agent buys a window. */
    async pay(at: number): Promise<PaymentSeen> {
      const account = { name: `agent-of-load-${at}`, balanceTinybar: FUNDS_TINYBAR }
      const agent = await stack.devnet.createAccount(account)
      const startMs = Date.now()
      const id = agent.evmAddress.toLowerCase()
      agents.set(id, agent)
      const sale = { agent, header: await sign(agent) }
      sales.set(id, sale)
      return sendEverywhere(id, sale, { startMs })
    },
    /** Sends everything once more, whatever was answered. */
    async payAgain(): Promise<readonly PaymentSeen[]> {
      const seen: PaymentSeen[] = []
      for (const [id, sale] of sales)
        seen.push(await sendEverywhere(id, sale, { limitMs: AGAIN_MS_MAX }))
      return seen
    },
    /** Calls in its window, through the proxy. */
    async call(id: string): Promise<CallSeen> {
      const agent = agents.get(id)
      if (agent === undefined) throw new Error(`${id} has bought nothing`)
      const { status } = await askAccess(proxy.url, agent)
      return { id, status }
    },
    charges: () => readCharges(stack, [...agents.values()]),
    effects: () => readOpenings(stack),
    signal: (at: number, signal: 'SIGSTOP' | 'SIGCONT') => stack.signal(at, signal),
    async killAndRestart(at: number): Promise<void> {
      await stack.kill(at)
      await untilStarted(() => stack.restart(at))
    },
    async stop(): Promise<void> {
      proxy.stop()
      await stack.stop()
    },
  }
}

export type AccessCluster = Awaited<ReturnType<typeof startAccessCluster>>

/** An agent for each price that it has spent. */
async function readCharges(
  stack: ReplicaStack,
  agents: readonly DevnetAccount[],
): Promise<readonly string[]> {
  const charges = await Promise.all(
    agents.map(async (agent) => {
      const spent = FUNDS_TINYBAR - (await stack.balanceTinybar(agent))
      const times = Number((spent + PRICE_TINYBAR - 1n) / PRICE_TINYBAR)
      return Array.from({ length: times }, () => agent.evmAddress.toLowerCase())
    }),
  )
  return charges.flat()
}

/** Blocks that one question for logs may span, as the public relay has it. */
const LOG_BLOCKS_MAX = 1_000n

/** An agent for each payment that the contract took. */
async function readOpenings({ contract, devnet }: ReplicaStack): Promise<readonly string[]> {
  const client = createPublicClient({ transport: http(devnet.rpcUrl) })
  const newest = await client.getBlockNumber()
  const agents: string[] = []
  for (let fromBlock = 0n; fromBlock <= newest; fromBlock += LOG_BLOCKS_MAX) {
    const events = await client.getContractEvents({
      abi: accessWindowAbi,
      address: contract,
      eventName: 'PaymentConsumed',
      fromBlock,
      toBlock: fromBlock + LOG_BLOCKS_MAX - 1n,
    })
    agents.push(...events.map(({ args }) => String(args.agent).toLowerCase()))
  }
  return agents
}
