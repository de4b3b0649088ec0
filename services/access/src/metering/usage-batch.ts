/**
 * What is on its way to the ledger: a call until it is answered; the entry that counts calls; a sealed batch, whose entries are
 * fixed and which is signed; the batches of one key until their receipts, and its nonces and prices. No policy lives here:
 * usage-batcher.ts says when to seal, usage-lease.ts what to count in advance, usage-sender.ts what to send.
 */
import type { Clock } from '@tallystick/service-kit'
import type { UsageOutcome } from './usage-call.ts'
import type { SignedUsage, UsageEntry, UsageLedger } from './usage-ledger.ts'
import { GAS_PRICE_FACTOR, GAS_QUOTE_MS, RECEIPT_WAIT_MS, UNSEALED_MS_MAX } from './usage-limits.ts'
import type { UsageWindow } from './usage-window.ts'

/** A call on its way through the recorder; it is settled exactly once, and holds at most one timer. */
export class PendingCall {
  readonly window: UsageWindow
  readonly outcome: Promise<UsageOutcome>
  /** Receipts were brought up to date since the call arrived. */
  hasCaughtUp = false
  /** A11: answered by its receipt rather than by its signature. */
  waitsForReceipt = false
  /** Calls left in the window when this one was accepted. */
  callsRemaining = 0
  readonly #clock: Clock
  readonly #onExpired: (pending: PendingCall) => void
  readonly #unsealedUntilMs: number
  #settle: (outcome: UsageOutcome) => void
  #isSettled = false
  #cancelTimer: (() => void) | null = null

  /** `onExpired` takes it out if it is not sealed in time (A10). */
  constructor(options: {
    readonly window: UsageWindow
    readonly clock: Clock
    readonly onExpired: (pending: PendingCall) => void
  }) {
    this.window = options.window
    this.#clock = options.clock
    this.#onExpired = options.onExpired
    this.#unsealedUntilMs = options.clock.unixMs() + UNSEALED_MS_MAX
    const { promise, resolve } = Promise.withResolvers<UsageOutcome>()
    this.outcome = promise
    this.#settle = resolve
  }

  get isSettled(): boolean {
    return this.#isSettled
  }

  /** Answers the call. Later answers are ignored. */
  settle(outcome: UsageOutcome): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#stopTimer()
    this.#settle(outcome)
  }

  /** Answers the call with the transaction that counts it. */
  settleRecorded(transactionHash: string): void {
    this.settle({ kind: 'recorded', transactionHash, callsRemaining: this.callsRemaining })
  }

  /** It waits to be accepted or sealed, for at most 10 s. */
  waitsToBeSealed(): void {
    this.#startTimer(this.#unsealedUntilMs - this.#clock.unixMs(), () => this.#onExpired(this))
  }

  /** Its transaction is signed: the call is answered, or waits at most 20 s for the receipt (A11). */
  signed(transactionHash: string): void {
    if (this.waitsForReceipt)
      this.#startTimer(RECEIPT_WAIT_MS, () => this.settle({ kind: 'unavailable' }))
    else this.settleRecorded(transactionHash)
  }

  #startTimer(ms: number, run: () => void): void {
    this.#stopTimer()
    if (!this.#isSettled) this.#cancelTimer = this.#clock.after(ms, run)
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }
}

/** The calls of one agent in one window that one transaction counts (A10), or gives back (A18). */
export class SealedEntry implements UsageEntry {
  readonly agent: string
  readonly windowExpiresAtSeconds: number
  readonly window: UsageWindow
  /** Calls in `pending` and leased ones; negative for leased calls that go back. */
  readonly calls: number
  /** Calls that are not answered yet, in order of acceptance. */
  readonly pending: PendingCall[]
  /** The agent's next calls that this entry leases and nobody has made yet (A18). */
  unusedCalls: number
  readonly isLease: boolean
  /** Hash of the transaction that counts it, once its batch is signed; signing again changes it. */
  transactionHash = ''
  /** A receipt shows that it is counted. */
  isCounted = false

  constructor(entry: {
    readonly window: UsageWindow
    readonly calls: number
    readonly pending?: readonly PendingCall[]
  }) {
    this.window = entry.window
    this.agent = entry.window.agent
    this.windowExpiresAtSeconds = entry.window.windowExpiresAtSeconds
    this.calls = entry.calls
    this.pending = [...(entry.pending ?? [])]
    this.unusedCalls = Math.max(0, entry.calls - this.pending.length)
    this.isLease = this.unusedCalls > 0
  }

  /** Calls that were answered with it, or wait to be. */
  get madeCalls(): number {
    return Math.max(0, this.calls - this.unusedCalls)
  }
}

/** A signed batch waits to be sent, is on its way, was sent, or must be signed again since something else consumed its nonce. */
type Place = 'waiting' | 'on-its-way' | 'sent' | 'consumed'

/** A signed batch until its receipt. A batch without entries only consumes a nonce. */
export class SealedBatch {
  readonly entries: readonly SealedEntry[]
  /** All signatures that may still be mined; all but the last offered too low a gas price for the same nonce. */
  signatures: readonly SignedUsage[]
  #current: SignedUsage
  /** Only the sender moves it. */
  place: Place = 'waiting'
  /** False while the ledger has certainly never had the bytes. */
  isDelivered = false
  isAccepted = false
  /** When the ledger last took it, or it last left without an answer, Unix milliseconds; 0 before. */
  sentAtMs = 0
  /** Since when its nonce is known to be consumed without a receipt for it, Unix milliseconds. */
  consumedSinceMs: number | null = null
  /** When a later transaction was last requested to prove that, Unix milliseconds. */
  probedAtMs = 0

  constructor(entries: readonly SealedEntry[], signed: SignedUsage) {
    this.entries = entries
    this.signatures = [signed]
    this.#current = signed
    this.hasHash(signed.hash)
  }

  get current(): SignedUsage {
    return this.#current
  }

  get nonce(): number {
    return this.#current.nonce
  }

  /** Calls that were answered with it, or wait to be. */
  get callCount(): number {
    return this.entries.reduce((sum, entry) => sum + entry.madeCalls, 0)
  }

  /** A signature with the same nonce joins the ones that may still be mined; one with another nonce replaces them. */
  resign(signed: SignedUsage): void {
    const isSameNonce = signed.nonce === this.nonce
    this.signatures = isSameNonce ? [...this.signatures, signed] : [signed]
    this.#current = signed
    this.consumedSinceMs = null
    this.hasHash(signed.hash)
    if (!isSameNonce) {
      this.isDelivered = false
      this.isAccepted = false
      this.sentAtMs = 0
    }
  }

  /** Calls are answered with this hash from now on: the last one signed, or the one that was mined. */
  hasHash(hash: string): void {
    for (const entry of this.entries) entry.transactionHash = hash
  }
}

/** The signed batches of one key until their receipts. */
export class UsageQueue {
  readonly #batches = new Set<SealedBatch>()

  /** Batches to be sent or signed again; one on its way is not counted. */
  get waitingCount(): number {
    let count = 0
    for (const { place } of this.#batches)
      if (place === 'waiting' || place === 'consumed') count += 1
    return count
  }

  /** Calls that were answered with batches that the ledger never had, or wait to be. */
  get unsentCalls(): number {
    let calls = 0
    for (const batch of this.#batches)
      if (batch.place === 'waiting' && !batch.isDelivered) calls += batch.callCount
    return calls
  }

  /** Batches sent and without a receipt, by nonce. */
  get sent(): readonly SealedBatch[] {
    return this.at('sent')
  }

  /** Every batch without a receipt, sent or not. */
  get unfinished(): readonly SealedBatch[] {
    return [...this.#batches]
  }

  /** By nonce. */
  at(place: SealedBatch['place']): readonly SealedBatch[] {
    const there = this.unfinished.filter((batch) => batch.place === place)
    return there.toSorted((first, second) => first.nonce - second.nonce)
  }

  /** Queues it to be sent before those with later nonces. */
  add(batch: SealedBatch): void {
    this.#batches.add(batch)
  }

  /** Its receipt came, or it was given up. */
  finish(batch: SealedBatch): void {
    this.#batches.delete(batch)
  }
}

/**
 * Hands out nonces and signatures of one key: each signature uses up a nonce, so that signing never leaves a gap. The
 * nonce is read from the ledger once and counted here from then on.
 */
export class UsageSigner {
  readonly #ledger: UsageLedger
  readonly #clock: Clock
  #nextNonce: number | null = null
  #quotedWeibar: bigint | null = null
  #quotedAtMs = 0

  constructor(options: { ledger: UsageLedger; clock: Clock }) {
    this.#ledger = options.ledger
    this.#clock = options.clock
  }

  /** True once nonce and gas price are known, so that signing needs no request. */
  get isReady(): boolean {
    return this.#nextNonce !== null && this.#quotedWeibar !== null
  }

  /** Gas price that a signature offers now, weibar. */
  get offeredWeibar(): bigint {
    return (this.#quotedWeibar ?? 0n) * GAS_PRICE_FACTOR
  }

  /** Reads nonce and gas price. Rejects when the ledger does not answer. */
  async prepare(): Promise<void> {
    const [nonce] = await Promise.all([this.#ledger.readNonce(), this.requote()])
    this.#nextNonce ??= nonce
  }

  /** Reads the gas price again. Rejects if the ledger does not answer. */
  async requote(): Promise<void> {
    this.#quotedWeibar = await this.#ledger.quoteGasPriceWeibar()
    this.#quotedAtMs = this.#clock.unixMs()
  }

  /** Signs with the next nonce, at least `nonceMin`. */
  signNext(entries: readonly UsageEntry[], nonceMin = 0): SignedUsage {
    if (this.#clock.unixMs() - this.#quotedAtMs >= GAS_QUOTE_MS) {
      this.#quotedAtMs = this.#clock.unixMs()
      // In the background: the old quote serves meanwhile, and the sender asks again if a price is refused.
      this.requote().catch(() => {})
    }
    if (this.#nextNonce === null) throw new Error('signing before the nonce is known')
    const nonce = Math.max(this.#nextNonce, nonceMin)
    const signed = this.signAt(entries, nonce)
    this.#nextNonce = nonce + 1
    return signed
  }

  /** Signs with a nonce that was handed out before, or that is missing on the ledger. */
  signAt(entries: readonly UsageEntry[], nonce: number): SignedUsage {
    return this.#ledger.sign({ entries, nonce, gasPriceWeibar: this.offeredWeibar })
  }
}
