import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { createFakeContract, openWindow } from '../testing/fake-contract.ts'
import { createFakeSender } from '../testing/fake-sender.ts'
import type { AccessEvent } from './access-events.ts'
import type { AccessParts } from './access-parts.ts'
import { type AccessWindow, type Hex, ZERO_ADDRESS } from './access-window.ts'
import { createReaper } from './reaper.ts'

const AGENT: Hex = '0xaa00000000000000000000000000000000000000'
const OTHER: Hex = '0xbb00000000000000000000000000000000000000'
const START_SECONDS = 1_000_000
const HOUR_MS = 3_600_000

/** Open, funded, and without a pending schedule. */
const unarmed = (change: Partial<AccessWindow> = {}): AccessWindow =>
  openWindow(START_SECONDS + 1_000_000, {
    schedule: ZERO_ADDRESS,
    scheduledAtSeconds: 0,
    ...change,
  })

function startReaper() {
  const clock = manualClock(START_SECONDS * 1_000)
  const contract = createFakeContract()
  const sender = createFakeSender(contract, clock)
  const events: AccessEvent[] = []
  const reaper = createReaper({
    contract,
    sender,
    subscriptions: { forget: () => undefined },
    clock,
    report: (event: AccessEvent) => events.push(event),
  } as unknown as AccessParts)
  return {
    clock,
    contract,
    sender,
    events,
    /** Considers the window and waits until no attempt runs. */
    serve: async (window: AccessWindow, agent = AGENT): Promise<void> => {
      reaper.consider(agent, window)
      await clock.advanceMsSettled(1)
    },
  }
}

describe('A7: a slot that is served and whose renewal is not armed', () => {
  test('is poked, once for all its agents and once a minute', async () => {
    const { clock, sender, serve } = startReaper()
    await serve(unarmed())
    await serve(unarmed(), OTHER)
    expect(sender.rearmed).toEqual([`poke ${AGENT}`])
    clock.advanceMs(60_000)
    await serve(unarmed(), OTHER)
    expect(sender.rearmed).toEqual([`poke ${AGENT}`, `poke ${OTHER}`])
  })

  test('is another one where the second or the period differs', async () => {
    const { sender, serve } = startReaper()
    await serve(unarmed())
    await serve(unarmed({ slotId: 7n }), OTHER)
    expect(sender.rearmed).toHaveLength(2)
  })

  test.each<[string, Partial<AccessWindow>]>([
    ['closed', { isOpen: false }],
    ['cancelled', { isCancelled: true }],
    ['in its last period', { periodsFunded: 0 }],
    [
      'armed',
      { schedule: '0x00000000000000000000000000000000009f9174', scheduledAtSeconds: START_SECONDS },
    ],
  ])('is left alone where the window is %s', async (_what, change) => {
    const { sender, serve } = startReaper()
    await serve(unarmed(change))
    expect(sender.rearmed).toEqual([])
  })

  test('is left alone for a day after the contract’s code −2: it earns too little', async () => {
    const { clock, events, sender, serve } = startReaper()
    sender.rearming = { kind: 'not-armed', transactionHash: '0x01', code: -2 }
    await serve(unarmed())
    expect(events).toMatchObject([{ kind: 'not-armed', code: -2, how: 'poke' }])
    clock.advanceMs(23 * HOUR_MS)
    await serve(unarmed())
    expect(sender.rearmed).toHaveLength(1)
  })

  test('is tried at ever longer pauses, an hour at most, while the network refuses', async () => {
    const { clock, sender, serve } = startReaper()
    sender.rearming = { kind: 'not-armed', transactionHash: '0x01', code: 370 }
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      await serve(unarmed())
      clock.advanceMs(60_000)
    }
    expect(sender.rearmed.length).toBeGreaterThan(24)
    expect(sender.rearmed.length).toBeLessThan(32)
  })

  test('is not poked while the reserve can arm nothing: each attempt would cost the seller gas', async () => {
    const { contract, sender, serve } = startReaper()
    contract.reserveCanArm = 0
    await serve(unarmed())
    expect(sender.rearmed).toEqual([])
  })

  test('a ledger that does not answer is reported, and tried again a minute later', async () => {
    const { clock, contract, events, sender, serve } = startReaper()
    contract.isDown = true
    await serve(unarmed())
    expect(events).toMatchObject([{ kind: 'rearm-failed', agent: AGENT }])
    contract.isDown = false
    clock.advanceMs(60_000)
    await serve(unarmed())
    expect(sender.rearmed).toHaveLength(1)
  })
})
