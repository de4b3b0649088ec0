import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { createFakeContract, openWindow } from '../testing/fake-contract.ts'
import type { AccessWindow } from './access-window.ts'
import { createRelayBudget } from './relay-budget.ts'
import { createSubscriptions } from './subscriptions.ts'

const AGENT = '0xaa00000000000000000000000000000000000000'

function startReads() {
  const clock = manualClock(1_000_000)
  const contract = createFakeContract()
  const budget = createRelayBudget({ clock, callsPerMinute: 100 })
  const subscriptions = createSubscriptions({ contract, clock, budget })
  return { clock, contract, budget, subscriptions }
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
    clock.advanceMs(101)
    expect(await subscriptions.read(AGENT)).toMatchObject({ isOpen: true, periodsFunded: 2 })
  })

  test('is forgotten after a minute, when no read can lag any more', async () => {
    const { clock, subscriptions } = startReads()
    subscriptions.hold(AGENT, openWindow(1_020, { periodsFunded: 100 }))
    clock.advanceMs(60_001)
    expect((await subscriptions.read(AGENT)).exists).toBe(false)
  })
})

/** A window that a read showed, and which calls ask for again from now on. */
const startShown = async (change: Partial<AccessWindow> = {}) => {
  const reads = startReads()
  reads.contract.windows.set(AGENT, openWindow(1_020, change))
  expect((await reads.subscriptions.readForCall(AGENT)).isOpen).toBe(true)
  reads.clock.advanceMs(2_001)
  return reads
}

describe('A5: reads that go back in time, from replicas of the ledger that lag differently', () => {
  test('a window that a read showed stays open, whoever opened it, and is read again until a read shows it', async () => {
    const { clock, contract, subscriptions } = await startShown({ callsUsed: 7 })
    contract.windows.delete(AGENT)
    const served = await subscriptions.readForCall(AGENT)
    expect(served).toMatchObject({ isOpen: true, callsUsed: 7, readAtMs: 1_000_000 })
    expect((await subscriptions.readForPoll(AGENT)).window.isOpen).toBe(true)
    contract.windows.set(AGENT, openWindow(1_020, { callsUsed: 8 }))
    clock.advanceMs(101)
    const shown = await subscriptions.readForCall(AGENT)
    expect(shown).toMatchObject({ isOpen: true, callsUsed: 8, readAtMs: 1_002_102 })
  })

  test('its end holds, and so does a cancellation', async () => {
    const { clock, contract, subscriptions } = await startShown()
    contract.windows.set(AGENT, openWindow(1_020, { isCancelled: true, periodsFunded: 0 }))
    expect((await subscriptions.readForCall(AGENT)).isCancelled).toBe(true)
    contract.windows.delete(AGENT)
    clock.advanceMs(17_000)
    expect((await subscriptions.readForCall(AGENT)).isOpen).toBe(true)
    clock.advanceMs(1_000)
    expect((await subscriptions.readForCall(AGENT)).isOpen).toBe(false)
  })

  test('after a minute, when no read can lag any more, what is read counts', async () => {
    const { clock, contract, subscriptions } = await startShown({ periodsFunded: 100 })
    contract.windows.delete(AGENT)
    clock.advanceMs(57_999)
    expect((await subscriptions.readForCall(AGENT)).isOpen).toBe(true)
    clock.advanceMs(101)
    expect((await subscriptions.readForCall(AGENT)).isOpen).toBe(false)
  })
})

describe('A8: a second of an end that passes during a read', () => {
  // The slot's call has come, so that the period from 1,001 on is charged and no longer counted as funded.
  const charged = openWindow(1_001, { periodsFunded: 0, balanceTinybar: 0n })
  const next = openWindow(1_021, { periodsFunded: 0, balanceTinybar: 0n })

  const startAtEnd = () => {
    const reads = startReads()
    const { clock, contract } = reads
    clock.advanceMs(950)
    contract.readWindow = async (_agent, atSeconds) => {
      // Whatever is asked in the second before is answered after it.
      if (atSeconds > 1_000) return next
      await Promise.resolve()
      if (clock.unixMs() < 1_001_000) clock.advanceMs(80)
      return charged
    }
    return reads
  }

  test('a paid window is read again before it counts as closed', async () => {
    const { subscriptions } = startAtEnd()
    const served = await subscriptions.readForCall(AGENT)
    expect(served).toMatchObject({ isOpen: true, expiresAtSeconds: 1_021 })
  })

  test('so is one by whose read of that second others wait', async () => {
    const { subscriptions } = startAtEnd()
    const served = await Promise.all([subscriptions.read(AGENT), subscriptions.read(AGENT)])
    expect(served.map(({ isOpen }) => isOpen)).toEqual([true, true])
  })

  test('a poll is not told of an end by what was read before it', async () => {
    const { clock, contract, subscriptions } = startReads()
    contract.windows.set(AGENT, charged)
    await subscriptions.readForPoll(AGENT)
    contract.windows.set(AGENT, next)
    clock.advanceMs(1_500)
    expect((await subscriptions.readForPoll(AGENT)).window.isOpen).toBe(true)
  })
})

/** Reads that the contract answered so far. */
const countReads = (contract: { readonly reads: readonly string[] }): number =>
  contract.reads.filter((name) => name === 'readWindow').length

describe('A12: reads are few and shared', () => {
  test('reads of an agent at one moment are one', async () => {
    const { contract, subscriptions } = startReads()
    await Promise.all(Array.from({ length: 50 }, () => subscriptions.read(AGENT)))
    expect(countReads(contract)).toBe(1)
  })

  test('an open window serves calls for 2 s, projected to now', async () => {
    const { clock, contract, subscriptions } = startReads()
    contract.windows.set(AGENT, openWindow(1_001))
    await subscriptions.readForCall(AGENT)
    clock.advanceMs(2_000)
    const served = await subscriptions.readForCall(AGENT)
    expect(served).toMatchObject({ isOpen: true, expiresAtSeconds: 1_021, readAtMs: 1_000_000 })
    expect(countReads(contract)).toBe(1)
    clock.advanceMs(1)
    await subscriptions.readForCall(AGENT)
    expect(countReads(contract)).toBe(2)
  })

  test('whoever is to be asked to pay is looked up anew: an opening of a moment ago is seen', async () => {
    const { contract, subscriptions } = startReads()
    expect((await subscriptions.readForCall(AGENT)).isOpen).toBe(false)
    contract.windows.set(AGENT, openWindow(1_020))
    expect((await subscriptions.readForCall(AGENT)).isOpen).toBe(true)
  })

  test('a poll is never older than what this process itself opened', async () => {
    const { subscriptions } = startReads()
    expect((await subscriptions.readForPoll(AGENT)).window.isOpen).toBe(false)
    subscriptions.hold(AGENT, openWindow(1_020))
    expect((await subscriptions.readForPoll(AGENT)).window.isOpen).toBe(true)
    subscriptions.forget(AGENT)
    expect((await subscriptions.readForPoll(AGENT)).window.isOpen).toBe(true)
  })

  test('an answer that comes late takes nothing from one that was asked after it', async () => {
    const { clock, contract, subscriptions } = startReads()
    const late = Promise.withResolvers<void>()
    const readWindow: typeof contract.readWindow = contract.readWindow.bind(contract)
    contract.readWindow = async () => {
      contract.readWindow = readWindow
      await late.promise
      return openWindow(900, { isOpen: false, periodsFunded: 0 })
    }
    const first = subscriptions.read(AGENT)
    clock.advanceMs(101)
    contract.windows.set(AGENT, openWindow(1_020))
    expect((await subscriptions.read(AGENT)).isOpen).toBe(true)
    late.resolve()
    expect((await first).isOpen).toBe(true)
    expect(subscriptions.known(AGENT)?.isOpen).toBe(true)
  })
})

const startSpent = async () => {
  const reads = startReads()
  reads.contract.windows.set(AGENT, openWindow(1_020))
  await reads.subscriptions.read(AGENT)
  for (let calls = 0; calls < 100; calls += 1) reads.budget.spent(['eth_call'])
  reads.clock.advanceMs(10_000)
  return reads
}

describe('A12: with the budget of the relay used up', () => {
  const STRANGER = '0xbb00000000000000000000000000000000000000'

  test('a poll is told the last read with its second; without one it fails', async () => {
    const { contract, subscriptions } = await startSpent()
    const { atSeconds, window } = await subscriptions.readForPoll(AGENT)
    expect({ atSeconds, end: window.expiresAtSeconds }).toEqual({ atSeconds: 1_000, end: 1_020 })
    await expect(subscriptions.readForPoll(STRANGER)).rejects.toThrow('budget')
    expect(countReads(contract)).toBe(1)
  })
})
