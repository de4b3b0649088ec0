import { array, assert, constant, double, integer, nat, oneof, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { manualClock } from './manual-clock.ts'
import { createBackOff, retry } from './retry.ts'

const limits = { firstMs: 1_000, maxMs: 60_000 }

test('pauses double from the first to the longest, and begin anew after a success', () => {
  const backOff = createBackOff({ ...limits, clock: manualClock(0) })
  const pauses = Array.from({ length: 8 }, () => backOff.failed())
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  expect(backOff.failures).toBe(8)
  backOff.succeeded()
  expect([backOff.failures, backOff.leftMs(), backOff.failed()]).toEqual([0, 0, 1_000])
})

test('the other side says when to come back, but not later than the ceiling', () => {
  const clock = manualClock(0)
  const backOff = createBackOff({ ...limits, clock })
  expect(backOff.failed(30_000)).toBe(30_000)
  expect(backOff.failed(90_000)).toBe(60_000)
  backOff.succeeded(5_000)
  clock.advanceMs(2_000)
  expect(backOff.leftMs()).toBe(3_000)
})

const makeStep = (kind: 'failed' | 'succeeded' | 'clock') =>
  record({
    kind: constant(kind),
    ms: kind === 'clock' ? integer({ min: -90_000, max: 90_000 }) : nat(200_000),
    chance: double({ min: 0, max: 1, noNaN: true }),
  })

test('no pause is longer than the ceiling or shorter than half of its step, whatever fails, chance and clock say', () => {
  const growth = record({
    firstMs: integer({ min: 1, max: 5_000 }),
    factor: integer({ min: 1, max: 8 }),
  })
  const steps = array(oneof(makeStep('failed'), makeStep('succeeded'), makeStep('clock')))
  const isKept = property(growth, steps, ({ factor, firstMs }, taken) => {
    let [nowMs, failures, chance] = [1_000_000_000, 0, 0]
    const clock = { unixMs: () => nowMs }
    const options = { firstMs, factor, maxMs: 60_000, clock, chance: () => chance }
    const backOff = createBackOff(options)
    return taken.every((step) => {
      chance = step.chance
      if (step.kind === 'clock') nowMs += step.ms
      if (step.kind === 'succeeded') backOff.succeeded(step.ms)
      const stepMs = Math.min(firstMs * factor ** failures, 60_000)
      const pauseMs = step.kind === 'failed' ? backOff.failed(step.ms) : backOff.leftMs()
      if (step.kind !== 'clock') failures = step.kind === 'failed' ? failures + 1 : 0
      const isInStep =
        step.kind !== 'failed' ||
        (pauseMs >= Math.min(60_000, Math.max(stepMs / 2, step.ms)) &&
          pauseMs <= Math.max(stepMs, Math.min(step.ms, 60_000)))
      const isLeft = backOff.leftMs() === pauseMs && pauseMs >= 0 && pauseMs <= 60_000
      return isInStep && isLeft && backOff.failures === failures
    })
  })
  expect(() => assert(isKept)).not.toThrow()
})

/** Runs a loop whose attempts answer in turn, and notes when each began. */
const run = (answers: readonly (object | Error | undefined)[], signal?: AbortSignal) => {
  const clock = manualClock(0)
  const beganAtMs: number[] = []
  const end = retry(
    {
      ...limits,
      clock,
      limitMs: 10_000,
      isTransient: (error) => error instanceof RangeError,
      ...(signal === undefined ? {} : { signal }),
    },
    async () => {
      const answer = answers[Math.min(beganAtMs.length, answers.length - 1)]
      beganAtMs.push(clock.unixMs())
      if (answer instanceof Error) throw answer
      return answer
    },
  )
  return { clock, beganAtMs, end }
}

test('a loop ends with the first value', async () => {
  const { beganAtMs, clock, end } = run([undefined, new RangeError('away'), { is: 'there' }])
  await clock.advanceMsSettled(10_000)
  expect(await end).toEqual({ kind: 'done', value: { is: 'there' } })
  expect(beganAtMs).toEqual([0, 1_000, 3_000])
  expect(clock.pendingCount()).toBe(0)
})

test('a loop without a value gives up at its limit, after an attempt just then, with that attempt’s error', async () => {
  const away = run([undefined, new RangeError('away')])
  await away.clock.advanceMsSettled(10_000)
  expect(await away.end).toEqual({ kind: 'given_up', cause: new RangeError('away') })
  expect(away.beganAtMs).toEqual([0, 1_000, 3_000, 7_000, 10_000])
  const empty = run([new RangeError('away'), undefined])
  await empty.clock.advanceMsSettled(10_000)
  expect(await empty.end).toEqual({ kind: 'given_up', cause: undefined })
})

test('an error that is not transient ends a loop at once', async () => {
  const { beganAtMs, end } = run([new TypeError('a bug')])
  await expect(end).rejects.toThrow('a bug')
  expect(beganAtMs).toEqual([0])
})

test('a signal ends a loop in its pause, and leaves no timer', async () => {
  const stop = new AbortController()
  const { beganAtMs, clock, end } = run([undefined], stop.signal)
  await clock.advanceMsSettled(1_500)
  stop.abort()
  expect(await end).toEqual({ kind: 'given_up', cause: undefined })
  expect(beganAtMs).toEqual([0, 1_000])
  expect(clock.pendingCount()).toBe(0)
})
