// Histories of what may happen to recorders: for properties of the recorder.
import * as fc from 'fast-check'
import type { SendFault } from './usage-ledger-fake.fixture.ts'

/** Agents of a run, each with one window. */
export const AGENTS = 3
/** One thing that happens. */
export type Step =
  | { kind: 'calls'; agent: number; count: number; readLagMs: number }
  | { kind: 'time'; ms: number }
  | { kind: 'send-fault'; fault: SendFault }
  | { kind: 'send-takes'; ms: number }
  | { kind: 'receipts-lag'; ms: number }
  | { kind: 'reachable'; is: boolean }
  | { kind: 'funds'; has: boolean }
  | { kind: 'gas-price'; weibar: number }
  | { kind: 'nonce-taken' }
  | { kind: 'nonce-lags'; by: number }
  | { kind: 'count-outside'; agent: number }
  | { kind: 'reverting'; is: boolean }
  | { kind: 'kill' }
  | { kind: 'restart' }

const arbitraryCalls = fc.record({
  kind: fc.constant('calls' as const),
  agent: fc.nat(AGENTS - 1),
  count: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 60 })),
  readLagMs: fc.constantFrom(0, 0, 300, 3_000, 10_000),
})
/** Anything but reverting batches, and ends of processes. */
export const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: arbitraryCalls },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('time' as const),
      ms: fc.constantFrom(0, 1, 40, 100, 300, 2_000, 16_000, 31_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('send-fault' as const),
      fault: fc.constantFrom<SendFault>('dropped', 'lost', 'unanswered', 'late', 'not-taken'),
    }),
  },
  fc.record({ kind: fc.constant('send-takes' as const), ms: fc.constantFrom(0, 10, 400, 4_000) }),
  fc.record({ kind: fc.constant('receipts-lag' as const), ms: fc.constantFrom(0, 500, 9_000) }),
  fc.record({ kind: fc.constant('reachable' as const), is: fc.boolean() }),
  fc.record({ kind: fc.constant('funds' as const), has: fc.boolean() }),
  fc.record({
    kind: fc.constant('gas-price' as const),
    weibar: fc.constantFrom(50, 100, 250, 900),
  }),
  fc.record({ kind: fc.constant('nonce-taken' as const) }),
  fc.record({ kind: fc.constant('nonce-lags' as const), by: fc.nat(3) }),
  fc.record({ kind: fc.constant('count-outside' as const), agent: fc.nat(AGENTS - 1) }),
)

/** Batches that revert. */
export const arbitraryReverting: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('reverting' as const),
  is: fc.boolean(),
})

/** A process is killed, or told to stop, and another takes its key. */
export const arbitraryEnd: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('kill' as const, 'restart' as const),
})

/** Small quotas, which have no leases, and ones with leases of up to 20 or 50 calls. */
export const arbitraryQuota = fc.oneof(
  fc.integer({ min: 5, max: 40 }),
  fc.integer({ min: 40, max: 400 }),
  fc.constant(1_000),
)

/** Up to 80 steps, each with the recorder that it happens to. */
export const arbitraryHistory = (step: fc.Arbitrary<Step>, recorders: number) =>
  fc.array(fc.tuple(step, fc.nat(recorders - 1)), { minLength: 1, maxLength: 80, size: 'max' })
