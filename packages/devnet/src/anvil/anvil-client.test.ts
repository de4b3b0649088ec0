import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, describe, expect, test } from 'vitest'
import {
  type AnvilClient,
  AnvilRefused,
  AnvilUnavailable,
  createAnvilClient,
} from './anvil-client.ts'

/** More than there are connections, so that some wait for one. */
const MESSAGES = 40
const LIMIT_MS = 20_000

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** Resolves once the calls of this tick have left. */
const thisMoment = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

type StandIn = { readonly client: AnvilClient; readonly clock: ManualClock }

/** A client of a server that answers as scripted. */
async function openClient(answer: RequestListener): Promise<StandIn> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port')
  const clock = manualClock(0)
  const client = createAnvilClient({ host: '127.0.0.1', port: address.port }, clock)
  closers.push(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  return { client, clock }
}

describe('an anvil that hangs', () => {
  test('is reported: every call fails at its limit, even those that wait for a connection', async () => {
    const { client, clock } = await openClient(() => {})
    const mines = Array.from({ length: MESSAGES }, () => client.batch([['evm_mine']]))
    const reads = [client.call('eth_blockNumber'), client.call('eth_gasPrice')]
    const outcomes = Promise.allSettled([...mines, ...reads])
    await thisMoment()
    clock.advanceMs(LIMIT_MS)
    for (const outcome of await outcomes) {
      if (outcome.status === 'fulfilled') throw new Error('a call was answered')
      expect(outcome.reason).toBeInstanceOf(AnvilUnavailable)
      expect(outcome.reason.cause.message).toBe('no answer within 20000 ms')
    }
  })

  test('is also reported if it stops in the middle of its answer', async () => {
    const { client, clock } = await openClient((_request, response) => {
      response.write('{"jsonrpc"', () => {
        clock.advanceMs(LIMIT_MS)
      })
    })
    await expect(client.call('eth_blockNumber')).rejects.toThrow(AnvilUnavailable)
  })
})

/** Answers `evm_mine` with a refusal and anything else with its method; batches are answered in reverse. */
async function answering(): Promise<StandIn & { readonly messages: string[][] }> {
  const messages: string[][] = []
  type Call = { readonly id: number; readonly method: string }
  const answer = ({ id, method }: Call): object =>
    method === 'evm_mine'
      ? { jsonrpc: '2.0', id, error: { code: -1, message: 'no' } }
      : { jsonrpc: '2.0', id, result: method }
  const standIn = await openClient((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    request.on('end', () => {
      const body = JSON.parse(text) as Call | Call[]
      messages.push([body].flat().map(({ method }) => method))
      const answers = Array.isArray(body) ? body.map(answer).toReversed() : answer(body)
      response.end(JSON.stringify(answers))
    })
  })
  return { ...standIn, messages }
}

describe('an anvil that answers', () => {
  test('clears the time limit, even by refusing', async () => {
    const { client, clock } = await answering()
    expect(await client.call('eth_blockNumber')).toBe('eth_blockNumber')
    await expect(client.call('evm_mine')).rejects.toThrow(AnvilRefused)
    clock.advanceMs(LIMIT_MS)
    expect(await client.call('eth_gasPrice')).toBe('eth_gasPrice')
  })

  test('gets the single calls of one tick in one message, at most a hundred; each has its own outcome', async () => {
    const { client, messages } = await answering()
    const reads = Array.from({ length: 119 }, (_, index) => client.call(`read-${index}`))
    const outcomes = await Promise.allSettled([...reads, client.call('evm_mine')])
    expect(messages.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([20, 100])
    for (const [index, outcome] of outcomes.slice(0, 119).entries())
      expect(outcome).toEqual({ status: 'fulfilled', value: `read-${index}` })
    expect(outcomes.at(-1)).toMatchObject({ status: 'rejected', reason: { name: 'AnvilRefused' } })
  })

  test('gets a batch as its own message, in order', async () => {
    const { client, messages } = await answering()
    const read = client.call('read')
    const batch = client.batch([['stamp'], ['fill']])
    expect(await Promise.all([read, batch])).toEqual(['read', ['stamp', 'fill']])
    expect(messages).toContainEqual(['stamp', 'fill'])
    expect(messages).toContainEqual(['read'])
  })
})
