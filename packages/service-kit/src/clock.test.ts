import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { atMost, pause, systemClock } from './clock.ts'
import { manualClock } from './manual-clock.ts'

describe('S7: manualClock', () => {
  test('due timers run in order of time, then of arming, each at its own time', () => {
    const delays = fc.array(fc.nat(100), { maxLength: 20 })
    fc.assert(
      fc.property(delays, fc.nat(120), (delaysMs, advanceMs) => {
        const clock = manualClock(1_000)
        const ran: { index: number; atMs: number }[] = []
        delaysMs.forEach((delayMs, index) => {
          clock.after(delayMs, () => ran.push({ index, atMs: clock.unixMs() }))
        })
        clock.advanceMs(advanceMs)
        const due = delaysMs
          .map((delayMs, index) => ({ index, atMs: 1_000 + delayMs }))
          .filter(({ atMs }) => atMs <= 1_000 + advanceMs)
          .toSorted((a, b) => a.atMs - b.atMs || a.index - b.index)
        expect(ran).toEqual(due)
        expect(clock.unixMs()).toBe(1_000 + advanceMs)
        expect(clock.pendingCount()).toBe(delaysMs.length - due.length)
      }),
    )
  })

  test('a timer armed by a timer runs in the same advance if it falls due', () => {
    const clock = manualClock(0)
    const ranAtMs: number[] = []
    const tick = (): void => {
      ranAtMs.push(clock.unixMs())
      clock.after(10, tick)
    }
    clock.after(10, tick)
    clock.advanceMs(35)
    expect(ranAtMs).toEqual([10, 20, 30])
  })

  test('a cancelled timer does not run', () => {
    const clock = manualClock(0)
    const cancel = clock.after(5, () => expect.unreachable())
    cancel()
    clock.advanceMs(10)
    expect(clock.pendingCount()).toBe(0)
  })

  test('promises settle between timers', async () => {
    const clock = manualClock(0)
    const seen: string[] = []
    clock.after(1, () => {
      void Promise.resolve()
        .then(() => undefined)
        .then(() => clock.after(1, () => seen.push(`second at ${clock.unixMs()}`)))
    })
    await clock.advanceMsSettled(5)
    expect(seen).toEqual(['second at 2'])
  })
})

describe('systemClock', () => {
  test('reads Unix milliseconds and runs once after the delay, unless cancelled', async () => {
    expect(Math.abs(systemClock.unixMs() - Date.now())).toBeLessThan(1_000)
    let cancelledRan = false
    systemClock.after(1, () => {
      cancelledRan = true
    })()
    await new Promise<void>((resolve) => {
      systemClock.after(5, resolve)
    })
    expect(cancelledRan).toBe(false)
  })
})

/** Begins a pause; the returned function says whether it is over. */
const startPause = (ms: number, signal?: AbortSignal) => {
  const clock = manualClock(0)
  const seen = { isOver: false }
  const wait = async (): Promise<void> => {
    await pause(clock, ms, signal)
    seen.isOver = true
  }
  void wait()
  return { clock, seen }
}

describe('pause', () => {
  test('lasts its full time on the clock', async () => {
    const { clock, seen } = startPause(10)
    await clock.advanceMsSettled(9)
    expect(seen.isOver).toBe(false)
    await clock.advanceMsSettled(1)
    expect(seen.isOver).toBe(true)
  })

  test('ends on abort and leaves no timer', async () => {
    const controller = new AbortController()
    const { clock, seen } = startPause(10, controller.signal)
    controller.abort()
    await clock.advanceMsSettled(0)
    expect([seen.isOver, clock.pendingCount()]).toEqual([true, 0])
  })

  test('does not begin if the signal is already aborted', async () => {
    const { clock, seen } = startPause(10, AbortSignal.abort())
    expect(clock.pendingCount()).toBe(0)
    await clock.advanceMsSettled(0)
    expect(seen.isOver).toBe(true)
  })

  test('leaves no listener on a longer-lived signal', async () => {
    const { signal } = new AbortController()
    const removed: string[] = []
    signal.removeEventListener = (name: string) => void removed.push(name)
    const { clock } = startPause(10, signal)
    await clock.advanceMsSettled(10)
    expect(removed).toEqual(['abort'])
  })
})

describe('work that is waited for at most so long', () => {
  test('gives its value or its error in time, and leaves no timer', async () => {
    const clock = manualClock(0)
    expect(await atMost(clock, 10, Promise.resolve('done'))).toBe('done')
    await expect(atMost(clock, 10, Promise.reject(new RangeError('no')))).rejects.toThrow('no')
    expect(clock.pendingCount()).toBe(0)
  })

  test('gives nothing once it is late, and fails nobody afterwards', async () => {
    const clock = manualClock(0)
    const work = Promise.withResolvers<string>()
    const waited = atMost(clock, 10, work.promise)
    clock.advanceMs(10)
    expect(await waited).toBeUndefined()
    work.reject(new RangeError('too late'))
  })
})
