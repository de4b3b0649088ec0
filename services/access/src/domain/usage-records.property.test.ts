// A18: what a window costs its seller, whatever is called in it.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Step } from './recorder-histories.fixture.ts'
import { RecorderRun } from './recorder-run.fixture.ts'
import { countEntries } from './usage-limits.ts'

const isLong = process.env.TALLYSTICK_LONG === '1'
const numRuns = isLong ? 2_000 : 60

/** Bursts of any size with any pause after each, some of another agent, which make a process send records. */
const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('calls' as const),
      agent: fc.constantFrom(0, 0, 0, 1),
      count: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 120 })),
      readLagMs: fc.constantFrom(0, 0, 3_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('time' as const),
      ms: fc.constantFrom(0, 100, 1_100, 16_000, 31_000, 31_000, 600_000),
    }),
  },
  fc.record({ kind: fc.constant('receipts-lag' as const), ms: fc.constantFrom(0, 500, 3_000) }),
  fc.record({ kind: fc.constant('send-takes' as const), ms: fc.constantFrom(0, 400, 4_000) }),
)

const arbitraryQuota = fc.constantFrom(20, 60, 100, 200, 400, 1_000, 1_000)

const callsOf = (count: number): Step => ({ kind: 'calls', agent: 0, count, readLagMs: 0 })
const PAUSE: Step = { kind: 'time', ms: 31_000 }

/** What others have just given back, unseen when an entry was made, may take an entry more: of a lone process none. */
const lateMax = (recorderCount: number): number => (recorderCount === 1 ? 0 : 2 * recorderCount)

describe('A18: any use of a window takes no more records of one process than its whole quota', () => {
  test.each([1, 2, 3])('%i that record', (recorderCount) =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(arbitraryStep, fc.nat(recorderCount - 1)), {
          minLength: 1,
          maxLength: 250,
          size: 'max',
        }),
        arbitraryQuota,
        async (history, quota) => {
          const run = new RecorderRun({ quota, recorderCount })
          for (const [step, recorderAt] of history) await run.run(step, recorderAt)
          await run.rest()
          for (const entries of [...run.entriesOf(0), ...run.entriesOf(1)])
            expect(entries).toBeLessThanOrEqual(countEntries(quota) + lateMax(recorderCount))
        },
      ),
      { numRuns },
    ),
  )

  test('25 for 1,000 calls in bursts of 8 with pauses of 31 s', async () => {
    const run = new RecorderRun({ quota: 1_000, recorderCount: 1 })
    for (let burst = 0; burst < 125; burst += 1)
      for (const step of [callsOf(8), PAUSE]) await run.run(step, 0)
    expect(run.answered('recorded')).toBe(1_000)
    expect(run.entriesOf(0)).toEqual([25])
  })

  test('at most 25 each for bursts of 4 at two replicas in turn', async () => {
    const run = new RecorderRun({ quota: 1_000, recorderCount: 2 })
    for (let burst = 0; burst < 250; burst += 1) {
      await run.run(callsOf(4), burst)
      await run.run(PAUSE, burst)
    }
    expect(run.answered('recorded')).toBeGreaterThan(950)
    for (const entries of run.entriesOf(0)) expect(entries).toBeLessThanOrEqual(25)
  })
})
