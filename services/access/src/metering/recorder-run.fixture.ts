// Recorders over one fake chain and the naive model of what they may answer: for properties of the recorder.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { AGENTS, type Step } from './recorder-histories.fixture.ts'
import type { UsageEvent } from './recorder-parts.ts'
import type { UsageCall, UsageOutcome } from './usage-call.ts'
import { FakeUsageChain, FakeUsageLedger } from './usage-ledger-fake.fixture.ts'
import { createUsageRecorder, type UsageRecorder } from './usage-recorder.ts'
import { usageWindowKey } from './usage-window.ts'

const START_MS = 1_700_000_000_000
const WINDOW_END_SECONDS = START_MS / 1000 + 100_000
/** What may happen to a transaction after calls were answered with it. */
const FAILURES: readonly UsageEvent['kind'][] = [
  'usage-refused',
  'batch-reverted',
  'receipt-missing',
  'closed-unfinished',
]

type Process = {
  readonly ledger: FakeUsageLedger
  readonly recorder: UsageRecorder
  isAlive: boolean
  readonly events: UsageEvent[]
  /** Calls of each agent without an answer. */
  readonly openCalls: number[]
}

type Answer = {
  readonly call: UsageCall
  readonly outcome: UsageOutcome
  readonly process: Process
}

/** Some recorders over one chain, the answers that they gave, and what they reported. */
export class RecorderRun {
  readonly clock: ManualClock = manualClock(START_MS)
  readonly chain: FakeUsageChain
  /** Those that run now, one for each key. */
  readonly #running: Process[]
  readonly #ended: Process[] = []
  readonly answers: Answer[] = []
  readonly #recorderCount: number
  outside = 0
  callCount = 0
  kills = 0
  /** Calls of each agent whose process ended before it answered. */
  readonly unanswered: number[] = Array.from({ length: AGENTS }, () => 0)

  constructor(options: { quota: number; recorderCount: number }) {
    this.#recorderCount = options.recorderCount
    this.chain = new FakeUsageChain({ quota: options.quota, clock: this.clock })
    this.#running = Array.from({ length: options.recorderCount }, (_, at) => this.#start(at))
  }

  #start(keyAt: number): Process {
    const { clock, chain } = this
    const ledger = new FakeUsageLedger({ chain, clock, key: `key ${keyAt}` })
    const process: Process = {
      ledger,
      isAlive: true,
      events: [],
      openCalls: Array.from({ length: AGENTS }, () => 0),
      recorder: createUsageRecorder({
        ledger,
        clock,
        recorderCount: this.#recorderCount,
        onEvent: (event) => {
          if (process.isAlive) process.events.push(event)
        },
      }),
    }
    return process
  }

  async run(step: Step, recorderAt: number): Promise<void> {
    const keyAt = recorderAt % this.#running.length
    const process = this.#running[keyAt]
    if (process === undefined) throw new Error('no recorder')
    const { ledger } = process
    switch (step.kind) {
      case 'calls':
        for (let at = 0; at < step.count; at += 1) this.#call(process, step)
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
      case 'kill':
        this.kills += 1
        this.#replace(keyAt)
        break
      case 'restart': {
        const closed = process.recorder.close()
        await this.clock.advanceMsSettled(5_000)
        await closed
        this.#replace(keyAt)
        break
      }
    }
  }

  /** The process sends nothing any more, and its reports go nowhere. */
  #replace(keyAt: number): void {
    const process = this.#running[keyAt]
    if (process === undefined) return
    process.isAlive = false
    process.ledger.isDead = true
    this.#ended.push(process)
    for (const [agent, calls] of process.openCalls.entries())
      this.unanswered[agent] = (this.unanswered[agent] ?? 0) + calls
    this.#running[keyAt] = this.#start(keyAt)
  }

  /** Repairs everything and runs until nothing is left to do. */
  async rest(): Promise<void> {
    this.chain.isReverting = false
    for (const { ledger } of this.#running) {
      ledger.isUnreachable = false
      ledger.hasFunds = true
      ledger.sendFaults.length = 0
      ledger.sendMs = 0
      ledger.receiptLagMs = 0
      ledger.nonceLag = 0
    }
    await this.clock.advanceMsSettled(400_000)
  }

  /** Stops every process, which gives back what nobody used. */
  async close(): Promise<void> {
    const closed = Promise.all(this.recorders.map((recorder) => recorder.close()))
    await this.clock.advanceMsSettled(5_000)
    await closed
  }

  readonly windowId = (agent: number) => ({
    agent: `0x${`${agent}`.padStart(40, '0')}`,
    windowExpiresAtSeconds: WINDOW_END_SECONDS,
  })

  /** A call of that agent, admitted by a read that lags this much. */
  makeCall(agent: number, readLagMs = 0): UsageCall {
    const window = this.windowId(agent)
    return {
      ...window,
      windowStartsAtSeconds: START_MS / 1000,
      callsAllowed: this.chain.quota,
      callsUsedInRead: this.chain.countUsed(window, this.clock.unixMs() - readLagMs),
      readAtMs: this.clock.unixMs(),
    }
  }

  #call(process: Process, { agent, readLagMs }: { agent: number; readLagMs: number }): void {
    const call = this.makeCall(agent, readLagMs)
    this.callCount += 1
    process.openCalls[agent] = (process.openCalls[agent] ?? 0) + 1
    const answer = async (): Promise<void> => {
      const outcome = await process.recorder.record(call)
      if (!process.isAlive) return
      process.openCalls[agent] = (process.openCalls[agent] ?? 0) - 1
      this.answers.push({ call, outcome, process })
    }
    void answer()
  }

  #countOutside(agent: number): void {
    if (this.chain.countUsed(this.windowId(agent)) >= this.chain.quota) return
    this.chain.countOutside(this.windowId(agent))
    this.outside += 1
  }

  /** Calls that the chain counts because recorders asked it to. */
  get counted(): number {
    return this.chain.used - this.outside
  }

  get recorders(): readonly UsageRecorder[] {
    return this.#running.map(({ recorder }) => recorder)
  }

  /** Entries for that agent's window that each process sent, those that gave back included. */
  countEntriesSent(agent: number): readonly number[] {
    const { agent: address } = this.windowId(agent)
    return this.#running.map(
      ({ ledger }) => [...new Set(ledger.sent)].filter((raw) => raw.includes(address)).length,
    )
  }

  /** Calls of an agent, or of all, with that answer. */
  answered(kind: UsageOutcome['kind'], agent?: number): number {
    const address = agent === undefined ? undefined : this.windowId(agent).agent
    return this.answers.filter(
      ({ call, outcome }) =>
        outcome.kind === kind && (address === undefined || call.agent === address),
    ).length
  }

  /** The sum of that figure over every process, those that ended included. */
  total(
    name:
      | 'recordedCallsTotal'
      | 'refusedCallsTotal'
      | 'revertedCallsTotal'
      | 'missingCallsTotal'
      | 'givenBackCallsTotal'
      | 'lostLeasedCallsTotal'
      | 'unreceiptedCalls'
      | 'leasedCalls',
  ): number {
    const running = this.recorders.reduce((sum, recorder) => sum + recorder.figures()[name], 0)
    if (!name.endsWith('Total')) return running
    return this.#ended.reduce((sum, { recorder }) => sum + recorder.figures()[name], running)
  }

  /**
   * What the naive model forbids: transactions that count fewer calls than were answered with them, although no event in
   * `excuses` reported them as failed and their process lived to send them.
   */
  overAnswered(excuses: readonly UsageEvent['kind'][] = FAILURES): string[] {
    const counted = new Map<string, number>()
    for (const [hash, byWindow] of this.chain.counted)
      for (const [window, calls] of byWindow) counted.set(`${window} in ${hash}`, calls)
    // By process: after a kill the next one of the key may sign the very bytes that were not sent.
    const answered = new Map<Process, Map<string, number>>()
    for (const { call, outcome, process } of this.answers) {
      if (outcome.kind !== 'recorded') continue
      const hash = this.#minedHash(process, outcome.transactionHash)
      const key = `${usageWindowKey(call)} in ${hash}`
      // Not sent, or refused with no process left to report it.
      const isLostWithProcess = !process.isAlive && !counted.has(key)
      if (isLostWithProcess || isExcused(process, hash, excuses)) continue
      const calls = answered.get(process) ?? new Map<string, number>()
      answered.set(process, calls.set(key, (calls.get(key) ?? 0) + 1))
    }
    return [...answered.values()].flatMap((byKey) =>
      [...byKey].flatMap(([key, calls]) => ((counted.get(key) ?? 0) < calls ? [key] : [])),
    )
  }

  /** The final hash of a transaction that this process answered with. */
  #minedHash(process: Process, answeredHash: string): string {
    let hash = answeredHash
    for (const event of process.events) {
      if (event.kind !== 're-signed') continue
      const { oldHash, newHash } = event
      // Either of two signatures with one nonce may be mined. If the nonce was consumed, another process of the key may have
      // signed the same bytes.
      const isOldMined = event.reason === 'gas-price-too-low' && this.chain.receipts.has(oldHash)
      if (hash === oldHash && !isOldMined) hash = newHash
      else if (hash === newHash && isOldMined) hash = oldHash
    }
    return hash
  }
}

function isExcused(
  process: Process,
  hash: string,
  excuses: readonly UsageEvent['kind'][],
): boolean {
  return process.events.some(
    (event) =>
      excuses.includes(event.kind) &&
      (('hash' in event && event.hash === hash) ||
        ('hashes' in event && event.hashes.includes(hash))),
  )
}

/** Plays the history, each step on its recorder, then repairs everything and stops the processes. */
export async function play(
  run: RecorderRun,
  history: readonly (readonly [Step, number])[],
): Promise<void> {
  for (const [step, recorderAt] of history) await run.run(step, recorderAt)
  await run.rest()
  await run.close()
}
