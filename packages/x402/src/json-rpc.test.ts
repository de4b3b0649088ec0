/** Calls to a node, together where they are made together. */
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ScriptedServer, scriptedServer } from '../../testing/scripted-server.fixture.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import { hexSchema } from './evm-words.ts'
import { CallReverted, createJsonRpc } from './json-rpc.ts'

let server: ScriptedServer
beforeEach(async () => {
  server = await scriptedServer()
})
afterEach(async () => {
  await server.close()
})

type Message = { readonly id: number; readonly method: string }
const rpc = () => createJsonRpc({ url: server.url, clock: manualClock(0) })
const result = ({ id, method }: Message) => ({ jsonrpc: '2.0', id, result: `0x${method}` })
const ok = (json: unknown) => ({ status: 200, body: JSON.stringify(json) })
/** A node that answers batches in reverse. */
const batching = (body: unknown) =>
  ok(Array.isArray(body) ? body.map(result).toReversed() : result(body as Message))

describe('calls of one turn', () => {
  test('are one request, and each gets its own answer', async () => {
    server.answer = batching
    const call = rpc()
    const answers = await Promise.all(['aa', 'bb', 'cc'].map((one) => call(hexSchema, one, [])))
    expect(answers).toEqual(['0xaa', '0xbb', '0xcc'])
    expect(server.requests).toHaveLength(1)
  })

  test('one call alone is no batch', async () => {
    server.answer = batching
    expect(await rpc()(hexSchema, 'aa', [])).toBe('0xaa')
    expect(server.requests[0]?.body).toEqual({ jsonrpc: '2.0', id: 0, method: 'aa', params: [] })
  })

  test('at most 20 go in one request', async () => {
    server.answer = batching
    const call = rpc()
    await Promise.all(Array.from({ length: 45 }, () => call(hexSchema, 'aa', [])))
    expect(server.requests.map(({ body }) => (body as object[]).length)).toEqual([20, 20, 5])
  })

  test('a node that takes no batches gets them one by one', async () => {
    server.answer = (body) =>
      Array.isArray(body) ? ok({ error: { code: -32_600, message: 'batch' } }) : batching(body)
    const call = rpc()
    const answers = await Promise.all(['aa', 'bb'].map((one) => call(hexSchema, one, [])))
    expect(answers).toEqual(['0xaa', '0xbb'])
    expect(server.requests).toHaveLength(3)
  })

  test('one that reverts, or is left out, fails alone', async () => {
    server.answer = (body) => {
      const [first, , third] = body as Message[]
      const error = { code: 3, message: 'execution reverted' }
      return ok([{ id: first?.id, error }, third && result(third)])
    }
    const call = rpc()
    const [reverted, missing, third] = await Promise.allSettled(
      ['aa', 'bb', 'cc'].map((one) => call(hexSchema, one, [])),
    )
    expect(reverted).toMatchObject({ status: 'rejected', reason: expect.any(CallReverted) })
    expect(missing).toMatchObject({ status: 'rejected', reason: expect.any(LedgerUnavailable) })
    expect(third).toMatchObject({ value: '0xcc' })
  })

  test.for(['drop', { status: 429, body: '{}' }, { status: 200, body: '<html>' }] as const)(
    'a node that fails fails them all: %j',
    async (answer) => {
      server.answer = answer
      const call = rpc()
      const failed = await Promise.allSettled(['aa', 'bb'].map((one) => call(hexSchema, one, [])))
      for (const one of failed)
        expect(one).toMatchObject({ status: 'rejected', reason: expect.any(LedgerUnavailable) })
      expect(server.requests).toHaveLength(1)
    },
  )
})
