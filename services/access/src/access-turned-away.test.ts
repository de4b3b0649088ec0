/** X23 over HTTP, on a real local ledger: what becomes of buyers, challenges and `/ready` when `/settle` refuses requests. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFaultyEdge } from './testing/faulty-edge.ts'
import {
  createServiceCalls,
  type LocalStack,
  startLocalStack,
  untilInTime,
} from './testing/local-stack.ts'
import { createPayingAgent } from './testing/paying-agent.ts'

/** How soon a buyer is free, seconds, with the mirror node at hand. */
const FREE_SECONDS = 15

let stack: LocalStack

beforeAll(async () => {
  stack = await startLocalStack(
    { periodSeconds: 3_600, callsAllowed: 1_000 },
    { isPaymentTimeTheLedgers: true },
  )
})
afterAll(() => stack.stop())

describe.each([
  [401, '{"error":"unauthorized"}'],
  [404, '{"message":"Not Found"}'],
  [400, '{"statusCode":400,"error":"Bad Request","message":"body must have x402Version"}'],
  [503, '<html>no backend</html>'],
])('/settle answers %i without a settlement', (status, body) => {
  test('X23: challenges stop, /ready says why, the buyer is free within 15 s, and sales begin again by themselves', async () => {
    const edge = await startFaultyEdge(stack.facilitator.url)
    const service = await stack.startService({ FACILITATOR_URL: edge.url })
    const here = createServiceCalls(service)
    await untilInTime(stack, here.isReady)
    const buyer = await createPayingAgent(stack, { name: `buyer-${status}`, hasMemo: false })
    const other = await createPayingAgent(stack, { name: `other-${status}`, hasMemo: false })
    const { header } = await buyer.sign((await here.call(buyer.address)).body)
    edge.intercept(async ({ path }, forward) =>
      path === '/settle' ? { status, body } : await forward(),
    )
    const startSeconds = stack.devnet.nowSeconds()
    const paying = here.send(buyer.address, header)
    await untilInTime(stack, async () => !(await here.isReady()))
    const { facilitator } = await here.readyChecks()
    expect(facilitator?.details?.sentence).toContain(`status ${status}`)
    const isFree = async () =>
      (await here.call(buyer.address)).body.error === 'facilitator_turns_away'
    expect((await here.call(other.address)).body.error).toBe('facilitator_turns_away')
    await untilInTime(stack, isFree)
    expect(stack.devnet.nowSeconds() - startSeconds).toBeLessThanOrEqual(FREE_SECONDS)
    const answer = await paying
    expect([answer.status, answer.body.error]).toEqual([502, 'facilitator_unavailable'])
    edge.intercept()
    await untilInTime(stack, async () => (await here.call(other.address)).status === 402)
    const next = await buyer.sign((await here.call(buyer.address)).body)
    expect((await here.send(buyer.address, next.header)).status).toBe(200)
    expect(await here.isReady()).toBe(true)
    expect((await buyer.ledger()).landed).toHaveLength(1)
    await service.stop()
    await edge.stop()
  })
})
