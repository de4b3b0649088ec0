import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { type ManualClock, manualClock } from '../testing/manual-clock.ts'
import {
  type AnvilClient,
  AnvilRefused,
  AnvilUnavailable,
  createAnvilClient,
} from './anvil-client.ts'

/** More than there are connections, so that some wait for one. */
const CALLS = 40
const LIMIT_MS = 20_000

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

type StandIn = { readonly client: AnvilClient; readonly clock: ManualClock }

/** A client of a server that answers as told. */
async function clientOf(answer: RequestListener): Promise<StandIn> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port')
  const clock = manualClock(0)
  const client = createAnvilClient(address.port, clock)
  closers.push(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  return { client, clock }
}

describe('an anvil that stands still', () => {
  test('is named: every call fails at its limit, those that wait for a connection too', async () => {
    const { client, clock } = await clientOf(() => {})
    const calls = Array.from({ length: CALLS }, () => client.call('eth_blockNumber'))
    const outcomes = Promise.allSettled([...calls, client.batch([['evm_mine']])])
    clock.advanceMs(LIMIT_MS)
    for (const outcome of await outcomes) {
      if (outcome.status === 'fulfilled') throw new Error('a call was answered')
      expect(outcome.reason).toBeInstanceOf(AnvilUnavailable)
      expect(outcome.reason.cause.message).toBe('no answer within 20000 ms')
    }
  })

  test('is named also where it stops amid its answer', async () => {
    const { client, clock } = await clientOf((_request, response) => {
      response.write('{"jsonrpc"', () => {
        clock.advanceMs(LIMIT_MS)
      })
    })
    await expect(client.call('eth_blockNumber')).rejects.toThrow(AnvilUnavailable)
  })
})

test('an answer cancels the limit, a refusal as well', async () => {
  const { client, clock } = await clientOf((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      const { id, method } = JSON.parse(body) as { id: number; method: string }
      const outcome = method === 'evm_mine' ? { error: { code: -1, message: 'no' } } : { result: 7 }
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
    })
  })
  expect(await client.call('eth_blockNumber')).toBe(7)
  await expect(client.call('evm_mine')).rejects.toThrow(AnvilRefused)
  clock.advanceMs(LIMIT_MS)
  expect(await client.call('eth_blockNumber')).toBe(7)
})
