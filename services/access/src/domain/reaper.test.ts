import { HOUR_MS, manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { createFakeContract, firstOffer, openWindow } from '../testing/fake-contract.ts'
import { createFakeSender } from '../testing/fake-sender.ts'
import type { Offer } from './access-contract.ts'
import type { AccessEvent } from './access-events.ts'
import type { AccessParts } from './access-parts.ts'
import {
  type AccessWindow,
  findNeed,
  type Hex,
  ledgerSeconds,
  ZERO_ADDRESS,
} from './access-window.ts'
import { createReaper } from './reaper.ts'

const AGENT: Hex = '0xaa00000000000000000000000000000000000000'
const OTHER: Hex = '0xbb00000000000000000000000000000000000000'
const START_SECONDS = 1_000_000

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
      const need = findNeed(window, contract.knownOffers().at(-1), ledgerSeconds(clock))
      if (need !== undefined) reaper.attend(agent, window.slotId, need)
      await clock.advanceMsSettled(1)
    },
  }
}

/** What is sent for a window with the price of one period of the offer waiting, and `moreTinybar`. */
async function serveWaiting(
  change: Partial<AccessWindow>,
  terms: Partial<Offer>,
  moreTinybar: bigint,
): Promise<readonly string[]> {
  const { contract, sender, serve } = startReaper()
  const offer = { ...firstOffer, ...terms }
  contract.offerList[0] = offer
  contract.reserveCanArm = 0
  const window = openWindow(START_SECONDS + 10, change)
  const paidTinybar = BigInt(window.periodsFunded) * window.priceTinybar
  await serve({ ...window, balanceTinybar: paidTinybar + offer.priceTinybar + moreTinybar })
  return sender.rearmed
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
    ['in its last period', { periodsFunded: 0, balanceTinybar: 0n }],
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

  const closed = { isOpen: false, periodsFunded: 0 }

  test.each<[string, Partial<AccessWindow>, Partial<Offer>]>([
    ['open, with less than a day paid for', {}, {}],
    [
      'open in its last period',
      { periodSeconds: 200_000, periodsFunded: 0 },
      { periodSeconds: 200_000 },
    ],
    ['closed', closed, {}],
    ['closed, and the offer cheaper', closed, { priceTinybar: 1_000_000n }],
  ])('A26: what waits becomes periods by a poke: %s', async (_what, change, terms) => {
    expect(await serveWaiting(change, terms, 0n)).toEqual([`poke ${AGENT}`])
    expect(await serveWaiting(change, terms, -1n), 'less than a period waits').toEqual([])
  })

  test.each<[string, Partial<AccessWindow>, Partial<Offer>]>([
    ['open, with a day and more paid for', { periodsFunded: 5_000 }, {}],
    ['open, at another price', {}, { priceTinybar: 1n }],
    ['open, with another period', {}, { periodSeconds: 21 }],
    ['open, with another quota', {}, { callsAllowed: 21 }],
    ['closed, and the offer dearer', closed, { priceTinybar: 300_000_001n }],
    ['closed, and the period shorter', closed, { periodSeconds: 19 }],
    ['closed, and the quota smaller', closed, { callsAllowed: 19 }],
    ['closed, and the offer retired', closed, { retiredAtSeconds: 7 }],
    ['cancelled', { isCancelled: true }, {}],
  ])('A26: what waits goes on waiting: %s', async (_what, change, terms) => {
    expect(await serveWaiting(change, terms, 0n)).toEqual([])
  })

  test('A26: what waits opens nothing while sales are paused', async () => {
    const { contract, sender, serve } = startReaper()
    contract.isPaused = true
    await serve(openWindow(START_SECONDS - 10, { isOpen: false, periodsFunded: 0 }))
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
