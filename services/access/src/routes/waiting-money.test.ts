// A26: money that waits in no period, as a caller of the route meets it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openWindow, PRICE_TINYBAR } from '../testing/fake-contract.ts'
import { AGENT, START_SECONDS } from '../testing/fake-service.ts'
import { type AccessRoute, startAccessRoute } from './access-route.fixture.ts'

let route: AccessRoute

beforeEach(async () => {
  route = await startAccessRoute()
})
afterEach(() => route.close())

/** A window of this age whose balance pays for two periods more than are funded. */
function setWindow(expiresAtSeconds: number, periodsFunded: number): void {
  const balanceTinybar = BigInt(periodsFunded + 2) * PRICE_TINYBAR
  const isOpen = expiresAtSeconds > START_SECONDS
  const window = openWindow(expiresAtSeconds, { isOpen, periodsFunded, balanceTinybar })
  route.fakes.contract.windows.set(AGENT, window)
}

test('A26: a call in an open window is served, and has a poke make periods of what waits', async () => {
  setWindow(START_SECONDS + 15, 1)
  expect((await route.call()).statusCode).toBe(200)
  await route.fakes.clock.advanceMsSettled(1)
  expect(route.fakes.sender.rearmed).toEqual([`poke ${AGENT}`])
})

test('A26: a call in a closed window has a poke open it with what waits; the next call is served unpaid', async () => {
  const { contract, clock, facilitator, sender } = route.fakes
  setWindow(START_SECONDS - 100, 0)
  expect((await route.call()).statusCode).toBe(402)
  await clock.advanceMsSettled(1)
  expect(sender.rearmed).toEqual([`poke ${AGENT}`])
  contract.windows.set(AGENT, openWindow(START_SECONDS + 20, { periodsFunded: 1 }))
  expect((await route.call()).statusCode).toBe(200)
  expect(facilitator.settled).toEqual([])
})

test('A26: while sales are paused what waits goes on waiting', async () => {
  route.fakes.contract.isPaused = true
  setWindow(START_SECONDS - 100, 0)
  expect((await route.call()).statusCode).toBe(503)
  await route.fakes.clock.advanceMsSettled(1)
  expect(route.fakes.sender.rearmed).toEqual([])
})
