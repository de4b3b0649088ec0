import { accessWindowAbi } from '@tallystick/contracts'
import type { Clock } from '@tallystick/service-kit'
import { toFunctionSelector } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Hex } from './domain/access-window.ts'
import { type FaultyEdge, startFaultyEdge } from './testing/faulty-edge.ts'
import {
  createServiceCalls,
  type LocalStack,
  type RunningService,
  type ServiceCalls,
  startLocalStack,
  until,
  untilInTime,
} from './testing/local-stack.ts'

/** A request of the relay: the methods of its calls. */
type RelayRequest = readonly string[]

type Call = {
  readonly method: string
  readonly params: readonly [string | { readonly data?: string }]
}

const functions = new Map(
  accessWindowAbi.flatMap((item) =>
    item.type === 'function' ? [[toFunctionSelector(item), item.name]] : [],
  ),
)

/** The method, or the contract's function that it calls. */
const nameCall = ({ method, params: [call] }: Call): string =>
  functions.get((typeof call === 'object' ? call.data?.slice(0, 10) : undefined) as Hex) ?? method

const RECEIPT = 'eth_getTransactionReceipt'

/**
 * The clock of a machine, which can be held: while it is, what was read grows no older however slow the machine is, and what
 * waits in the background waits on.
 */
function holdable(clock: Clock) {
  let heldAtMs: number | undefined
  let holds = 0
  const parked = new Set<() => void>()
  return {
    unixMs: () => heldAtMs ?? clock.unixMs(),
    after(ms: number, run: () => void) {
      const madeIn = holds
      const cancel = clock.after(ms, () => {
        if (heldAtMs === undefined || madeIn === holds) run()
        else parked.add(run)
      })
      return () => {
        cancel()
        parked.delete(run)
      }
    },
    hold: (): void => {
      heldAtMs = clock.unixMs()
      holds += 1
    },
    advanceMs: (ms: number): void => {
      heldAtMs = (heldAtMs ?? clock.unixMs()) + ms
    },
    release: (): void => {
      heldAtMs = undefined
      for (const run of parked) run()
      parked.clear()
    },
  }
}

let stack: LocalStack
let edge: FaultyEdge
let service: RunningService
let calls: ServiceCalls
let clock: ReturnType<typeof holdable>
/** A receipt counts once: how often one asks depends on how long the ledger takes. */
const requests: RelayRequest[] = []
const receipts = new Set<unknown>()
let requestsInAll = 0
let requestsUnderWay = 0
/** What sends wait for. */
let sending: Promise<void> | undefined
/** After so long the relay gives a send up, milliseconds. */
const SEND_LIMIT_MS = 15_000

beforeAll(async () => {
  stack = await startLocalStack({ periodSeconds: 3_600, callsAllowed: 1_000 })
  edge = await startFaultyEdge(stack.devnet.rpcUrl)
  edge.intercept(async ({ body }, forward) => {
    const messages = [JSON.parse(body) as Call | Call[]].flat()
    const methods = messages.map(nameCall)
    const isAskedAgain = messages.every(
      ({ method, params }) => method === RECEIPT && receipts.has(params[0]),
    )
    for (const { method, params } of messages) if (method === RECEIPT) receipts.add(params[0])
    requestsInAll += 1
    requestsUnderWay += 1
    if (!isAskedAgain) requests.push(methods)
    if (methods.includes('eth_sendRawTransaction')) await sending
    return forward().finally(() => {
      requestsUnderWay -= 1
    })
  })
  clock = holdable(stack.devnet.clock)
  const change = { LEDGER_RPC_URL: edge.url, RELAY_CALLS_PER_MINUTE: '0' }
  service = await stack.startService(change, { clock })
  calls = createServiceCalls(service)
  await untilInTime(stack, calls.isReady)
})
afterAll(async () => {
  await edge?.stop()
  await stack?.stop()
})
beforeEach(() => {
  requests.length = 0
})
afterEach(() => {
  sending = undefined
  clock.release()
})

/** In ledger time, longer than the service waits between two requests of one matter. */
const REST_STEPS = 8
const SECONDS_PER_STEP = 0.05

/** Nothing is asked any more: no request is under way, and none is made as time passes. */
async function atRest(): Promise<void> {
  await until(async () => {
    const before = requestsInAll
    for (let step = 0; step < REST_STEPS; step += 1) {
      await stack.devnet.controls.advanceSeconds(SECONDS_PER_STEP)
      // Takes as long as requests take on this machine at present: what a step began has asked by then.
      await fetch(`${service.baseUrl}/health`)
    }
    return requestsUnderWay === 0 && before === requestsInAll
  })
}

/** Requests that a call may wait for. */
const reads = (): readonly RelayRequest[] =>
  requests.filter(([first]) => first !== 'eth_sendRawTransaction' && first !== RECEIPT)

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

describe('requests of the relay', () => {
  test('a purchase takes 8 at most, from the challenge to the answer', async () => {
    const agent = await stack.agent('buyer')
    await atRest()
    clock.hold()
    requests.length = 0
    expect((await calls.pay(agent)).status).toBe(200)
    expect(requests.length).toBeLessThanOrEqual(8)
  })

  test('A18: a call that a lease covers asks for nothing, and is served while the relay is silent', async () => {
    const agent = await withLease('leased')
    clock.hold()
    // Its lease's next calls, and conditions of the ledger that are a second old.
    expect((await calls.call(agent)).status).toBe(200)
    await atRest()
    clock.advanceMs(1_000)
    requests.length = 0
    expect((await calls.call(agent)).status).toBe(200)
    expect(requests).toEqual([])
    stack.devnet.controls.setUnavailable({ rpc: true })
    try {
      clock.advanceMs(2_500)
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
    clock.hold()
    requests.length = 0
    const release = Promise.withResolvers<void>()
    sending = release.promise
    const startMs = performance.now()
    expect((await calls.call(agent.evmAddress)).status).toBe(200)
    expect(performance.now() - startMs).toBeLessThan(SEND_LIMIT_MS)
    expect(reads().length).toBeLessThanOrEqual(1)
    release.resolve()
    clock.release()
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

  test('A12: a hundred polls of one agent in a moment take two at most', async () => {
    const agent = await stack.agent('polled')
    expect((await calls.pay(agent)).status).toBe(200)
    await atRest()
    clock.hold()
    requests.length = 0
    const url = `${service.baseUrl}/api/svc/status?agent=${agent.evmAddress}`
    const statuses = new Set<number>()
    for (let polls = 0; polls < 100; polls += 1) statuses.add((await fetch(url)).status)
    expect([...statuses]).toEqual([200])
    expect(requests.length).toBeLessThanOrEqual(2)
  })
})

/** How long that ledger takes for a send: a call that waited for one would take longer. */
const SEND_MS = 8_000

describe('a ledger like the testnet’s', () => {
  test('A10: every call of an agent that has bought is answered before a send is, and none is lost', async () => {
    const agent = await stack.agent('testnet')
    expect((await calls.pay(agent)).status).toBe(200)
    await atRest()
    const { controls } = stack.devnet
    // Longer than a read serves, and less than reads lag from now on: the next one is of before the purchase.
    await controls.advanceSeconds(2.1)
    controls.likeTestnet({
      sendLatencyMs: { min: SEND_MS, max: SEND_MS },
      answerLoss: { rpc: 0, mirror: 0, consensus: 0 },
    })
    try {
      const delaysMs: number[] = []
      for (let made = 0; made < 30; made += 1) {
        const startMs = stack.devnet.clock.unixMs()
        expect((await calls.call(agent.evmAddress)).status).toBe(200)
        delaysMs.push(stack.devnet.clock.unixMs() - startMs)
        await controls.advanceSeconds(0.2)
      }
      expect(Math.max(...delaysMs)).toBeLessThan(SEND_MS)
    } finally {
      controls.answerPromptly()
    }
    await untilInTime(stack, async () => {
      const status = await fetch(`${service.baseUrl}/api/svc/status?agent=${agent.evmAddress}`)
      const { usage } = (await status.json()) as { readonly usage: { readonly callsUsed: number } }
      return usage.callsUsed >= 31
    })
  })
})
