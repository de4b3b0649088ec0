import { array, assert as assertProperty, integer, property } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCallRate } from './bounded.ts'
import { manualClock } from './manual-clock.ts'

function stand(perSecond: number) {
  const clock = manualClock(1_800_000_000_000)
  const rate = createCallRate({ clock, perSecond })
  const served = (calls: number, caller = 'a'): number =>
    Array.from({ length: calls }, () => rate.secondsToWait(caller)).filter(
      (wait) => wait === undefined,
    ).length
  return { clock, rate, served }
}

describe('A17: calls of one caller', () => {
  test('four seconds’ worth at once, then the rate; another caller is not held back', () => {
    const { clock, rate, served } = stand(50)
    expect(served(1_000)).toBe(200)
    expect(rate.secondsToWait('a')).toBe(1)
    expect(served(1_000, 'b')).toBe(200)
    clock.advanceMs(1_000)
    expect(served(1_000)).toBe(50)
    clock.advanceMs(3_600_000)
    expect(served(1_000)).toBe(200)
  })

  test('one call per second: the wait is how long until the next is served', () => {
    const { clock, rate, served } = stand(1)
    expect(served(10)).toBe(4)
    const waitSeconds = rate.secondsToWait('a') ?? 0
    clock.advanceMs(waitSeconds * 1_000)
    expect(served(1)).toBe(1)
  })

  test('A14: a part of a rate that is less than a call in four seconds still serves one call at a time', () => {
    const { clock, served } = stand(1 / 10)
    expect(served(10)).toBe(1)
    clock.advanceMs(9_999)
    expect(served(1)).toBe(0)
    clock.advanceMs(1)
    expect(served(10)).toBe(1)
  })

  test('0 is no limit', () => {
    expect(stand(0).served(10_000)).toBe(10_000)
  })

  test('however they come, never more than the rate and one burst in any stretch of time', () => {
    const pauses = array(integer({ min: 0, max: 400 }), { maxLength: 300 })
    assertProperty(
      property(pauses, integer({ min: 1, max: 20 }), (pausesMs, perSecond) => {
        const { clock, served } = stand(perSecond)
        const startMs = clock.unixMs()
        let count = 0
        for (const pauseMs of pausesMs) {
          clock.advanceMs(pauseMs)
          count += served(1)
        }
        const seconds = (clock.unixMs() - startMs) / 1_000
        expect(count).toBeLessThanOrEqual((seconds + 4) * perSecond + 1e-6)
      }),
    )
  })
})
