// A2: a payment's header that comes again after the window that it bought.
import { afterEach, describe, expect, test } from 'vitest'
import { openWindow } from '../testing/fake-contract.ts'
import { AGENT, paymentHeader, START_SECONDS } from '../testing/fake-service.ts'
import { type AccessRoute, payment, startAccessRoute } from './access-route.fixture.ts'

let route: AccessRoute

afterEach(() => route.close())

const over = { periodsFunded: 0, balanceTinybar: 0n }

describe('A2: a consumed payment sent again once its window is over', () => {
  test.each([
    ['cancelled', openWindow(START_SECONDS + 20, { ...over, isCancelled: true }), 30],
    ['short', openWindow(START_SECONDS + 20, over), 61],
  ])('%s: is as an unpaid call, and settles nothing', async (_name, window, laterSeconds) => {
    route = await startAccessRoute()
    const { clock, contract, facilitator, sender } = route.fakes
    const header = paymentHeader(await route.challenge(), payment)
    expect((await route.call(header)).json()).toMatchObject({ paidThisRequest: true })
    contract.windows.set(AGENT, window)
    expect((await route.call(header)).json()).toMatchObject({ paidThisRequest: false })
    await clock.advanceMsSettled(laterSeconds * 1_000)
    const answer = await route.call(header)
    expect(answer.statusCode).toBe(402)
    expect(answer.json()).toMatchObject({ error: 'payment_already_used', accepts: [{}] })
    expect(facilitator.settled).toHaveLength(1)
    expect(sender.opened).toHaveLength(1)
  })
})
