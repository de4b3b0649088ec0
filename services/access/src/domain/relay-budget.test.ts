import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { createRelayBudget, type RelayReader } from './relay-budget.ts'

const READERS = ['poll', 'unpaid', 'payment'] as const satisfies readonly RelayReader[]

function start(callsPerMinute: number) {
  const clock = manualClock(1_000_000)
  const budget = createRelayBudget({ clock, callsPerMinute })
  const spend = (count: number): void => {
    for (let calls = 0; calls < count; calls += 1) budget.spent(['eth_call'])
  }
  /** Those who have room, each asked alone. */
  const served = (): readonly RelayReader[] =>
    READERS.filter((reader) => {
      const place = budget.takeRoom(reader)
      place?.leave()
      return place !== undefined
    })
  return { clock, budget, spend, served }
}

describe('A25: who goes first', () => {
  test('polls give way first, then unpaid calls, then payments', () => {
    const { served, spend } = start(100)
    spend(49)
    expect(served()).toEqual(['poll', 'unpaid', 'payment'])
    spend(1)
    expect(served()).toEqual(['unpaid', 'payment'])
    spend(25)
    expect(served()).toEqual(['payment'])
    spend(15)
    expect(served()).toEqual([])
  })

  test('reads of one moment count before their requests leave, until they end', () => {
    const { budget } = start(100)
    const places = Array.from({ length: 200 }, () => budget.takeRoom('unpaid'))
    const taken = places.filter((place) => place !== undefined)
    expect(taken).toHaveLength(75)
    for (const place of taken) place.leave()
    expect(budget.usedPercent()).toBe(0)
  })

  test('after the relay’s 429 nobody is read but open windows and payments, until its minute is over', () => {
    const { budget, clock, served } = start(100)
    budget.refused()
    expect(served()).toEqual(['payment'])
    clock.advanceMs(59_999)
    expect(served()).toEqual(['payment'])
    clock.advanceMs(1)
    expect(served()).toEqual(['poll', 'unpaid', 'payment'])
  })

  test('a call waits for room, for 5 s at most; of those that wait no more go on than have room', async () => {
    const { budget, clock, spend } = start(100)
    spend(74)
    clock.advanceMs(1)
    spend(1)
    clock.advanceMs(56_000)
    const waiting = Array.from({ length: 75 }, () => budget.waitForRoom('unpaid'))
    await clock.advanceMsSettled(4_250)
    await clock.advanceMsSettled(1_000)
    const places = await Promise.all(waiting)
    expect(places.filter((place) => place !== undefined)).toHaveLength(75)
    const inVain = budget.waitForRoom('unpaid')
    await clock.advanceMsSettled(5_000)
    expect(await inVain).toBeUndefined()
    expect(clock.pendingCount()).toBe(0)
  })
})

describe('A25: a client address', () => {
  test('keeps to a fifth while the budget is short, and is told how long to wait', () => {
    const { budget, clock, spend } = start(100)
    const call = () => budget.secondsOverShare('203.0.113.9')
    for (let calls = 0; calls < 10; calls += 1) expect(call()).toBeUndefined()
    clock.advanceMs(30_000)
    for (let calls = 0; calls < 15; calls += 1) expect(call()).toBeUndefined()
    spend(25)
    // 25 were counted: fewer than 20 once the first six of them are a minute old.
    expect(call()).toBe(30)
    expect(budget.secondsOverShare('203.0.113.10')).toBeUndefined()
    clock.advanceMs(30_000)
    expect(call()).toBeUndefined()
  })

  test('has no share where there is no limit', () => {
    const { budget, served } = start(0)
    for (let calls = 0; calls < 1_000; calls += 1)
      expect(budget.secondsOverShare('203.0.113.9')).toBeUndefined()
    expect(served()).toEqual(['poll', 'unpaid', 'payment'])
  })
})

test('A25: shared reads are kept for 30 s while the budget is short, and until the relay’s minute is over', () => {
  const { budget, clock, spend } = start(100)
  expect(budget.keptMs(1_000)).toBe(1_000)
  spend(25)
  expect(budget.keptMs(1_000)).toBe(30_000)
  clock.advanceMs(60_000)
  expect(budget.keptMs(1_000)).toBe(1_000)
  budget.refused()
  expect(budget.keptMs(1_000)).toBe(90_000)
})

test('requests of several calls count, too, and other single calls do not', () => {
  const { budget } = start(10)
  for (let count = 0; count < 9; count += 1) budget.spent(['eth_getBalance'])
  expect(budget.usedPercent()).toBe(0)
  for (let count = 0; count < 5; count += 1) budget.spent(['eth_getBalance', 'eth_gasPrice'])
  expect(budget.usedPercent()).toBe(50)
})

test('what was spent a minute ago counts no more', () => {
  const { budget, clock, spend } = start(100)
  spend(60)
  clock.advanceMs(30_000)
  spend(20)
  expect(budget.usedPercent()).toBe(80)
  clock.advanceMs(30_000)
  expect(budget.usedPercent()).toBe(20)
})

test('0 is no limit', () => {
  const { served, spend } = start(0)
  spend(10_000)
  expect(served()).toEqual(['poll', 'unpaid', 'payment'])
})
