/**
 * Reads the receipts of what was sent, in order of nonces, in rounds that end at the first missing one. A receipt that
 * stays missing is looked into: bytes that never arrived are sent again unchanged, bytes whose nonce something else
 * consumed are signed again. That second step would count calls twice if it were wrong, so it needs proof: a later
 * transaction of the same key has its receipt and this one, looked up once more after that, still has none.
 * A batch that ended settles its calls: they were counted, refused, late, reverted, or never found. Answered calls that are not
 * counted are in their agent's favour; each is in a total and an event.
 */
import { type BackOff, createBackOff } from '@tallystick/service-kit'
import type { RecorderParts } from './recorder-parts.ts'
import type { PendingCall, SealedBatch, SealedEntry, UsageQueue } from './usage-batch.ts'
import type { UsageLeases } from './usage-lease.ts'
import type { UsageCount, UsageReceipt } from './usage-ledger.ts'
import {
  PROBE_AGAIN_MS,
  RECEIPT_GIVE_UP_MS,
  RECEIPT_PATIENCE_MS,
  RECEIPT_POLL,
  RECEIPTS_AT_ONCE,
} from './usage-limits.ts'
import type { UsageSender } from './usage-sender.ts'
import { usageWindowKey } from './usage-window.ts'

type ReceiptOptions = RecorderParts & {
  readonly queue: UsageQueue
  readonly sender: UsageSender
  readonly onReceipt: (batch: SealedBatch, receipt: FinalReceipt) => void
  /** A round is over: act once on all that its receipts changed. */
  readonly onRound: () => void
}

/** The reader of receipts: one round at a time, as long as something is sent and unreceipted. */
export class UsageReceipts {
  readonly #options: ReceiptOptions
  #round: Promise<void> | null = null
  #nextRound: Promise<void> | null = null
  #cancelPoll: (() => void) | null = null
  /** Grows with each round that ends without the receipt it looked for. */
  readonly #backOff: BackOff
  #isStopped = false

  constructor(options: ReceiptOptions) {
    this.#options = options
    this.#backOff = createBackOff({ ...RECEIPT_POLL, clock: options.clock })
  }

  /** Something was sent: reads at once, unless a running or due round will reach it in its order. */
  wake(): void {
    if (this.#round !== null || this.#cancelPoll !== null) return
    this.#backOff.succeeded()
    void this.refresh()
  }

  /** Resolves after a whole round that began after this call. Never rejects. */
  refresh(): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    if (this.#round === null) return this.#start()
    this.#nextRound ??= this.#round.then(() => {
      this.#nextRound = null
      if (this.#isStopped) return undefined
      // A listener of the last round may have begun the next one already.
      return this.#round ?? this.#start()
    })
    return this.#nextRound
  }

  /** Ends reading after the request under way and cancels the timer. */
  stop(): void {
    this.#isStopped = true
    this.#cancelPoll?.()
    this.#cancelPoll = null
  }

  #start(): Promise<void> {
    this.#cancelPoll?.()
    this.#cancelPoll = null
    this.#round = this.#readAll().finally(() => {
      this.#round = null
      this.#schedule()
      this.#options.onRound()
    })
    return this.#round
  }

  #schedule(): void {
    const { clock, queue } = this.#options
    if (this.#isStopped || this.#cancelPoll !== null || queue.sent.length === 0) return
    this.#cancelPoll = clock.after(this.#backOff.leftMs(), () => {
      this.#cancelPoll = null
      void this.refresh()
    })
  }

  async #readAll(): Promise<void> {
    const { clock, queue, sender, onEvent, onReceipt } = this.#options
    try {
      for (let atOnce = 1; ; atOnce = RECEIPTS_AT_ONCE) {
        const batches = queue.sent.slice(0, atOnce)
        if (batches.length === 0 || this.#isStopped) return
        const receipts = await Promise.all(batches.map((batch) => this.#find(batch)))
        for (const [at, batch] of batches.entries()) {
          const receipt = receipts[at] ?? null
          if (receipt === null) {
            await this.#lookInto(batch)
            this.#backOff.failed()
            return
          }
          this.#backOff.succeeded()
          sender.finish(batch)
          onReceipt(batch, receipt)
        }
      }
    } catch (error) {
      // No proof can come while the ledger does not answer: that time does not count towards giving up.
      for (const batch of queue.sent)
        if (batch.consumedSinceMs !== null && batch.entries.length > 0)
          batch.consumedSinceMs = clock.unixMs()
      onEvent({
        kind: 'ledger-failed',
        step: 'receipt',
        reason: 'unreachable',
        retryMs: this.#backOff.failed(),
        error,
      })
    }
  }

  /** The receipt of whichever of the batch's signatures was mined: at most one can be. */
  async #find(batch: SealedBatch): Promise<FinalReceipt | null> {
    for (const signed of batch.signatures.toReversed()) {
      const receipt = await this.#options.ledger.readReceipt(signed.hash)
      if (receipt.kind !== 'pending') return { ...receipt, hash: signed.hash }
    }
    return null
  }

  async #lookInto(batch: SealedBatch): Promise<void> {
    const { clock, ledger, queue, sender, onReceipt } = this.#options
    const isOverdue = (each: SealedBatch): boolean =>
      clock.unixMs() - each.sentAtMs >= RECEIPT_PATIENCE_MS
    if (!isOverdue(batch)) return
    const ledgerNonce = await ledger.readNonce()
    if (queue.sent.some((each) => each.nonce >= ledgerNonce && isOverdue(each)))
      sender.requestResync()
    if (ledgerNonce <= batch.nonce) return
    batch.consumedSinceMs ??= clock.unixMs()
    if (await this.#isProvedConsumed(batch)) {
      sender.requestResigning(batch)
      return
    }
    this.#probe(batch, ledgerNonce)
    // The proof is a later receipt, and nothing later can leave. An empty batch needs none and must not hold up others.
    if (sender.lacksFunds && batch.entries.length > 0) batch.consumedSinceMs = clock.unixMs()
    if (clock.unixMs() - batch.consumedSinceMs < RECEIPT_GIVE_UP_MS) return
    sender.finish(batch)
    onReceipt(batch, { kind: 'missing', hash: batch.current.hash })
  }

  /** Makes a transaction follow whose receipt can be the proof; not for a batch that counts nothing itself. */
  #probe(batch: SealedBatch, ledgerNonce: number): void {
    const nowMs = this.#options.clock.unixMs()
    if (batch.entries.length === 0 || nowMs - batch.probedAtMs < PROBE_AGAIN_MS) return
    batch.probedAtMs = nowMs
    this.#options.sender.requestFiller(ledgerNonce)
  }

  async #isProvedConsumed(batch: SealedBatch): Promise<boolean> {
    const later = this.#options.queue.sent.filter((each) => each.nonce > batch.nonce)
    // The last one first: if several nonces were consumed, only what was sent after that has a receipt.
    for (const each of new Set([...later.slice(-1), ...later.slice(0, 1)])) {
      if ((await this.#find(each)) !== null) return (await this.#find(batch)) === null
    }
    return false
  }
}

/** A batch ends with its receipt, or is given up because none will come. */
export type FinalReceipt = { readonly hash: string } & (
  | Exclude<UsageReceipt, { kind: 'pending' }>
  | { readonly kind: 'missing' }
)

type SettlementOptions = RecorderParts & {
  readonly leases: UsageLeases
  /** Decides again on a call whose lease was refused: alone it may still fit the quota. */
  readonly readmit: (pending: PendingCall) => void
}

/** Applies the receipt to its batch's windows and answers the calls that waited for it. */
export function settleUsageBatch(
  batch: SealedBatch,
  receipt: FinalReceipt,
  options: SettlementOptions,
): void {
  const { totals, onEvent, leases } = options
  const { hash } = receipt
  batch.hasHash(hash)
  const isMissing = receipt.kind === 'missing'
  if (receipt.kind !== 'missing') totals.costTinybarTotal += Number(receipt.costTinybar)
  if (receipt.kind !== 'mined') {
    const calls = batch.callCount
    totals[isMissing ? 'missingCallsTotal' : 'revertedCallsTotal'] += calls
    onEvent({ kind: isMissing ? 'receipt-missing' : 'batch-reverted', hash, calls })
    for (const entry of batch.entries) release(entry, leases)
    return
  }
  // One entry is one count: the contract counts all calls of an entry, or none.
  const counts = new Map(receipt.counts.map((count) => [usageWindowKey(count), count]))
  for (const entry of batch.entries) {
    const count = counts.get(usageWindowKey(entry))
    if (entry.calls < 0) settleReturn(entry, count, options)
    else if (count?.kind === 'recorded') settleCounted(entry, count.callsUsed, options)
    else settleUncounted(entry, count?.kind ?? 'refused', options)
  }
}

/** Gives back to its window the calls of an entry that counted nothing; calls that wait become unavailable. */
function release(entry: SealedEntry, leases: UsageLeases): void {
  // A failure of the ledger takes none of the entries that use may take (A18).
  entry.window.change({ kind: 'entry-failed' })
  if (entry.calls < 0) leases.notReturned(entry)
  else leases.void(entry)
  for (const pending of entry.pending) pending.settle({ kind: 'unavailable' })
}

function settleCounted(entry: SealedEntry, usedAfter: number, options: SettlementOptions): void {
  entry.isCounted = true
  const atMs = options.clock.unixMs()
  entry.window.change({ kind: 'receipt', calls: entry.calls, usedAfter, atMs })
  options.totals.recordedCallsTotal += entry.calls
  for (const pending of entry.pending.splice(0)) pending.settleRecorded(entry.transactionHash)
}

/** A11: a refusal is 429 for the calls that wait for their receipt; late ones are in the agent's favour. */
function settleUncounted(
  entry: SealedEntry,
  kind: 'refused' | 'late',
  options: SettlementOptions,
): void {
  const { totals, onEvent, leases, readmit } = options
  const { agent, windowExpiresAtSeconds, window, madeCalls, transactionHash: hash } = entry
  totals[kind === 'late' ? 'lateCallsTotal' : 'refusedCallsTotal'] += madeCalls
  onEvent({ kind: `usage-${kind}`, agent, windowExpiresAtSeconds, calls: madeCalls, hash })
  leases.void(entry)
  if (kind === 'refused') window.change({ kind: 'refused' })
  for (const pending of entry.pending.splice(0)) {
    if (kind === 'late') pending.settleRecorded(hash)
    else if (entry.isLease) readmit(pending)
    else pending.settle({ kind: 'quota-spent' })
  }
}

function settleReturn(
  entry: SealedEntry,
  count: UsageCount | undefined,
  { clock, totals, leases }: SettlementOptions,
): void {
  const calls = -entry.calls
  if (count?.kind !== 'recorded') return leases.notReturned(entry)
  const usedAfter = count.callsUsed
  entry.window.change({ kind: 'givenBack', calls, usedAfter, atMs: clock.unixMs() })
  totals.givenBackCallsTotal += calls
}
