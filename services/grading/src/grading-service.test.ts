/** The service on a local X Layer, over HTTP: what money does. Rules about HTTP alone are in the route tests. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleBatch, sampleObservation, samplePrices, scored } from './testing/sample-events.ts'
import {
  payingFetch,
  posted,
  type RunningService,
  startXLayerWorld,
  type XLayerWorld,
} from './testing/xlayer-world.ts'

let world: XLayerWorld
let service: RunningService

beforeAll(async () => {
  world = await startXLayerWorld()
  service = await world.startService('main.db')
  await service.store.ingest(
    sampleBatch([sampleObservation({ closes: [samplePrices()], outcomes: scored(2, 1) })]),
  )
}, 120_000)
afterAll(() => world.stop(), 60_000)

const PICK = { market: 'soccer/epl.20260601.ars-che/1x2/ft', selection: 'home', odds: '1.90' }

describe('the official, unmodified @x402/fetch client', () => {
  test('pays for a grade', async () => {
    const payer = world.account('agent-1')
    const before = await world.chain.controls.balanceOf(payer.address)
    const answer = await payingFetch(world, payer)(
      `${service.baseUrl}/api/grade`,
      posted({ pick: PICK }),
    )
    const card = await answer.json()
    expect([answer.status, card]).toMatchObject([
      200,
      { outcome: 'GRADED', grade: 'F', scoreboard: { status: 'won' } },
    ])
    expect(await world.chain.controls.balanceOf(payer.address)).toBe(before - 10_000n)
  })
})
