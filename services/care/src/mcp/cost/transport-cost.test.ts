// What the transport costs, compared with the SDK's own in the same run: the same application, tokens, store and methods
// under both. CPU ratios cover what the transports add to the floor that both pay (Fastify, token check, JSON, the read
// itself). How fast a notice reaches all, and by how much the whole service is cheaper, is bench's to judge (care-mcp).
import { mkdirSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { leastRequestCosts, measureIdleHeap, measureSessions } from './cost-client.fixture.ts'

const isLong = process.env['TALLYSTICK_LONG'] === '1'
const KIB = 1024
const MB = 1_000_000
/** Opened and measured three times per variant: each costs about 0.3 ms, so a measurement takes 0.3 s of CPU. */
const SESSIONS = 1_000
/** On a quiet machine it is three and more. Load adds to the floor and to both transports alike, and so lessens it. */
const TIMES_CHEAPER_MIN = 2

/** Stores figures where they can be tracked. */
const record = (name: string, figures: object): void => {
  mkdirSync('reports', { recursive: true })
  writeFileSync(`reports/${name}.json`, `${JSON.stringify(figures, undefined, 2)}\n`)
}

describe.runIf(isLong)('against the SDK’s own transport (measured with TALLYSTICK_LONG=1)', () => {
  it('heap ≤ 8 KB per idle session', async () => {
    expect(await measureIdleHeap(500)).toBeLessThan(8 * KIB)
  })

  it(`CPU per initialize, read, notification ≥ ${TIMES_CHEAPER_MIN} × better`, async () => {
    const { floor, ours, sdk } = await leastRequestCosts(SESSIONS)
    const [mine, theirs] = [
      await measureSessions('ours', SESSIONS),
      await measureSessions('sdk', SESSIONS),
    ]
    const ratios = {
      initialize:
        (sdk.initializeMicros - floor.initializeMicros) /
        (ours.initializeMicros - floor.initializeMicros),
      read: (sdk.readMicros - floor.readMicros) / (ours.readMicros - floor.readMicros),
      notification: theirs.notificationMicros / mine.notificationMicros,
    }
    record('mcp-transport-cost', {
      floor,
      ours: { ...ours, ...mine },
      sdk: { ...sdk, ...theirs },
      ratios,
    })
    expect(ratios.initialize).toBeGreaterThan(TIMES_CHEAPER_MIN)
    expect(ratios.read).toBeGreaterThan(TIMES_CHEAPER_MIN)
    expect(ratios.notification).toBeGreaterThan(TIMES_CHEAPER_MIN)
  })

  it('10,000 sessions each with a GET stream under 200 MB above the idle process', async () => {
    const cost = await measureSessions('ours', 10_000)
    record('mcp-ten-thousand', cost)
    expect(cost.streamRssBytes * 10_000).toBeLessThan(200 * MB)
  })
})
