import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  AGENT,
  createFakes,
  type Fakes,
  paymentHeader,
  START_SECONDS,
  startFakeService,
} from '../testing/fake-service.ts'
import { credit } from './pay-to-credit.fixture.ts'

let fakes: Fakes
let service: Awaited<ReturnType<typeof startFakeService>>

beforeEach(async () => {
  fakes = createFakes()
  service = await startFakeService(fakes)
})
afterEach(() => service.close())

const call = () => service.app.inject(`/api/svc/access?agent=${AGENT}`)

describe('A14: another replica sells to the same agent', () => {
  beforeEach(() => service.sweep.sweep())

  test('a payment is left unsettled while another, settled there a moment ago, is on the ledger unopened', async () => {
    const challenge = (await call()).json()
    fakes.log.credits.push(credit({ ageSeconds: 0, memo: `x402:${AGENT}` }))
    const headers = paymentHeader(challenge, { nanos: 77, validFromSeconds: START_SECONDS })
    const answer = await service.app.inject({ url: `/api/svc/access?agent=${AGENT}`, headers })
    expect(answer).toMatchObject({ statusCode: 502 })
    expect(answer.json()).toEqual({ error: 'payment_pending' })
    expect(fakes.facilitator.settled).toEqual([])
    await service.sweep.sweep()
    expect((await call()).json().paidThisRequest).toBe(false)
  })

  test('a mirror node that does not answer then keeps nobody from paying, and is reported', async () => {
    const challenge = (await call()).json()
    fakes.log.isDown = true
    const headers = paymentHeader(challenge, { nanos: 78, validFromSeconds: START_SECONDS })
    const answer = await service.app.inject({ url: `/api/svc/access?agent=${AGENT}`, headers })
    expect(answer.json()).toMatchObject({ paidThisRequest: true })
    expect(fakes.lines).toContainEqual(expect.objectContaining({ msg: 'sweep-failed' }))
  })

  test('looks at the log are one at a time: those that wait share the next', async () => {
    let reads = 0
    let readsAtOnce = 0
    let readsAtOnceMost = 0
    const log = { ...fakes.log }
    Object.assign(fakes.log, {
      async *creditsAfter(timestamp: string) {
        reads += 1
        readsAtOnce += 1
        readsAtOnceMost = Math.max(readsAtOnceMost, readsAtOnce)
        yield* log.creditsAfter(timestamp)
        readsAtOnce -= 1
      },
    })
    await Promise.all(Array.from({ length: 20 }, () => service.sweep.lookAgain()))
    expect({ reads, readsAtOnceMost }).toEqual({ reads: 1, readsAtOnceMost: 1 })
    const first = service.sweep.lookAgain()
    await Promise.resolve()
    await Promise.all([first, service.sweep.lookAgain(), service.sweep.lookAgain()])
    expect({ reads, readsAtOnceMost }).toEqual({ reads: 3, readsAtOnceMost: 1 })
  })
})
