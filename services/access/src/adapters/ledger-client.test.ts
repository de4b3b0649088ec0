import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createReadingClient } from './ledger-client.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

type Call = { readonly id: number; readonly method: string; readonly params: readonly string[] }

/** A node that answers balances: an account's last digits, and an error for an account of zeros. */
async function startNode() {
  const bodies: (Call | readonly Call[])[] = []
  const answer = ({ id, params: [account = ''] }: Call) => {
    const balance = BigInt(account)
    return balance === 0n
      ? { jsonrpc: '2.0', id, error: { code: -32602, message: 'no such account' } }
      : { jsonrpc: '2.0', id, result: `0x${balance.toString(16)}` }
  }
  const server = createServer((request, response) => {
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
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies }
}

const account = (value: number): `0x${string}` => `0x${value.toString(16).padStart(40, '0')}`

test('a read alone is one plain call', async () => {
  const { bodies, url } = await startNode()
  const client = createReadingClient(url)
  expect(await client.getBalance({ address: account(7) })).toBe(7n)
  expect(await client.getBalance({ address: account(8) })).toBe(8n)
  expect(bodies).toMatchObject([{ method: 'eth_getBalance' }, { method: 'eth_getBalance' }])
})

test('reads that come while one is under way share a request, each with its own answer', async () => {
  const { bodies, url } = await startNode()
  const client = createReadingClient(url)
  const accounts = Array.from({ length: 120 }, (_, index) => index + 1)
  const read = await Promise.all(
    accounts.map((value) => client.getBalance({ address: account(value) })),
  )
  expect(read).toEqual(accounts.map(BigInt))
  expect(bodies.map((body) => ('method' in body ? 1 : body.length))).toEqual([1, 50, 50, 19])
})

test('one read that fails fails no other of its request', async () => {
  const { url } = await startNode()
  const client = createReadingClient(url)
  const reads = [1, 2, 0, 3].map((value) => client.getBalance({ address: account(value) }))
  const ends = await Promise.allSettled(reads)
  expect(ends.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
})
