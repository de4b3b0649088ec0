// A recorder over the fake ledger, with time that a test moves: the tests of its parts go through it.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import type { UsageEvent } from './recorder-parts.ts'
import type { UsageCall, UsageOutcome } from './usage-call.ts'
import { FakeUsageChain, FakeUsageLedger } from './usage-ledger-fake.fixture.ts'
import { createUsageRecorder, type UsageRecorder } from './usage-recorder.ts'

export const START_MS = 1_700_000_000_000
const PERIOD_SECONDS = 3_600
/** Of a window that begins with the test. */
export const WINDOW_END_SECONDS = START_MS / 1000 + PERIOD_SECONDS

export const agentAddress = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`

export const countOutcomes = (
  outcomes: readonly UsageOutcome[],
  kind: UsageOutcome['kind'],
): number => outcomes.filter((outcome) => outcome.kind === kind).length

export const recordedHashes = (outcomes: readonly UsageOutcome[]): string[] =>
  outcomes.flatMap((outcome) => (outcome.kind === 'recorded' ? [outcome.transactionHash] : []))

export type RecorderBench = ReturnType<typeof startRecorderBench>

async function stopInTime(recorder: UsageRecorder, clock: ManualClock): Promise<void> {
  const closed = recorder.close()
  await clock.advanceMsSettled(5_000)
  await closed
}

/** One recorder with windows of 20 calls, or of `quota`. */
export function startRecorderBench(options: { quota?: number; recorderCount?: number } = {}) {
  const clock = manualClock(START_MS)
  const chain = new FakeUsageChain({ quota: options.quota ?? 20, clock })
  const ledger = new FakeUsageLedger({ chain, clock })
  const events: UsageEvent[] = []
  const start = (own: FakeUsageLedger): UsageRecorder =>
    createUsageRecorder({
      ledger: own,
      clock,
      recorderCount: options.recorderCount ?? 1,
      onEvent: (event) => events.push(event),
    })
  const recorder = start(ledger)
  const settle = (): Promise<void> => clock.advanceMsSettled(0)
  /** The outcome so far, without moving time. */
  const currentOutcome = async (promise: Promise<UsageOutcome>): Promise<UsageOutcome | 'open'> => {
    await settle()
    return Promise.race([promise, Promise.resolve('open' as const)])
  }
  const recordedHash = async (promise: Promise<UsageOutcome>): Promise<string> => {
    const outcome = await currentOutcome(promise)
    if (outcome === 'open' || outcome.kind !== 'recorded')
      throw new Error(`not recorded: ${JSON.stringify(outcome)}`)
    return outcome.transactionHash
  }
  return {
    clock,
    chain,
    ledger,
    recorder,
    events,
    settle,
    currentOutcome,
    /** A call as admitted by a read made now. */
    call(overrides: Partial<UsageCall> = {}): UsageCall {
      const agent = overrides.agent ?? agentAddress(1)
      const windowExpiresAtSeconds = overrides.windowExpiresAtSeconds ?? WINDOW_END_SECONDS
      return {
        agent,
        windowExpiresAtSeconds,
        windowStartsAtSeconds: windowExpiresAtSeconds - PERIOD_SECONDS,
        callsAllowed: chain.quota,
        callsUsedInRead: chain.countUsed({ agent, windowExpiresAtSeconds }),
        readAtMs: clock.unixMs(),
        ...overrides,
      }
    },
    recordedHash,
    /** One call after another, each with a fresh read; those that wait are left out. */
    async callInTurn(
      count: number,
      by: { recorder?: UsageRecorder; call?: Partial<UsageCall> } = {},
    ): Promise<UsageOutcome[]> {
      const outcomes: UsageOutcome[] = []
      for (let at = 0; at < count; at += 1) {
        const outcome = await currentOutcome((by.recorder ?? recorder).record(this.call(by.call)))
        if (outcome !== 'open') outcomes.push(outcome)
      }
      return outcomes
    },
    /** What each transaction asked the contract to count, in order. */
    countsSent: (): number[][] =>
      ledger.sent.map((raw) =>
        JSON.parse(raw).entries.map(({ calls }: { calls: number }) => calls),
      ),
    /** Another process, with its own key. */
    another(): { recorder: UsageRecorder; ledger: FakeUsageLedger } {
      const own = new FakeUsageLedger({ chain, clock, key: 'another' })
      return { recorder: start(own), ledger: own }
    },
    /** Stops the recorder, which gives back what nobody used (A18). */
    stop: (): Promise<void> => stopInTime(recorder, clock),
    kinds: (): string[] => events.map((event) => event.kind),
  }
}
