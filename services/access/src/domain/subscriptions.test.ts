import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { createFakeContract, openWindow } from '../testing/fake-contract.ts'
import { createSubscriptions } from './access-window.ts'

const AGENT = '0x00000000000000000000000000000000000000aa'

function startReads() {
  const clock = manualClock(1_000_000)
  const contract = createFakeContract()
  return { clock, contract, subscriptions: createSubscriptions({ contract, clock }) }
}

describe('A5: what this process opened', () => {
  test('counts until a read shows it, over the boundary of a period too', async () => {
    const { clock, subscriptions } = startReads()
    subscriptions.hold(AGENT, openWindow(1_020))
    expect((await subscriptions.read(AGENT)).expiresAtSeconds).toBe(1_020)
    clock.advanceMs(25_000)
    expect(await subscriptions.read(AGENT)).toMatchObject({ isOpen: true, expiresAtSeconds: 1_040 })
  })

  test('gives way to a read that shows it, for good: a cancellation is not overruled', async () => {
    const { clock, contract, subscriptions } = startReads()
    subscriptions.hold(AGENT, openWindow(1_020))
    contract.windows.set(AGENT, openWindow(1_020, { isCancelled: true }))
    expect((await subscriptions.read(AGENT)).isCancelled).toBe(true)
    clock.advanceMs(21_000)
    expect((await subscriptions.read(AGENT)).isOpen).toBe(false)
  })

  test('A8: a top-up counts until a read shows it: the last period that an older read knows of is not the end', async () => {
    const { clock, contract, subscriptions } = startReads()
    const before = openWindow(1_005, { periodsFunded: 0, balanceTinybar: 0n })
    contract.windows.set(AGENT, before)
    subscriptions.hold(AGENT, openWindow(1_005))
    expect(await subscriptions.read(AGENT)).toMatchObject({ isOpen: true, periodsFunded: 3 })
    clock.advanceMs(6_000)
    expect(await subscriptions.read(AGENT)).toMatchObject({ isOpen: true, expiresAtSeconds: 1_025 })
    contract.windows.set(AGENT, openWindow(1_005, { callsUsed: 7 }))
    clock.advanceMs(1)
    expect(await subscriptions.read(AGENT)).toMatchObject({ isOpen: true, periodsFunded: 2 })
    contract.windows.set(AGENT, before)
    expect((await subscriptions.read(AGENT)).isOpen).toBe(false)
  })

  test('is forgotten after a minute, when no read can lag any more', async () => {
    const { clock, subscriptions } = startReads()
    subscriptions.hold(AGENT, openWindow(1_020, { periodsFunded: 100 }))
    clock.advanceMs(60_001)
    expect((await subscriptions.read(AGENT)).exists).toBe(false)
  })
})
