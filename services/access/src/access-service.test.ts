import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  payingFetch,
  type RealWorld,
  type RunningService,
  startRealWorld,
  until,
} from './testing/real-world.ts'

let world: RealWorld
let service: RunningService

beforeAll(async () => {
  world = await startRealWorld({ periodSeconds: 600, callsAllowed: 5 })
  service = await world.startService()
  await until(async () => (await fetch(`${service.baseUrl}/ready`)).status === 200)
}, 60_000)
afterAll(() => world.stop(), 30_000)

const accessUrl = (agent: string) => `${service.baseUrl}/api/svc/access?agent=${agent}`

describe('on a real ledger', () => {
  test('the official @x402/fetch client pays and gets in; then calls are free', async () => {
    const agent = await world.agent('official')
    const challenged = await fetch(accessUrl(agent.evmAddress))
    expect(challenged.status).toBe(402)
    const paid = await payingFetch(agent)(accessUrl(agent.evmAddress))
    const body = await paid.json()
    expect([paid.status, body]).toMatchObject([200, { paidThisRequest: true }])
    const free = await (await fetch(accessUrl(agent.evmAddress))).json()
    expect(free).toMatchObject({ paidThisRequest: false })
  }, 30_000)
})
