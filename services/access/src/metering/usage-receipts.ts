/**
 * Reads the receipts of what was sent, in order of nonces, in rounds that end at the first missing one. A receipt that
 * stays missing is looked into: bytes that never arrived are sent again unchanged, bytes whose nonce something else
 * consumed are signed again. That second step would count calls twice if it were wrong, so it needs proof: a later
 * transaction of the same key has its receipt and this one, looked up once more after that, still has none.
 */
import { type BackOff, createBackOff } from '@tallystick/service-kit'
import type { RecorderParts } from './recorder-parts.ts'
import type { SealedBatch } from './usage-batch.ts'
import {
  PROBE_AGAIN_MS,
  RECEIPT_GIVE_UP_MS,
  RECEIPT_PATIENCE_MS,
  RECEIPT_POLL,
  RECEIPTS_AT_ONCE,
} from './usage-limits.ts'
import type { UsageQueue } from './usage-queue.ts'
import type { UsageSender } from './usage-sender.ts'
import type { FinalReceipt } from './usage-settlement.ts'

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
