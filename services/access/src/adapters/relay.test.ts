import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '@tallystick/service-kit'
import { afterEach, describe, expect, test } from 'vitest'
import { createRelay, RelayRefusal, RelayUnavailable } from './relay.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

type Call = { readonly id: number; readonly method: string; readonly params: readonly string[] }

/** A node that answers balances: an account's last digits, and an error for an account of zeros. */
async function startNode() {
  const bodies: (Call | readonly Call[])[] = []
  const sockets = new Set<object>()
  const cuts: boolean[] = []
  const answer = ({ id, params: [account = ''] }: Call) => {
    const balance = BigInt(account)
    return balance === 0n
      ? { jsonrpc: '2.0', id, error: { code: -32602, message: 'no such account' } }
      : { jsonrpc: '2.0', id, result: `0x${balance.toString(16)}` }
  }
  const server = createServer((request, response) => {
    sockets.add(request.socket)
    if (cuts.shift() === true) {
      request.socket.destroy()
      return
    }
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(pieces).toString()) as Call | readonly Call[]
      bodies.push(body)
      const answers = 'method' in body ? answer(body) : body.map(answer).toReversed()
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answers))
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    sockets,
    cuts,
  }
}

const account = (value: number): `0x${string}` => `0x${value.toString(16).padStart(40, '0')}`

async function startRelay() {
  const node = await startNode()
  const counted: string[][] = []
  const budget = {
    spent: (methods: readonly string[]) => void counted.push([...methods]),
    refused: () => undefined,
  }
  const relay = createRelay({ url: node.url, clock: systemClock, budget })
  const balance = async (value: number) =>
    BigInt((await relay.read('eth_getBalance', [account(value)])) as string)
  return { ...node, relay, balance, counted }
}

describe('reads', () => {
  test('a read alone is one plain call, and the next one has the same connection', async () => {
    const { balance, bodies, sockets } = await startRelay()
    expect(await balance(7)).toBe(7n)
    expect(await balance(8)).toBe(8n)
    expect(bodies).toMatchObject([{ method: 'eth_getBalance' }, { method: 'eth_getBalance' }])
    expect(sockets.size).toBe(1)
  })

  test('reads of one moment share a request, each with its own answer', async () => {
    const { balance, bodies, counted } = await startRelay()
    const values = Array.from({ length: 120 }, (_, index) => index + 1)
    expect(await Promise.all(values.map(balance))).toEqual(values.map(BigInt))
    expect(bodies.map((body) => ('method' in body ? 1 : body.length))).toEqual([50, 50, 20])
    expect(counted.map(({ length }) => length)).toEqual([50, 50, 20])
  })

  test('one read that fails fails no other of its request', async () => {
    const { balance } = await startRelay()
    const ends = await Promise.allSettled([1, 2, 0, 3].map(balance))
    expect(ends.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect((ends[2] as PromiseRejectedResult).reason).toMatchObject({
      name: 'RelayRefusal',
      details: 'no such account',
    })
  })

  test('a kept connection that the relay has closed costs one more try, and no more', async () => {
    const { balance, cuts } = await startRelay()
    cuts.push(true, false, true, true)
    expect(await balance(5)).toBe(5n)
    await expect(balance(6)).rejects.toBeInstanceOf(RelayUnavailable)
  })
})

/** A relay that answers everything so. */
async function startRefusing(status: number, body: string) {
  const server = createServer((_request, response) => response.writeHead(status).end(body))
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  let rateLimits = 0
  const relay = createRelay({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clock: systemClock,
    budget: {
      spent: () => undefined,
      refused: () => {
        rateLimits += 1
      },
    },
  })
  return { relay, rateLimits: () => rateLimits }
}

describe('A25: too many requests', () => {
  const error = { code: -32605, message: 'IP Rate limit exceeded on eth_call' }
  const refusal = JSON.stringify({ jsonrpc: '2.0', id: 0, error })
  test.each([
    ['the code of Hedera’s relay', 429, refusal],
    ['the same inside a batch', 200, JSON.stringify([JSON.parse(refusal)])],
    ['HTTP’s status with any text', 429, 'slow down'],
  ])('%s: reported once for a read, and nothing was looked at', async (_name, status, body) => {
    const { relay, rateLimits } = await startRefusing(status, body)
    const reads = body.startsWith('[') ? [relay.read('a', []), relay.read('b', [])] : []
    const failure = await (reads[0] ?? relay.read('a', [])).catch((thrown: unknown) => thrown)
    expect(failure).toMatchObject({ name: 'RelayUnavailable', isRateLimit: true })
    expect(failure).toMatchObject({ nothingSent: true })
    await Promise.allSettled(reads)
    expect(rateLimits()).toBe(1)
  })

  test('a send that is refused so says nothing about reads', async () => {
    const { relay, rateLimits } = await startRefusing(429, refusal)
    await expect(relay.send('0x01')).rejects.toMatchObject({ nothingSent: true })
    expect(rateLimits()).toBe(0)
  })
})

describe('sends', () => {
  test('go once, whatever becomes of them', async () => {
    const { relay, cuts, bodies, counted } = await startRelay()
    cuts.push(true)
    await expect(relay.send('0x01')).rejects.toBeInstanceOf(RelayUnavailable)
    expect(bodies).toEqual([])
    expect(counted).toEqual([['eth_sendRawTransaction']])
    await expect(relay.send('0x00')).rejects.toBeInstanceOf(RelayRefusal)
  })
})
