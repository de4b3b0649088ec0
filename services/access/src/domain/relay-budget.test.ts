import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { createRelayBudget } from './relay-budget.ts'

function start(callsPerMinute: number) {
  const clock = manualClock(1_000_000)
  const budget = createRelayBudget({ clock, callsPerMinute })
  const spend = (count: number): void => {
    for (let calls = 0; calls < count; calls += 1) budget.spent(['eth_call'])
  }
  return { clock, budget, spend }
}

test('A12: polls give way first, then unpaid calls, and agents that have paid never', () => {
  const { budget, spend } = start(100)
  spend(49)
  expect(budget.hasRoomFor('poll')).toBe(true)
  spend(1)
  expect(['poll', 'unpaid', 'paying'].map((who) => budget.hasRoomFor(who as 'poll'))).toEqual([
    false,
    true,
    true,
  ])
  spend(25)
  expect(budget.hasRoomFor('unpaid')).toBe(false)
  spend(1_000)
  expect(budget.hasRoomFor('paying')).toBe(true)
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

test('A12: an unpaid call waits for room, for 5 s at most', async () => {
  const { budget, clock, spend } = start(100)
  spend(80)
  clock.advanceMs(56_000)
  const waiting = budget.waitForRoom('unpaid')
  await clock.advanceMsSettled(4_250)
  expect(await waiting).toBe(true)
  spend(80)
  const inVain = budget.waitForRoom('unpaid')
  await clock.advanceMsSettled(5_000)
  expect(await inVain).toBe(false)
  expect(clock.pendingCount()).toBe(0)
})

test('0 is no limit', () => {
  const { budget, spend } = start(0)
  spend(10_000)
  expect(budget.hasRoomFor('poll')).toBe(true)
})
