import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { createConsensusClock } from './consensus-clock.ts'

const START_MS = 1_700_000_000_000

describe('consensus clock', () => {
  test('timestamps are unique and increase, even if time stands still', () => {
    const clock = createConsensusClock(manualClock(START_MS))
    const stamps = [clock.nextTimestamp(), clock.nextTimestamp(), clock.nextTimestamp()]
    expect(stamps).toEqual([0n, 1n, 2n].map((more) => BigInt(START_MS) * 1_000_000n + more))
    const late = clock.nextTimestamp((stamps[0] ?? 0n) + 10n ** 12n)
    expect(clock.nextTimestamp()).toBe(late + 1n)
  })

  test('timers fire by waiting', () => {
    const base = manualClock(START_MS)
    const clock = createConsensusClock(base)
    const fired: number[] = []
    clock.after(50, () => fired.push(clock.unixMs()))
    base.advanceMs(49)
    expect(fired).toEqual([])
    base.advanceMs(1)
    expect(fired).toEqual([START_MS + 50])
  })

  test('timers fire by travelling, in order, and the remaining ones keep their time', () => {
    const base = manualClock(START_MS)
    const clock = createConsensusClock(base)
    const fired: string[] = []
    clock.after(200, () => fired.push('second'))
    clock.after(100, () => fired.push('first'))
    clock.after(1_000, () => fired.push('third'))
    clock.after(1_000, () => fired.push('never'))()
    clock.travelTo(START_MS + 900)
    expect(fired).toEqual(['first', 'second'])
    base.advanceMs(99)
    expect(fired).toEqual(['first', 'second'])
    base.advanceMs(1)
    expect(fired).toEqual(['first', 'second', 'third'])
  })

  test('time never goes back', () => {
    const clock = createConsensusClock(manualClock(START_MS))
    clock.travelTo(START_MS - 5_000)
    expect(clock.unixMs()).toBe(START_MS)
  })

  test('a timer longer than Node supports is waited for in pieces', () => {
    const base = manualClock(START_MS)
    const clock = createConsensusClock(base)
    let isFired = false
    clock.after(62 * 86_400_000, () => {
      isFired = true
    })
    base.advanceMs(2_147_483_647)
    expect(isFired).toBe(false)
    base.advanceMs(62 * 86_400_000 - 2_147_483_647)
    expect(isFired).toBe(true)
  })

  test('stop: nothing fires afterwards', () => {
    const base = manualClock(START_MS)
    const clock = createConsensusClock(base)
    clock.after(1, () => expect.fail('fired'))
    clock.stop()
    clock.after(1, () => expect.fail('fired'))
    base.advanceMs(10)
  })
})
