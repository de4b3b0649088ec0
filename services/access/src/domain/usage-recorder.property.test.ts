import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AGENTS,
  arbitraryHistory,
  arbitraryStep,
  play,
  RecorderRun,
} from './recorder-histories.fixture.ts'

const isLong = process.env.TALLYSTICK_LONG === '1'
/** Histories per property: seconds of work in the usual run. */
const numRuns = isLong ? 20_000 : 600

describe('properties', { timeout: 120_000 }, () => {
  test('A9, A10: whatever the ledger does, every call is answered once and every recorded hash carries it or is reported', async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryHistory(arbitraryStep, 1),
        fc.integer({ min: 5, max: 40 }),
        async (history, quota) => {
          const run = new RecorderRun({ quota, recorderCount: 1 })
          await play(run, history)
          expect(run.answers).toHaveLength(run.asked)
          expect(run.total('unreceiptedCalls')).toBe(0)
          // Only a nonce that lags for minutes hides the proof that a batch must be signed anew.
          const isNonceLagging = history.some(([step]) => step.kind === 'nonce-lags')
          expect(isNonceLagging || run.total('missingCallsTotal') === 0).toBe(true)
          const reportedHashes = new Set(
            run.events.flatMap((event) =>
              event.kind === 'usage-refused' || event.kind === 'receipt-missing'
                ? [event.hash]
                : [],
            ),
          )
          for (const [hash, calls] of run.recordedByHash()) {
            if (reportedHashes.has(hash)) continue
            const counted = [...(run.chain.counted.get(hash)?.values() ?? [])]
            expect(counted.reduce((sum, each) => sum + each, 0)).toBe(calls)
          }
        },
      ),
      { numRuns },
    )
  })

  test('A9: the chain counts exactly the calls that were answered as recorded, less those that it refused', async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryHistory(arbitraryStep, 1),
        fc.integer({ min: 5, max: 40 }),
        async (history, quota) => {
          const run = new RecorderRun({ quota, recorderCount: 1 })
          await play(run, history)
          const answered = run.answers.filter(({ outcome }) => outcome.kind === 'recorded').length
          expect(run.used() - run.outside).toBe(
            answered - run.total('refusedCallsTotal') - run.total('missingCallsTotal'),
          )
          expect(run.total('recordedCallsTotal')).toBe(run.used() - run.outside)
        },
      ),
      { numRuns },
    )
  })

  test('A11: with one recorder and nothing counted outside it, no call is refused by the contract: the quota is never overspent', async () => {
    const steps = arbitraryStep.filter((step) => step.kind !== 'count-outside')
    await fc.assert(
      fc.asyncProperty(
        arbitraryHistory(steps, 1),
        fc.integer({ min: 5, max: 40 }),
        async (history, quota) => {
          const run = new RecorderRun({ quota, recorderCount: 1 })
          await play(run, history)
          expect(run.total('refusedCallsTotal')).toBe(0)
          for (let agent = 0; agent < AGENTS; agent += 1) {
            const { agent: address } = run.windowOf(agent)
            const recorded = run.answers.filter(
              ({ call, outcome }) => call.agent === address && outcome.kind === 'recorded',
            ).length
            const missing = run.total('missingCallsTotal')
            expect(recorded - missing).toBeLessThanOrEqual(run.chain.usedOf(run.windowOf(agent)))
            expect(run.chain.usedOf(run.windowOf(agent))).toBeLessThanOrEqual(recorded)
            expect(recorded - missing).toBeLessThanOrEqual(quota)
          }
        },
      ),
      { numRuns },
    )
  })

  test('A9: quota-spent is never told to an agent whose window ends with calls to spare, unless calls that held them were not recorded', async () => {
    const steps = arbitraryStep.filter((step) => step.kind !== 'count-outside')
    await fc.assert(
      fc.asyncProperty(
        arbitraryHistory(steps, 1),
        fc.integer({ min: 5, max: 40 }),
        async (history, quota) => {
          const run = new RecorderRun({ quota, recorderCount: 1 })
          await play(run, history)
          const givenBack = new Set(
            run.answers.flatMap(({ call, outcome }) =>
              outcome.kind === 'unavailable' ? [call.agent] : [],
            ),
          )
          const wronged = run.answers.filter(
            ({ call, outcome }) =>
              outcome.kind === 'quota-spent' &&
              !givenBack.has(call.agent) &&
              run.total('missingCallsTotal') === 0 &&
              run.chain.usedOf(call) < quota,
          )
          expect(wronged).toEqual([])
        },
      ),
      { numRuns },
    )
  })

  test('A11: with several recorders every call answered as recorded is counted, and none beyond the quota', async () => {
    const steps = arbitraryStep.filter((step) => step.kind !== 'count-outside')
    await fc.assert(
      fc.asyncProperty(
        arbitraryHistory(steps, 3),
        fc.integer({ min: 5, max: 400 }),
        fc.integer({ min: 2, max: 3 }),
        async (history, quota, recorderCount) => {
          const run = new RecorderRun({ quota, recorderCount })
          await play(run, history)
          expect(run.answers).toHaveLength(run.asked)
          for (let agent = 0; agent < AGENTS; agent += 1) {
            const window = run.windowOf(agent)
            const recorded = run.answers.filter(
              ({ call, outcome }) => call.agent === window.agent && outcome.kind === 'recorded',
            ).length
            expect(recorded - run.total('missingCallsTotal')).toBeLessThanOrEqual(
              run.chain.usedOf(window),
            )
            expect(run.chain.usedOf(window)).toBeLessThanOrEqual(quota)
          }
        },
      ),
      { numRuns },
    )
  })

  test('A10: reverted batches count nothing and hold nothing', async () => {
    const reverting = fc.record({ kind: fc.constant('reverting' as const), is: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(
        arbitraryHistory(fc.oneof({ weight: 3, arbitrary: arbitraryStep }, reverting), 1),
        async (history) => {
          const run = new RecorderRun({ quota: 30, recorderCount: 1 })
          await play(run, history)
          const answered = run.answers.filter(({ outcome }) => outcome.kind === 'recorded').length
          expect(run.used() - run.outside).toBe(
            answered -
              run.total('refusedCallsTotal') -
              run.total('revertedCallsTotal') -
              run.total('missingCallsTotal'),
          )
          expect(run.total('unreceiptedCalls')).toBe(0)
        },
      ),
      { numRuns },
    )
  })
})
