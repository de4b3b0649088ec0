/** Calls to a node, together where they are made together. */
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { callJsonRpcOnce, createJsonRpc, type JsonRpcOutcome } from './json-rpc.ts'
import { type ScriptedServer, scriptedServer } from './testing/scripted-server.fixture.ts'

let server: ScriptedServer
beforeEach(async () => {
  server = await scriptedServer()
})
afterEach(async () => {
  await server.close()
})

type Message = { readonly id: number; readonly method: string }
const rpc = (changes: { readonly requestsMax?: number } = {}) =>
  createJsonRpc({
    url: server.url,
    clock: manualClock(0),
    timeoutMs: 5_000,
    bytesMax: 10_000,
    callsMax: 20,
    gatherMs: 2,
    requestsMax: Number.POSITIVE_INFINITY,
    ...changes,
  })
const result = ({ id, method }: Message) => ({ jsonrpc: '2.0', id, result: `0x${method}` })
const ok = (json: unknown) => ({ status: 200, body: JSON.stringify(json) })
/** A node that answers batches in reverse. */
const batching = (body: unknown) =>
  ok(Array.isArray(body) ? body.map(result).toReversed() : result(body as Message))
const resultOutcome = (value: string): JsonRpcOutcome => ({ kind: 'result', result: value })

describe('calls of one moment', () => {
  test('are one request, and each gets its own answer', async () => {
    server.answer = batching
    const call = rpc()
    const answers = await Promise.all(['aa', 'bb', 'cc'].map((method) => call(method, [])))
    expect(answers).toEqual(['0xaa', '0xbb', '0xcc'].map(resultOutcome))
    expect(server.requests).toHaveLength(1)
  })

  test('one call alone is no batch', async () => {
    server.answer = batching
    expect(await rpc()('aa', [])).toEqual(resultOutcome('0xaa'))
    expect(server.requests[0]?.body).toEqual({ jsonrpc: '2.0', id: 0, method: 'aa', params: [] })
  })

  test('at most 20 go in one request', async () => {
    server.answer = batching
    const call = rpc()
    await Promise.all(Array.from({ length: 45 }, () => call('aa', [])))
    expect(server.requests.map(({ body }) => (body as object[]).length)).toEqual([20, 20, 5])
  })

  test('those beyond the requests that may be under way gather until one has its answer', async () => {
    server.answer = batching
    const call = rpc({ requestsMax: 1 })
    await Promise.all(Array.from({ length: 45 }, () => call('aa', [])))
    expect(server.requests.map(({ body }) => (body as object[]).length)).toEqual([20, 20, 5])
  })

  test('a node that takes no batches gets them one by one', async () => {
    server.answer = (body) =>
      Array.isArray(body) ? ok({ error: { code: -32_600, message: 'batch' } }) : batching(body)
    const call = rpc()
    expect(await Promise.all(['aa', 'bb'].map((method) => call(method, [])))).toEqual(
      ['0xaa', '0xbb'].map(resultOutcome),
    )
    expect(server.requests).toHaveLength(3)
  })

  test('one refusal for the whole request, such as 429, refuses each of them and is not asked again', async () => {
    const error = { code: -32_605, message: 'IP Rate limit exceeded' }
    server.answer = { status: 429, body: JSON.stringify({ error }) }
    const call = rpc()
    const refused = { kind: 'refused', ...error, data: undefined }
    expect(await Promise.all(['aa', 'bb'].map((method) => call(method, [])))).toEqual([
      refused,
      refused,
    ])
    expect(server.requests).toHaveLength(1)
  })

  test('one that is refused, or is left out, fails alone', async () => {
    server.answer = (body) => {
      const [first, , third] = body as Message[]
      const error = { code: 3, message: 'execution reverted', data: '0x01' }
      return ok([{ id: first?.id, error }, third && result(third)])
    }
    const call = rpc()
    const outcomes = await Promise.all(['aa', 'bb', 'cc'].map((method) => call(method, [])))
    expect(outcomes).toMatchObject([
      { kind: 'refused', code: 3, message: 'execution reverted', data: '0x01' },
      { kind: 'failed' },
      resultOutcome('0xcc'),
    ])
  })

  test.for([
    { status: 429, body: '{}' },
    { status: 200, body: '<html>' },
  ] as const)('a node that fails fails them all: %j', async (answer) => {
    server.answer = answer
    const call = rpc()
    const outcomes = await Promise.all(['aa', 'bb'].map((method) => call(method, [])))
    expect(outcomes.map(({ kind }) => kind)).toEqual(['failed', 'failed'])
    expect(server.requests).toHaveLength(1)
  })

  test('a connection that breaks costs one more try, and no more', async () => {
    server.answer = 'drop'
    expect((await rpc()('aa', [])).kind).toBe('failed')
    expect(server.requests).toHaveLength(2)
  })

  test('a call that may not be repeated is made once', async () => {
    server.answer = 'drop'
    const node = { url: server.url, clock: manualClock(0), timeoutMs: 5_000, bytesMax: 10_000 }
    const outcome = await callJsonRpcOnce(node, 'send', ['0x01'])
    expect(outcome).toMatchObject({ kind: 'failed', answer: { nothingSent: false } })
    expect(server.requests).toHaveLength(1)
  })
})
