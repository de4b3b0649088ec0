import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AGENTS,
  arbitraryEnd,
  arbitraryHistory,
  arbitraryQuota,
  arbitraryReverting,
  arbitraryStep,
  type Step,
} from './recorder-histories.fixture.ts'
import { play, RecorderRun } from './recorder-run.fixture.ts'

const isLong = process.env.TALLYSTICK_LONG === '1'
/** Histories per property: seconds of work in the usual run, half a minute in the long one. */
const numRuns = isLong ? 2_000 : 60

/** Nothing but the recorders counts calls. */
const arbitraryOwnStep = arbitraryStep.filter((step) => step.kind !== 'count-outside')
const fiveCalls = (agent: number): Step => ({ kind: 'calls', agent, count: 5, readLagMs: 0 })
const agents = Array.from({ length: AGENTS }, (_, agent) => agent)

/** Runs the property over histories of one recorder. */
function holdsForOne(
  step: Parameters<typeof arbitraryHistory>[0],
  hold: (run: RecorderRun, isNonceLagging: boolean) => void | Promise<void>,
): Promise<void> {
  const property = fc.asyncProperty(
    arbitraryHistory(step, 1),
    arbitraryQuota,
    async (history, quota) => {
      const run = new RecorderRun({ quota, recorderCount: 1 })
      await play(run, history)
      await hold(
        run,
        history.some(([each]) => each.kind === 'nonce-lags'),
      )
    },
  )
  return fc.assert(property, { numRuns })
}

/** Runs the property over histories of two or three recorders. */
function holdsForSeveral(
  step: Parameters<typeof arbitraryHistory>[0],
  hold: (run: RecorderRun) => void | Promise<void>,
): Promise<void> {
  const property = fc.asyncProperty(
    arbitraryHistory(step, 3),
    arbitraryQuota,
    fc.integer({ min: 2, max: 3 }),
    async (history, quota, recorderCount) => {
      const run = new RecorderRun({ quota, recorderCount })
      await play(run, history)
      await hold(run)
    },
  )
  return fc.assert(property, { numRuns })
}

function staysInQuota(run: RecorderRun): void {
  for (const agent of agents)
    expect(run.chain.countUsed(run.windowId(agent))).toBeLessThanOrEqual(run.chain.quota)
}

/** What is counted and was not answered is what kills and closed processes account for. */
function losesNoMore(run: RecorderRun): void {
  expect(run.overAnswered()).toEqual([])
  staysInQuota(run)
  const share = Math.max(1, Math.floor(run.chain.quota * 0.05))
  for (const agent of agents) {
    const shortBy = run.chain.countUsed(run.windowId(agent)) - run.answered('recorded', agent)
    expect(shortBy).toBeLessThanOrEqual(
      run.kills * share +
        run.total('lostLeasedCallsTotal') +
        (run.unanswered[agent] ?? 0) +
        // Its receipt took over 20 s.
        run.answered('unavailable', agent),
    )
  }
}

describe('properties', () => {
  test('A9, A10: whatever the ledger does, every call is answered once and every recorded hash counts it or is reported', () =>
    holdsForOne(arbitraryStep, (run, isNonceLagging) => {
      expect(run.answers).toHaveLength(run.callCount)
      expect(run.total('unreceiptedCalls')).toBe(0)
      // Only a nonce that lags for minutes hides the proof that a batch must be signed anew.
      expect(isNonceLagging || run.total('missingCallsTotal') === 0).toBe(true)
      expect(run.overAnswered()).toEqual([])
      staysInQuota(run)
    }))

  test('A9, A18: once leases have gone back the chain counts exactly the calls that were answered as recorded, less those that it refused', () =>
    holdsForOne(arbitraryStep, (run) => {
      expect(run.total('leasedCalls')).toBe(0)
      expect(run.counted - run.total('lostLeasedCallsTotal')).toBe(
        run.answered('recorded') - run.total('refusedCallsTotal') - run.total('missingCallsTotal'),
      )
      expect(run.total('recordedCallsTotal') - run.total('givenBackCallsTotal')).toBe(run.counted)
    }))

  test('A11: with one recorder and nothing counted outside it, no call is refused by the contract: the quota is never overspent', () =>
    holdsForOne(arbitraryOwnStep, (run) => {
      expect(run.total('refusedCallsTotal')).toBe(0)
      staysInQuota(run)
      for (const agent of agents)
        expect(
          run.answered('recorded', agent) - run.total('missingCallsTotal'),
        ).toBeLessThanOrEqual(run.chain.countUsed(run.windowId(agent)))
    }))

  test('A9: quota-spent is never told to an agent whose window ends with calls to spare, unless calls that held them were not recorded', () =>
    holdsForOne(arbitraryOwnStep, (run) => {
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
          run.chain.countUsed(call) < run.chain.quota,
      )
      expect(wronged).toEqual([])
    }))

  test('A10: a batch whose nonce is consumed is not given up for the time in which the ledger did not answer', async () => {
    const run = new RecorderRun({ quota: 1_000, recorderCount: 1 })
    const oneCall: Step = { kind: 'calls', agent: 0, count: 1, readLagMs: 0 }
    const history: readonly Step[] = [
      oneCall,
      { kind: 'nonce-taken' },
      { kind: 'reachable', is: false },
      { kind: 'send-fault', fault: 'dropped' },
      { kind: 'time', ms: 0 },
      { kind: 'reachable', is: true },
      { kind: 'time', ms: 31_000 },
      { kind: 'reachable', is: false },
      { kind: 'time', ms: 79_000 },
      { kind: 'nonce-taken' },
      oneCall,
      { kind: 'time', ms: 0 },
    ]
    await play(
      run,
      history.map((step) => [step, 0] as const),
    )
    expect(run.total('missingCallsTotal')).toBe(0)
    expect(run.chain.countUsed(run.windowId(0))).toBe(2)
  })

  test('A10: an empty transaction whose nonce is consumed while the recorder has no money holds up none of the calls behind it', async () => {
    const run = new RecorderRun({ quota: 5, recorderCount: 1 })
    const history: readonly Step[] = [
      { kind: 'send-fault', fault: 'late' },
      fiveCalls(1),
      { kind: 'nonce-taken' },
      { kind: 'time', ms: 0 },
      { kind: 'receipts-lag', ms: 9_000 },
      { kind: 'send-takes', ms: 4_000 },
      { kind: 'gas-price', weibar: 250 },
      fiveCalls(0),
      { kind: 'time', ms: 16_000 },
      { kind: 'send-fault', fault: 'dropped' },
      { kind: 'time', ms: 31_000 },
      { kind: 'funds', has: false },
      { kind: 'nonce-taken' },
      { kind: 'nonce-taken' },
      { kind: 'time', ms: 31_000 },
    ]
    await play(
      run,
      history.map((step) => [step, 0] as const),
    )
    for (const agent of [0, 1]) expect(run.chain.countUsed(run.windowId(agent))).toBe(5)
    expect(run.total('unreceiptedCalls')).toBe(0)
  })

  test('A11, A18: with several recorders every call answered as recorded is counted by its hash, and none beyond the quota', () =>
    holdsForSeveral(arbitraryOwnStep, (run) => {
      expect(run.answers).toHaveLength(run.callCount)
      // A refusal reaches only calls that wait for their receipt, so it is no excuse, unless the transaction was lost at first:
      // twenty seconds later others may have used what was left.
      expect(run.overAnswered(['receipt-missing', 'resent'])).toEqual([])
      staysInQuota(run)
    }))

  test('A18: of several recorders what nobody used is back once they have stopped', () =>
    holdsForSeveral(arbitraryOwnStep, (run) => {
      expect(run.total('leasedCalls')).toBe(0)
      losesNoMore(run)
    }))

  test('A10: reverted batches count nothing and hold nothing', () =>
    holdsForOne(fc.oneof({ weight: 3, arbitrary: arbitraryStep }, arbitraryReverting), (run) => {
      expect(run.counted - run.total('lostLeasedCallsTotal')).toBe(
        run.answered('recorded') -
          run.total('refusedCallsTotal') -
          run.total('revertedCallsTotal') -
          run.total('missingCallsTotal'),
      )
      expect(run.total('unreceiptedCalls')).toBe(0)
      expect(run.overAnswered()).toEqual([])
    }))

  test.each([1, 3])(
    'A18: of %i recorders that are killed each costs an agent at most a twentieth of its quota, and what was in its hands',
    (recorderCount) => {
      const step = fc.oneof(
        { weight: 15, arbitrary: arbitraryOwnStep },
        { weight: 1, arbitrary: arbitraryEnd },
      )
      return recorderCount === 1
        ? holdsForOne(step, losesNoMore)
        : holdsForSeveral(step, losesNoMore)
    },
  )
})
