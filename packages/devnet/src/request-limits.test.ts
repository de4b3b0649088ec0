// The limits of the public relay and mirror node. The ledger's clock stands still, so that a minute ends when the test says so.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from './start-devnet.ts'
import { mirror, rpc } from './testing/test-clients.fixture.ts'

let clock: ManualClock
let devnet: Devnet

beforeAll(async () => {
  clock = manualClock(1_800_000_000_000)
  devnet = await startDevnet({ clock })
})
afterEach(() => devnet.controls.answerPromptly())
afterAll(() => devnet.stop())

async function call(
  method: string,
  url = devnet.rpcUrl,
): Promise<{ status: number; body: object }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] })
  const answer = await fetch(url, { method: 'POST', body })
  return { status: answer.status, body: (await answer.json()) as object }
}

/** Of as many requests at once to a mirror node. */
async function statusesOf51(base: string): Promise<number[]> {
  const requested = Array.from({ length: 51 }, () => fetch(`${base}/api/v1/blocks?limit=1`))
  return (await Promise.all(requested)).map(({ status }) => status)
}

describe('L18: request limits', () => {
  test.each([
    ['eth_mining', 'tier 1', 100],
    ['eth_chainId', 'tier 2', 800],
    ['net_version', 'tier 3', 1_600],
  ])(
    'setRequestLimits: %s, %s, %i a minute, then 429 in the relay’s words',
    async (method, _tier, limit) => {
      devnet.controls.setRequestLimits('public')
      const batch = JSON.stringify(
        Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, method, params: [] })),
      )
      for (let sent = 0; sent < limit; sent += 100) {
        const answer = await fetch(devnet.rpcUrl, { method: 'POST', body: batch })
        expect(await answer.text()).not.toContain('error')
      }
      const refused = {
        status: 429,
        body: {
          error: {
            code: -32605,
            message: expect.stringContaining(`] IP Rate limit exceeded on ${method}`),
          },
        },
      }
      expect(await call(method)).toMatchObject(refused)
      const inBatch = await fetch(devnet.rpcUrl, { method: 'POST', body: batch })
      expect(inBatch.status).toBe(200)
      expect(await inBatch.text()).toContain('IP Rate limit exceeded')
      // Other methods have their own count, and so has a caller of another name.
      expect((await call('eth_blockNumber')).status).toBe(200)
      expect((await call(method, `${devnet.rpcUrl}/as/replica-2`)).status).toBe(200)
      clock.advanceMs(60_000)
      expect((await call(method)).status).toBe(200)
    },
  )

  test('the mirror node takes 50 requests a second from one caller, under a name of its own too', async () => {
    devnet.controls.setRequestLimits('public')
    expect((await statusesOf51(devnet.mirrorUrl)).filter((status) => status === 429)).toHaveLength(
      1,
    )
    const other = await statusesOf51(`${devnet.mirrorUrl}/as/replica-2`)
    expect(other.filter((status) => status === 200)).toHaveLength(50)
    clock.advanceMs(1_000)
    expect((await mirror(devnet, '/api/v1/blocks?limit=1')).status).toBe(200)
  })

  test('controls are free of limits and losses', async () => {
    devnet.controls.setRequestLimits({ relayPerMinute: { tier1: 0, tier2: 0, tier3: 0, other: 0 } })
    devnet.controls.setAnswerLoss({ rpc: 1 })
    expect(await call('devnet_nowSeconds')).toMatchObject({ status: 200 })
    await rpc(devnet, 'devnet_answerPromptly')
    expect(await call('eth_chainId')).toMatchObject({ status: 200 })
  })
})
