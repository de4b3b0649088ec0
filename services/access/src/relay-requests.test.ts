import { accessWindowAbi } from '@tallystick/contracts'
import { toFunctionSelector } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Hex } from './domain/access-window.ts'
import { type FaultyEdge, startFaultyEdge } from './testing/faulty-edge.ts'
import {
  callsOf,
  type LocalStack,
  type RunningService,
  type ServiceCalls,
  startLocalStack,
  until,
} from './testing/local-stack.ts'

/** A request of the relay: the methods of its calls. */
type RelayRequest = readonly string[]

type Call = { readonly method: string; readonly params: readonly [{ readonly data?: string }] }

const functions = new Map(
  accessWindowAbi.flatMap((item) =>
    item.type === 'function' ? [[toFunctionSelector(item), item.name]] : [],
  ),
)

/** The method, or the contract's function that it calls. */
const nameOf = ({ method, params: [call] }: Call): string =>
  functions.get(call?.data?.slice(0, 10) as Hex) ?? method

let stack: LocalStack
let edge: FaultyEdge
let service: RunningService
let calls: ServiceCalls
const requests: RelayRequest[] = []
/** How long a send takes, milliseconds. */
let sendMs = 0

beforeAll(async () => {
  stack = await startLocalStack({ periodSeconds: 3_600, callsAllowed: 1_000 })
  edge = await startFaultyEdge(stack.devnet.rpcUrl)
  edge.intercept(async ({ body }, forward) => {
    const message = JSON.parse(body) as Call | Call[]
    const methods = [message].flat().map(nameOf)
    requests.push(methods)
    if (methods.includes('eth_sendRawTransaction')) await new Promise((r) => setTimeout(r, sendMs))
    return forward()
  })
  service = await stack.startService({ LEDGER_RPC_URL: edge.url, RELAY_CALLS_PER_MINUTE: '0' })
  calls = callsOf(service)
  await until(calls.isReady, 20_000)
}, 60_000)
afterAll(async () => {
  await edge?.stop()
  await stack?.stop()
})
beforeEach(() => {
  sendMs = 0
  requests.length = 0
})

/** Nothing is asked any more. */
async function atRest(): Promise<void> {
  let before = -1
  await until(async () => {
    const isSame = before === requests.length
    before = requests.length
    await new Promise((resolve) => setTimeout(resolve, 400))
    return isSame && before === requests.length
  }, 20_000)
}

/** Requests that a call may wait for. */
const reads = (): readonly RelayRequest[] =>
  requests.filter(
    ([first]) => first !== 'eth_sendRawTransaction' && first !== 'eth_getTransactionReceipt',
  )

/** Makes calls until the agent's lease covers the next ones. */
async function withLease(name: string): Promise<string> {
  const agent = await stack.agent(name)
  expect((await calls.pay(agent)).status).toBe(200)
  for (let made = 0; made < 4; made += 1) {
    expect((await calls.call(agent.evmAddress)).status).toBe(200)
    await atRest()
  }
  return agent.evmAddress
}

describe('requests of the relay', { timeout: 60_000 }, () => {
  test('a purchase takes 8 at most, from the challenge to the answer', async () => {
    const agent = await stack.agent('buyer')
    await atRest()
    requests.length = 0
    expect((await calls.pay(agent)).status).toBe(200)
    expect(requests.length).toBeLessThanOrEqual(8)
  })

  test('A18: a call that a lease covers asks for nothing, and is served while the relay is silent', async () => {
    const agent = await withLease('leased')
    // Its lease's next calls, and conditions of the ledger that are a second old.
    expect((await calls.call(agent)).status).toBe(200)
    await atRest()
    requests.length = 0
    expect((await calls.call(agent)).status).toBe(200)
    expect(requests).toEqual([])
    stack.devnet.controls.setUnavailable({ rpc: true })
    try {
      await new Promise((resolve) => setTimeout(resolve, 2_500))
      expect((await calls.call(agent)).status).toBe(200)
    } finally {
      stack.devnet.controls.setUnavailable({ rpc: false })
    }
    await atRest()
  })

  test('a lone metered call waits for one at most, and for no send, once the process has its nonce', async () => {
    const agent = await stack.agent('lone')
    expect((await calls.pay(agent)).status).toBe(200)
    await stack.devnet.controls.advanceSeconds(30)
    await atRest()
    requests.length = 0
    sendMs = 3_000
    const startMs = performance.now()
    expect((await calls.call(agent.evmAddress)).status).toBe(200)
    expect(performance.now() - startMs).toBeLessThan(sendMs)
    expect(reads().length).toBeLessThanOrEqual(1)
    await atRest()
  })

  test('sixty calls of one agent, one a second, take fewer than one each, with their sends and receipts', async () => {
    const agent = await stack.agent('steady')
    expect((await calls.pay(agent)).status).toBe(200)
    await atRest()
    requests.length = 0
    for (let made = 0; made < 60; made += 1) {
      expect((await calls.call(agent.evmAddress)).status).toBe(200)
      await stack.devnet.controls.advanceSeconds(1)
    }
    await atRest()
    expect(requests.length).toBeLessThanOrEqual(60)
  })

  test('A12: a hundred polls of one agent in a second take two at most', async () => {
    const agent = await stack.agent('polled')
    expect((await calls.pay(agent)).status).toBe(200)
    await atRest()
    requests.length = 0
    const url = `${service.baseUrl}/api/svc/status?agent=${agent.evmAddress}`
    const statuses = new Set<number>()
    for (let polls = 0; polls < 100; polls += 1) statuses.add((await fetch(url)).status)
    expect([...statuses]).toEqual([200])
    expect(requests.length).toBeLessThanOrEqual(2)
  })
})

describe('a ledger like the testnet’s', { timeout: 120_000 }, () => {
  test('A10: every call of an agent that has bought is answered long before a send is, and none is lost', async () => {
    const agent = await stack.agent('testnet')
    expect((await calls.pay(agent)).status).toBe(200)
    await atRest()
    const { controls } = stack.devnet
    controls.likeTestnet({
      sendLatencyMs: { min: 8_000, max: 8_000 },
      answerLoss: { rpc: 0, mirror: 0, consensus: 0 },
    })
    try {
      const delaysMs: number[] = []
      for (let made = 0; made < 30; made += 1) {
        const startMs = performance.now()
        expect((await calls.call(agent.evmAddress)).status).toBe(200)
        delaysMs.push(performance.now() - startMs)
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
      expect(Math.max(...delaysMs)).toBeLessThan(4_000)
    } finally {
      controls.answerPromptly()
    }
    await until(async () => {
      const status = await fetch(`${service.baseUrl}/api/svc/status?agent=${agent.evmAddress}`)
      const { usage } = (await status.json()) as { readonly usage: { readonly callsUsed: number } }
      return usage.callsUsed >= 31
    }, 60_000)
  })
})
