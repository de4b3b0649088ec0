// The counter of a window against the chain that counts: whatever order reads, calls, leases and receipts come in.
import { manualClock } from '@tallystick/service-kit'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FakeUsageChain } from './usage-ledger-fake.fixture.ts'
import { READ_LAG_MS } from './usage-limits.ts'
import {
  callsLeasable,
  callsRemaining,
  callsRemainingAtLeast,
  callsUnshown,
  newWindow,
  nextWindow,
  type WindowChange,
  type WindowState,
} from './usage-window.ts'

const numRuns = process.env.TALLYSTICK_LONG === '1' ? 5_000 : 500
const START_MS = 1_700_000_000_000
const WINDOW = { agent: '0xa', windowExpiresAtSeconds: START_MS / 1000 + 100_000 }

type Step =
  | { readonly kind: 'calls'; readonly calls: number }
  | { readonly kind: 'entry'; readonly leased: number }
  | { readonly kind: 'mined' | 'receipt' | 'dropped' | 'gives-back' }
  | { readonly kind: 'other-counts'; readonly calls: number }
  | { readonly kind: 'read'; readonly lagMs: number }
  | { readonly kind: 'time'; readonly ms: number }

const step = (kind: Exclude<Step['kind'], 'calls' | 'entry' | 'other-counts' | 'read' | 'time'>) =>
  fc.constant<Step>({ kind })

const arbitraryOwnStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('calls' as const), calls: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ kind: fc.constant('entry' as const), leased: fc.nat(20) }),
  step('mined'),
  step('receipt'),
  step('dropped'),
  step('gives-back'),
  fc.record({ kind: fc.constant('read' as const), lagMs: fc.constantFrom(0, 500, 5_000, 14_000) }),
  fc.record({ kind: fc.constant('time' as const), ms: fc.constantFrom(1, 700, 6_000, 16_000) }),
)

type Entry = { readonly calls: number; hash: string }

/** One process's counter beside the chain: it accepts what the counter allows, and no more. */
class WindowRun {
  readonly clock = manualClock(START_MS)
  readonly chain: FakeUsageChain
  state: WindowState
  /** Accepted calls that no entry counts yet. */
  open = 0
  /** Entries that the ledger does not have yet, in order. */
  readonly #signed: Entry[] = []
  /** Mined entries whose receipt is not read yet, in order. */
  readonly #mined: Entry[] = []
  /** Leased calls that a receipt shows and nobody made. */
  unused = 0
  /** What other processes counted, less what they gave back. */
  #others = 0
  #nonce = 0

  constructor(options: { readonly quota: number; readonly recorderCount: number }) {
    this.chain = new FakeUsageChain({ quota: options.quota, clock: this.clock })
    this.state = newWindow({
      callsAllowed: options.quota,
      recorderCount: options.recorderCount,
    })
    this.#change({ kind: 'begun' })
  }

  async run(next: Step): Promise<void> {
    switch (next.kind) {
      case 'calls':
        return this.#accept(next.calls)
      case 'entry':
        return this.#seal(next.leased)
      case 'mined':
        return this.#mine()
      case 'receipt':
        return this.#readReceipt()
      case 'dropped':
        return this.#drop()
      case 'gives-back':
        return this.#giveBack()
      case 'other-counts':
        return this.#countOther(Math.max(next.calls, -this.#others))
      case 'read':
        return this.#change({
          kind: 'read',
          callsAllowed: this.chain.quota,
          callsUsed: this.chain.countUsed(WINDOW, this.clock.unixMs() - next.lagMs),
          askedAtMs: this.clock.unixMs(),
        })
      case 'time':
        return this.clock.advanceMsSettled(next.ms)
      default:
        return next satisfies never
    }
  }

  /** Everything that was signed is mined and receipted. */
  async rest(): Promise<void> {
    this.#seal(0)
    while (this.#signed.length > 0) this.#mine()
    while (this.#mined.length > 0) this.#readReceipt()
    await this.clock.advanceMsSettled(READ_LAG_MS + 1)
    await this.run({ kind: 'read', lagMs: 0 })
  }

  /** Calls that are still to be had: what the chain counts and will count is taken. */
  get trulyRemaining(): number {
    const coming = this.#signed.reduce((sum, { calls }) => sum + Math.max(0, calls), this.open)
    return this.chain.quota - this.chain.countUsed(WINDOW) - coming
  }

  #change(change: WindowChange): void {
    this.state = nextWindow(Object.freeze(this.state), change)
  }

  #accept(calls: number): void {
    const accepted = Math.min(calls, Math.max(0, callsRemainingAtLeast(this.state)))
    if (accepted === 0) return
    this.open += accepted
    this.#change({ kind: 'accepted', calls: accepted })
  }

  #seal(leased: number): void {
    const calls = Math.max(0, Math.min(leased, callsLeasable(this.state)))
    if (this.open + calls === 0) return
    this.#change({ kind: 'lease', calls, isBehind: false })
    this.#signed.push({ calls: this.open + calls, hash: `${(this.#nonce += 1)}` })
    this.unused += calls
    this.open = 0
  }

  #mine(): void {
    const entry = this.#signed.shift()
    if (entry === undefined) return
    this.#mineEntry('own', entry)
    this.#mined.push(entry)
  }

  #mineEntry(key: string, { calls, hash }: Entry): void {
    const entries = [{ ...WINDOW, calls }]
    this.chain.mine(hash, { key, nonce: this.#nonce, gasPriceWeibar: '0', entries })
  }

  #readReceipt(): void {
    const entry = this.#mined.shift()
    if (entry === undefined) return
    const receipt = this.chain.receipts.get(entry.hash)
    const [count] = receipt?.kind === 'mined' ? receipt.counts : []
    if (count === undefined) throw new Error('no count')
    const calls = Math.abs(entry.calls)
    const atMs = this.clock.unixMs()
    if (count.kind === 'recorded')
      this.#change({
        kind: entry.calls < 0 ? 'givenBack' : 'receipt',
        calls,
        usedAfter: count.callsUsed,
        atMs,
      })
    else this.#change({ kind: 'released', calls })
  }

  /** The last entry reverts: it counts nothing. */
  #drop(): void {
    const entry = this.#signed.at(-1)
    if (entry === undefined || entry.calls < 0) return
    this.#signed.pop()
    this.unused = 0
    this.#change({ kind: 'entry-failed' })
    this.#change({ kind: 'released', calls: entry.calls })
  }

  /** Another process records calls, or gives some of its own back. */
  #countOther(calls: number): void {
    if (calls === 0) return
    const usedBefore = this.chain.countUsed(WINDOW)
    this.#mineEntry('other', { calls, hash: `other ${(this.#nonce += 1)}` })
    this.#others += this.chain.countUsed(WINDOW) - usedBefore
  }

  /** All that nobody made goes back, once the receipts of what came before it are read. */
  #giveBack(): void {
    if (this.unused === 0 || this.#signed.length + this.#mined.length > 0) return
    this.#change({ kind: 'returning', calls: this.unused })
    this.#signed.push({ calls: -this.unused, hash: `${(this.#nonce += 1)}` })
    this.unused = 0
  }
}

const arbitraryQuota = fc.constantFrom(5, 40, 200, 1_000)

async function play(
  options: { readonly quota: number; readonly recorderCount: number },
  history: readonly Step[],
  look: (run: WindowRun) => void = () => undefined,
): Promise<WindowRun> {
  const run = new WindowRun(options)
  for (const next of history) {
    await run.run(next)
    look(run)
  }
  return run
}

describe('A9: the two figures of a window', () => {
  test('of one recorder what is truly left lies between them whatever lags, and is the higher while nothing is on its way back', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryOwnStep, { maxLength: 80, size: 'max' }),
        arbitraryQuota,
        async (history, quota) => {
          await play({ quota, recorderCount: 1 }, history, (run) => {
            expect(callsRemainingAtLeast(run.state)).toBeLessThanOrEqual(run.trulyRemaining)
            expect(callsRemaining(run.state)).toBeGreaterThanOrEqual(run.trulyRemaining)
            const isReturning = run.state.returningCalls > 0
            expect(isReturning || callsRemaining(run.state) === run.trulyRemaining).toBe(true)
          })
        },
      ),
      { numRuns },
    ))

  test('of one recorder both are what is left once every receipt is read', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryOwnStep, { maxLength: 80, size: 'max' }),
        arbitraryQuota,
        async (history, quota) => {
          const run = await play({ quota, recorderCount: 1 }, history)
          await run.rest()
          const left = quota - run.chain.countUsed(WINDOW)
          expect(callsRemainingAtLeast(run.state)).toBe(left)
          expect(callsRemaining(run.state)).toBe(left)
        },
      ),
      { numRuns },
    ))

  test('A11: whoever else counts, the lower is never above the higher, and at rest both are what is left', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            { weight: 8, arbitrary: arbitraryOwnStep },
            {
              weight: 1,
              arbitrary: fc.record({
                kind: fc.constant('other-counts' as const),
                calls: fc.integer({ min: -20, max: 20 }),
              }),
            },
          ),
          { maxLength: 80, size: 'max' },
        ),
        arbitraryQuota,
        async (history, quota) => {
          const run = await play({ quota, recorderCount: 3 }, history, ({ state }) => {
            expect(callsRemainingAtLeast(state)).toBeLessThanOrEqual(callsRemaining(state))
            expect(callsLeasable(state)).toBeLessThanOrEqual(callsRemainingAtLeast(state))
          })
          await run.rest()
          expect(callsUnshown(run.state)).toBe(0)
          expect(callsRemaining(run.state)).toBe(quota - run.chain.countUsed(WINDOW))
          expect(callsRemainingAtLeast(run.state)).toBe(callsRemaining(run.state))
        },
      ),
      { numRuns },
    ))
})
