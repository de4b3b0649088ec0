// A18: what a window costs its seller, whatever is called in it.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Step } from './recorder-histories.fixture.ts'
import { RecorderRun } from './recorder-run.fixture.ts'
import { countEntries } from './usage-window.ts'

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

const callsStep = (count: number): Step => ({ kind: 'calls', agent: 0, count, readLagMs: 0 })
const PAUSE: Step = { kind: 'time', ms: 31_000 }

/** Asks every process in turn for calls of the first agent until none is served. */
async function useUp(run: RecorderRun): Promise<void> {
  for (let served = -1; served < run.answered('recorded', 0); ) {
    served = run.answered('recorded', 0)
    for (let at = 0; at < run.recorders.length; at += 1) {
      await run.run(callsStep(20), at)
      await run.run(PAUSE, at)
    }
  }
}

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
          for (const entries of [...run.countEntriesSent(0), ...run.countEntriesSent(1)])
            expect(entries).toBeLessThanOrEqual(countEntries(quota))
          // And none of the quota is out of reach: some process still serves it.
          await useUp(run)
          for (const entries of run.countEntriesSent(0))
            expect(entries).toBeLessThanOrEqual(countEntries(quota))
          expect(run.chain.countUsed(run.windowId(0))).toBe(quota)
        },
      ),
      { numRuns },
    ),
  )

  test('25 for 1,000 calls in bursts of 8 with pauses of 31 s', async () => {
    const run = new RecorderRun({ quota: 1_000, recorderCount: 1 })
    for (let burst = 0; burst < 125; burst += 1)
      for (const step of [callsStep(8), PAUSE]) await run.run(step, 0)
    expect(run.answered('recorded')).toBe(1_000)
    expect(run.countEntriesSent(0)).toEqual([25])
  })

  test('at most 25 each for bursts of 4 at two replicas in turn', async () => {
    const run = new RecorderRun({ quota: 1_000, recorderCount: 2 })
    for (let burst = 0; burst < 250; burst += 1) {
      await run.run(callsStep(4), burst)
      await run.run(PAUSE, burst)
    }
    expect(run.answered('recorded')).toBeGreaterThan(950)
    for (const entries of run.countEntriesSent(0)) expect(entries).toBeLessThanOrEqual(25)
  })

  test('transactions that revert are none of them: once the ledger counts again every call is served', async () => {
    const run = new RecorderRun({ quota: 20, recorderCount: 2 })
    await run.run({ kind: 'reverting', is: true }, 0)
    for (let call = 0; call < 2 * 20; call += 1)
      for (const step of [callsStep(1), PAUSE]) await run.run(step, 0)
    await run.run({ kind: 'reverting', is: false }, 0)
    for (let call = 0; call < 20; call += 1)
      for (const step of [callsStep(1), PAUSE]) await run.run(step, 0)
    expect(run.chain.countUsed(run.windowId(0))).toBe(20)
  })

  test('a process whose last record the contract refuses makes no other, and the next one serves what is left', async () => {
    const run = new RecorderRun({ quota: 1_000, recorderCount: 2 })
    while ((run.countEntriesSent(0)[0] ?? 0) < 24 || run.total('leasedCalls') > 0)
      for (const step of [callsStep(1), PAUSE]) await run.run(step, 0)
    // It leases all that is left, since its read does not show that another one has just counted a call.
    await run.run(callsStep(1), 1)
    await run.run({ kind: 'time', ms: 0 }, 1)
    await run.run({ kind: 'calls', agent: 0, count: 1, readLagMs: 3_000 }, 0)
    await run.run(PAUSE, 0)
    expect(run.countEntriesSent(0)).toEqual([25, 1])
    expect(run.answered('unavailable')).toBe(1)
    await useUp(run)
    expect(run.countEntriesSent(0)[0]).toBe(25)
    expect(run.answered('recorded')).toBe(1_000)
  })
})
