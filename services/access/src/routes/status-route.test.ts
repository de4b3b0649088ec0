import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CONTRACT, openWindow } from '../testing/fake-contract.ts'
import {
  AGENT,
  createFakes,
  type Fakes,
  START_SECONDS,
  startFakeService,
} from '../testing/fake-service.ts'

let fakes: Fakes
let service: Awaited<ReturnType<typeof startFakeService>>

beforeEach(async () => {
  fakes = createFakes()
  service = await startFakeService(fakes)
})
afterEach(() => service.close())

const status = (query: string) => service.app.inject(`/api/svc/status${query}`)
const ZERO = `0x${'0'.repeat(40)}`

describe('200', () => {
  test('A12: of a stranger: no access, times 0, balance "0", period and price of a purchase now', async () => {
    const answer = await status(`?agent=${AGENT}`)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.json()).toEqual({
      agent: AGENT,
      contract: CONTRACT,
      hasAccess: false,
      expiresAt: 0,
      secondsRemaining: 0,
      periodSeconds: 20,
      pricePerPeriodTinybar: '300000000',
      balanceTinybar: '0',
      periodsFunded: 0,
      active: false,
      nextRenewalSchedule: ZERO,
      renewalsReserveCanArm: 7,
      usage: { callsUsed: 0, callsAllowed: 20, callsRemaining: 0, resetsAt: 0 },
      ended: null,
      unavailable: [],
      now: START_SECONDS,
    })
  })

  test('of an open window: every field, money as strings', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    expect((await status(`?agent=${AGENT}`)).json()).toMatchObject({
      hasAccess: true,
      active: true,
      expiresAt: START_SECONDS + 15,
      secondsRemaining: 15,
      balanceTinybar: '900000000',
      periodsFunded: 3,
      nextRenewalSchedule: '0x00000000000000000000000000000000009f9174',
      usage: { callsUsed: 1, callsAllowed: 20, callsRemaining: 19, resetsAt: START_SECONDS + 15 },
    })
  })

  test('A12: expiresAt, balanceTinybar and periodsFunded are projected to now', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS - 25))
    expect((await status(`?agent=${AGENT}`)).json()).toMatchObject({
      hasAccess: true,
      expiresAt: START_SECONDS + 15,
      balanceTinybar: '300000000',
      periodsFunded: 1,
      usage: { callsUsed: 0 },
    })
  })

  test('A12: nextRenewalSchedule is zero once its second is 30 s past', async () => {
    const window = openWindow(START_SECONDS + 15, { scheduledAtSeconds: START_SECONDS - 30 })
    fakes.contract.windows.set(AGENT, window)
    expect((await status(`?agent=${AGENT}`)).json().nextRenewalSchedule).toBe(window.schedule)
    fakes.clock.advanceMs(1_000)
    expect((await status(`?agent=${AGENT}`)).json().nextRenewalSchedule).toBe(ZERO)
  })

  test('A12: active = window open and not cancelled', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 15, { isCancelled: true }))
    expect((await status(`?agent=${AGENT}`)).json()).toMatchObject({
      hasAccess: true,
      active: false,
    })
  })

  test('A8: balance exhausted: hasAccess and active are false, secondsRemaining 0', async () => {
    fakes.contract.windows.set(
      AGENT,
      openWindow(START_SECONDS - 1, { periodsFunded: 0, balanceTinybar: 5n }),
    )
    expect((await status(`?agent=${AGENT}`)).json()).toMatchObject({
      hasAccess: false,
      active: false,
      secondsRemaining: 0,
      balanceTinybar: '5',
    })
  })

  test('renewalsReserveCanArm: null when that read did not answer; unavailable names it, window fields unaffected', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    fakes.contract.isReserveDown = true
    expect((await status(`?agent=${AGENT}`)).json()).toMatchObject({
      hasAccess: true,
      renewalsReserveCanArm: null,
      unavailable: ['renewalsReserveCanArm'],
    })
  })

  test('the checksum of the address is not looked at, the answer has it in lower case', async () => {
    const answer = await status(`?agent=${AGENT.toUpperCase().replace('0X', '0x')}`)
    expect(answer.json().agent).toBe(AGENT)
  })

  test('no side effects: nothing is opened, armed anew or recorded', async () => {
    const overdue = openWindow(START_SECONDS + 15, { scheduledAtSeconds: START_SECONDS - 100 })
    fakes.contract.windows.set(AGENT, overdue)
    await status(`?agent=${AGENT}`)
    await fakes.clock.advanceMsSettled(60_000)
    expect(fakes.sender.rearmed).toEqual([])
    expect(fakes.sender.opened).toEqual([])
    expect(fakes.recorded).toEqual([])
  })
})

describe('400', () => {
  test.each(['', '?agent=', '?agent=0x12', `?agent=${AGENT}0`, `?agent=${AGENT}&agent=${AGENT}`])(
    '`agent` missing or malformed; chain not read: %s',
    async (query) => {
      const answer = await status(query)
      expect(answer.statusCode).toBe(400)
      expect(answer.json()).toEqual({ error: 'invalid_agent' })
      expect(fakes.contract.reads).toEqual([])
    },
  )
})

describe('502', () => {
  test('the contract read failed', async () => {
    fakes.contract.isDown = true
    const answer = await status(`?agent=${AGENT}`)
    expect(answer.statusCode).toBe(502)
    expect(answer.json()).toEqual({ error: 'chain_unavailable' })
    expect(answer.headers['cache-control']).toBe('no-store')
  })
})

describe('503', () => {
  test('the access contract is not deployed on the target network', async () => {
    fakes.contract.isAbsent = true
    const answer = await status(`?agent=${AGENT}`)
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toEqual({ error: 'contract_not_deployed' })
  })
})

describe('405', () => {
  test.each(['HEAD', 'POST', 'PUT', 'DELETE'] as const)(
    '%s names the methods that are allowed',
    async (method) => {
      const answer = await service.app.inject({ method, url: `/api/svc/status?agent=${AGENT}` })
      expect(answer.statusCode).toBe(405)
      expect(answer.headers.allow).toContain('GET')
    },
  )
})
