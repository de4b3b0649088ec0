// Recorders over one fake chain, and histories of what may befall them: for properties of the recorder.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import * as fc from 'fast-check'
import type { UsageEvent } from './events.ts'
import { FakeUsageChain, FakeUsageLedger, type SendFault } from './usage-ledger-fake.fixture.ts'
import {
  createUsageRecorder,
  type UsageCall,
  type UsageOutcome,
  type UsageRecorder,
} from './usage-recorder.ts'
import { usageWindowKey } from './usage-window.ts'

const START_MS = 1_700_000_000_000
const WINDOW_END_SECONDS = START_MS / 1000 + 100_000
/** Agents of a run, each with one window. */
export const AGENTS = 3
/** One thing that happens. */
type Step =
  | { kind: 'calls'; agent: number; count: number; readLag: number }
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

const arbitraryCalls = fc.record({
  kind: fc.constant('calls' as const),
  agent: fc.nat(AGENTS - 1),
  count: fc.integer({ min: 1, max: 12 }),
  readLag: fc.nat(6),
})
/** Anything but reverting batches. */
export const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: arbitraryCalls },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('time' as const),
      ms: fc.constantFrom(0, 1, 40, 100, 300, 2_000, 16_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('send-fault' as const),
      fault: fc.constantFrom<SendFault>('dropped', 'lost', 'unanswered'),
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

type Answer = { readonly call: UsageCall; readonly outcome: UsageOutcome }

/** Some recorders over one chain, the answers that they gave, and what they reported. */
export class RecorderRun {
  readonly clock: ManualClock = manualClock(START_MS)
  readonly chain: FakeUsageChain
  readonly ledgers: FakeUsageLedger[]
  readonly recorders: UsageRecorder[]
  readonly events: UsageEvent[] = []
  readonly answers: Answer[] = []
  outside = 0
  asked = 0
  #history: Map<string, number>[] = []

  constructor(options: { quota: number; recorderCount: number }) {
    this.chain = new FakeUsageChain(options.quota)
    this.ledgers = Array.from(
      { length: options.recorderCount },
      (_, at) => new FakeUsageLedger({ chain: this.chain, clock: this.clock, key: `key ${at}` }),
    )
    this.recorders = this.ledgers.map((ledger) =>
      createUsageRecorder({
        ledger,
        clock: this.clock,
        recorderCount: options.recorderCount,
        onEvent: (event) => this.events.push(event),
      }),
    )
  }

  async run(step: Step, recorderAt: number): Promise<void> {
    this.#history.push(new Map(this.chain.used))
    const ledger = this.ledgers[recorderAt % this.ledgers.length]
    const recorder = this.recorders[recorderAt % this.recorders.length]
    if (ledger === undefined || recorder === undefined) throw new Error('no recorder')
    switch (step.kind) {
      case 'calls':
        for (let at = 0; at < step.count; at += 1) this.#call(recorder, step)
        break
      case 'time':
        await this.clock.advanceMsSettled(step.ms)
        break
      case 'send-fault':
        ledger.sendFaults.push(step.fault)
        break
      case 'send-takes':
        ledger.sendMs = step.ms
        break
      case 'receipts-lag':
        ledger.receiptLagMs = step.ms
        break
      case 'reachable':
        ledger.isUnreachable = !step.is
        break
      case 'funds':
        ledger.hasFunds = step.has
        break
      case 'gas-price':
        ledger.gasPriceWeibar = BigInt(step.weibar)
        break
      case 'nonce-taken':
        ledger.consumeNonce()
        break
      case 'nonce-lags':
        ledger.nonceLag = step.by
        break
      case 'count-outside':
        this.#countOutside(step.agent)
        break
      case 'reverting':
        this.chain.isReverting = step.is
        break
    }
  }

  /** Mends everything and lets it come to rest. */
  async rest(): Promise<void> {
    this.chain.isReverting = false
    for (const ledger of this.ledgers) {
      ledger.isUnreachable = false
      ledger.hasFunds = true
      ledger.sendFaults.length = 0
      ledger.sendMs = 0
      ledger.receiptLagMs = 0
      ledger.nonceLag = 0
    }
    await this.clock.advanceMsSettled(400_000)
  }

  readonly windowOf = (agent: number) => ({
    agent: `0x${`${agent}`.padStart(40, '0')}`,
    windowExpiresAtSeconds: WINDOW_END_SECONDS,
  })

  #call(recorder: UsageRecorder, step: { agent: number; readLag: number }): void {
    const window = this.windowOf(step.agent)
    const past = this.#history.at(-1 - step.readLag) ?? this.#history[0]
    const call = {
      ...window,
      windowStartsAtSeconds: START_MS / 1000,
      callsAllowed: this.chain.quota,
      callsUsedInRead: past?.get(usageWindowKey(window)) ?? 0,
    }
    this.asked += 1
    void recorder.record(call).then((outcome) => this.answers.push({ call, outcome }))
  }

  #countOutside(agent: number): void {
    if (this.chain.usedOf(this.windowOf(agent)) >= this.chain.quota) return
    this.chain.countOutside(this.windowOf(agent))
    this.outside += 1
  }

  used(): number {
    return [...this.chain.used.values()].reduce((sum, calls) => sum + calls, 0)
  }

  total(
    name:
      | 'recordedCallsTotal'
      | 'refusedCallsTotal'
      | 'revertedCallsTotal'
      | 'missingCallsTotal'
      | 'unreceiptedCalls',
  ): number {
    return this.recorders.reduce((sum, recorder) => sum + recorder.figures()[name], 0)
  }

  /** Calls answered as recorded, by the hash under which they are to be found in the end. */
  recordedByHash(): Map<string, number> {
    const newHashes = new Map<string, string>()
    for (const event of this.events)
      if (event.kind === 're-signed') newHashes.set(event.oldHash, event.newHash)
    const byHash = new Map<string, number>()
    for (const { outcome } of this.answers) {
      if (outcome.kind !== 'recorded') continue
      let hash = outcome.transactionHash
      while (!this.chain.receipts.has(hash) && newHashes.has(hash))
        hash = newHashes.get(hash) ?? hash
      byHash.set(hash, (byHash.get(hash) ?? 0) + 1)
    }
    return byHash
  }
}

/** Lets the history happen, each step to the recorder beside it, and then mends everything. */
export async function play(
  run: RecorderRun,
  history: readonly (readonly [Step, number])[],
): Promise<void> {
  for (const [step, recorderAt] of history) await run.run(step, recorderAt)
  await run.rest()
}

/** Up to 80 steps, each with the recorder that it befalls. */
export const arbitraryHistory = (step: fc.Arbitrary<Step>, recorders: number) =>
  fc.array(fc.tuple(step, fc.nat(recorders - 1)), { minLength: 1, maxLength: 80, size: 'max' })
