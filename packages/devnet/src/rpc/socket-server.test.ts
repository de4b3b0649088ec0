import { manualClock } from '@tallystick/service-kit'
import { WebSocketProvider } from 'ethers'
import { createPublicClient, type Hex, webSocket } from 'viem'
import { hederaTestnet } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { type Devnet, startDevnet } from '../start-devnet.ts'
import { accountNamed, rpc, type TestClient, viemClient } from '../testing/test-clients.fixture.ts'
import { LOGGING_CONTRACT } from '../testing/tiny-contracts.fixture.ts'

const TOPIC = `0x${'2a'.padStart(64, '0')}` as const
const OTHER_TOPIC = `0x${'2b'.padStart(64, '0')}` as const
/** How often and how long a condition is polled, milliseconds: it ends a hang. */
const POLL = { interval: 20, timeout: 120_000 }

let devnet: Devnet
let client: TestClient
let contract: Hex
let otherContract: Hex

beforeAll(async () => {
  devnet = await startDevnet()
  client = viemClient(devnet, accountNamed(devnet, 'agent-1'))
  contract = await deploy()
  otherContract = await deploy()
})
afterAll(async () => {
  await devnet.stop()
})

async function deploy(): Promise<Hex> {
  const hash = await client.deployContract({ abi: [], bytecode: LOGGING_CONTRACT })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  if (contractAddress == null) throw new Error('nothing was deployed')
  return contractAddress
}

const wsUrl = (target: Devnet = devnet): string => target.rpcUrl.replace('http', 'ws')
const log = (to: Hex, data: Hex = '0x11') => client.sendTransaction({ to, data })
const waitForReceipt = (hash: Hex) => client.waitForTransactionReceipt({ hash })

type Message = {
  id?: number | null
  result?: unknown
  error?: { code: number; message: string }
  params?: { subscription: string; result: { number?: Hex; transactionHash?: Hex } }
}

/** A socket without a client library: what it received, and a call with its answer. */
async function openSocket(url = wsUrl()) {
  const socket = new WebSocket(url)
  const received: Message[] = []
  let closedWith: number | undefined
  socket.on('message', (data: Buffer) => received.push(JSON.parse(data.toString()) as Message))
  socket.on('close', (code) => {
    closedWith = code
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  let lastId = 0
  const call = async (method: string, params: readonly unknown[] = []): Promise<Message> => {
    lastId += 1
    const id = lastId
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return vi.waitUntil(() => received.find((message) => message.id === id), POLL)
  }
  const notices = () => received.flatMap(({ params }) => params ?? [])
  return { socket, received, call, notices, closedWith: () => closedWith }
}

describe('L2: WebSocket on the port of JSON-RPC', () => {
  test('viem watches blocks and events over it, and calls what it likes', async () => {
    const transport = webSocket(wsUrl(), { reconnect: false })
    const watcher = createPublicClient({ chain: hederaTestnet, transport })
    const numbers: bigint[] = []
    const hashes: Hex[] = []
    expect(await watcher.getChainId()).toBe(296)
    const stopBlocks = watcher.watchBlockNumber({ onBlockNumber: (n) => numbers.push(n) })
    const stopEvents = watcher.watchEvent({
      address: contract,
      onLogs: (logs) => hashes.push(...logs.map(({ transactionHash }) => transactionHash)),
    })
    // Both subscriptions are there once later calls of the same socket are answered.
    await watcher.getBlockNumber()
    await watcher.getBlockNumber()
    await log(otherContract)
    const sent = [await log(contract), await log(contract)]
    await vi.waitUntil(() => hashes.length >= 2, POLL)
    expect(hashes).toEqual(sent)
    const { blockNumber } = await waitForReceipt(sent[1] as Hex)
    await vi.waitUntil(() => numbers.includes(blockNumber), POLL)
    stopBlocks()
    stopEvents()
    ;(await watcher.transport.getRpcClient()).close()
  })

  test('ethers hears blocks and filtered events over it', async () => {
    const provider = new WebSocketProvider(wsUrl(), 296)
    const heads: number[] = []
    const hashes: string[] = []
    await provider.on('block', (number: number) => heads.push(number))
    await provider.on(
      { address: contract, topics: [TOPIC] },
      (found: { transactionHash: string }) => hashes.push(found.transactionHash),
    )
    await provider.on({ address: contract, topics: [OTHER_TOPIC] }, () => hashes.push('another'))
    await provider.getBlockNumber()
    const hash = await log(contract)
    await vi.waitUntil(() => hashes.length > 0, POLL)
    const { blockNumber } = await waitForReceipt(hash)
    await vi.waitUntil(() => heads.includes(Number(blockNumber)), POLL)
    expect(hashes).toEqual([hash])
    await provider.destroy()
  })

  test('newHeads tells every block once, in order, as eth_getBlockByNumber shows it', async () => {
    const { call, notices, socket } = await openSocket()
    const { result: id } = await call('eth_subscribe', ['newHeads'])
    const hashes = [await log(contract), await log(contract), await log(contract)]
    const last = (await waitForReceipt(hashes[2] as Hex)).blockNumber
    await vi.waitUntil(() => BigInt(notices().at(-1)?.result.number ?? 0) >= last, POLL)
    const heads = notices()
    expect(heads.every(({ subscription }) => subscription === id)).toBe(true)
    const numbers = heads.map(({ result }) => Number(result.number))
    expect(numbers).toEqual(numbers.map((_, at) => Number(numbers[0]) + at))
    const shown = await rpc(devnet, 'eth_getBlockByNumber', [heads[0]?.result.number, false])
    expect(heads[0]?.result).toEqual(shown.result)
    socket.terminate()
  })

  test('what is unsubscribed, or of a closed socket, is told no more', async () => {
    const { call, notices, socket } = await openSocket()
    const ids = [
      (await call('eth_subscribe', ['logs', { address: contract }])).result,
      (await call('eth_subscribe', ['logs', { address: otherContract }])).result,
    ]
    expect((await call('eth_unsubscribe', [ids[0]])).result).toBe(true)
    expect((await call('eth_unsubscribe', [ids[0]])).result).toBe(false)
    await log(contract)
    const hash = await log(otherContract)
    await vi.waitUntil(() => notices().length > 0, POLL)
    expect(notices()).toMatchObject([{ subscription: ids[1], result: { transactionHash: hash } }])
    socket.terminate()
  })

  test.each([
    ['another event', ['pendingLogs'], /Unsupported JSON-RPC method/],
    [
      'an address without a contract',
      ['logs', { address: `0x${'12'.repeat(20)}` }],
      /is not a valid contract or token type or does not exists/,
    ],
    ['topics of another form', ['logs', { topics: ['0x12'] }], /topics/],
    ['no event', [], /Unsupported JSON-RPC method/],
  ])('eth_subscribe to %s is refused in the relay’s words', async (_what, params, words) => {
    const { call, socket } = await openSocket()
    const { error } = await call('eth_subscribe', params)
    expect(error?.message).toMatch(words)
    socket.terminate()
  })

  test('two addresses in a filter are refused, the same filter is the same subscription, and the eleventh is one too many', async () => {
    const { call, socket } = await openSocket()
    const two = await call('eth_subscribe', ['logs', { address: [contract, otherContract] }])
    expect(two.error?.message).toMatch(/Only one contract address is allowed/)
    const first = await call('eth_subscribe', ['logs', { address: contract }])
    expect(await call('eth_subscribe', ['logs', { address: contract }])).toMatchObject({
      result: first.result,
    })
    for (let n = 1; n < 10; n += 1) {
      const topics = [`0x${String(n).padStart(64, '0')}`]
      expect((await call('eth_subscribe', ['logs', { topics }])).error).toBeUndefined()
    }
    const { error } = await call('eth_subscribe', ['newHeads'])
    expect(error).toMatchObject({ code: -32608 })
    expect(error?.message).toMatch(/Exceeded maximum allowed subscriptions/)
    expect((await rpc(devnet, 'eth_subscribe', ['newHeads'])).error?.code).toBe(-32601)
    socket.terminate()
  })

  test('batches, words that are no JSON and messages that are too large are answered or end the socket', async () => {
    const { received, socket, closedWith } = await openSocket()
    const call = { jsonrpc: '2.0', method: 'eth_chainId', params: [] }
    socket.send(
      JSON.stringify([
        { ...call, id: 1 },
        { ...call, id: 2 },
      ]),
    )
    await vi.waitUntil(() => received.length === 1, POLL)
    expect(received[0]).toMatchObject([{ result: '0x128' }, { result: '0x128' }])
    socket.send(JSON.stringify(Array.from({ length: 21 }, (_, id) => ({ ...call, id }))))
    socket.send('{')
    await vi.waitUntil(() => received.length === 3, POLL)
    const answers: unknown[] = received
    for (const code of [-32203, -32600]) {
      const error = expect.objectContaining({ code })
      expect(answers).toContainEqual(expect.objectContaining({ error }))
    }
    socket.send('x'.repeat(1_048_577))
    await vi.waitUntil(() => closedWith() !== undefined, POLL)
    expect(closedWith()).toBe(1009)
  })

  test('an edge that is cut off ends its sockets and takes no new ones until it is back', async () => {
    const { closedWith } = await openSocket()
    devnet.controls.setUnavailable({ rpc: true })
    await vi.waitUntil(() => closedWith() !== undefined, POLL)
    await expect(openSocket()).rejects.toThrow(/socket hang up|ECONNRESET/)
    devnet.controls.setUnavailable({ rpc: false })
    const { call, socket } = await openSocket()
    expect((await call('eth_chainId')).result).toBe('0x128')
    socket.terminate()
  })
})

test('L2: a socket that is silent for five minutes is closed with 4002, and stop ends the others', async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const own = await startDevnet({ clock })
  const silent = await openSocket(wsUrl(own))
  clock.advanceMs(200_000)
  const busy = await openSocket(wsUrl(own))
  clock.advanceMs(100_000)
  await vi.waitUntil(() => silent.closedWith() !== undefined, POLL)
  expect(silent.closedWith()).toBe(4002)
  expect(silent.received).toMatchObject([{ error: { code: 4002 } }])
  expect((await busy.call('eth_chainId')).result).toBe('0x128')
  await own.stop()
  await vi.waitUntil(() => busy.closedWith() !== undefined, POLL)
})

test('L2: an answer that comes after its socket has closed leaves no timer behind', async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const waiting = new Set<() => void>()
  const counted = {
    ...clock,
    after(ms: number, run: () => void) {
      const cancel = clock.after(ms, run)
      if (ms === 300_000) waiting.add(cancel)
      return () => {
        waiting.delete(cancel)
        cancel()
      }
    },
  }
  const own = await startDevnet({ clock: counted })
  const { socket, closedWith } = await openSocket(wsUrl(own))
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['0x2', true] }
  const batch = JSON.stringify(Array.from({ length: 20 }, () => call))
  for (let n = 0; n < 40; n += 1) socket.send(batch)
  socket.close()
  await vi.waitUntil(() => closedWith() !== undefined, POLL)
  await own.stop()
  expect(waiting.size).toBe(0)
})
