/**
 * Reads the receipts of what was sent, in order of nonces, in rounds that end at the first missing one. A receipt that
 * stays missing is looked into: bytes that never arrived are sent again unchanged, bytes whose nonce something else
 * consumed are signed again. That second step would do work twice if it were wrong, so it needs proof: a later transaction of
 * the same key has its receipt and this one, looked up once more after that, still has none.
 */
import {
  type BackOff,
  type BackOffLimits,
  type Clock,
  createBackOff,
} from '@tallystick/service-kit'
import type { Transaction, TransactionList } from './transaction.ts'
import type { TransactionLedger } from './transaction-ledger.ts'

/** Receipts that are read in one batch once the first of them has come. */
const RECEIPTS_AT_ONCE = 16
/** Pauses between two rounds of receipts while none comes: 30 requests a minute stay below public rate limits. */
const RECEIPT_POLL: BackOffLimits = { firstMs: 250, maxMs: 2_000 }
/** A receipt this late is looked into: public mirrors lag up to 10 s. Milliseconds. */
const RECEIPT_PATIENCE_MS = 15_000
/** A transaction without a receipt whose nonce is consumed is given up after this time. Milliseconds. */
const RECEIPT_GIVE_UP_MS = 120_000
/** Least time between two transactions that are to prove a consumed nonce: at most two are sent. Milliseconds. */
const PROBE_AGAIN_MS = 60_000

/** A transaction ends with its receipt, or is given up because none will come. */
export type TransactionEnd<Receipt> = Receipt | { readonly kind: 'missing' }

type ReceiptOptions<Work extends object, Receipt extends object> = {
  readonly ledger: Pick<TransactionLedger<Work, Receipt>, 'readNonce' | 'readReceipt'>
  readonly clock: Clock
  readonly list: TransactionList<Work>
  /** False if a transaction may not be followed by another one that only proves its fate. */
  readonly mayProbe: boolean
  /** The ledger refused the last send for lack of money: nothing later can leave. */
  readonly lacksFunds: () => boolean
  /** Sends again, unchanged and in order, what the ledger's nonce says has not arrived. */
  readonly resync: () => void
  /** Signs it again: it is proved that something else consumed its nonce. */
  readonly resign: (transaction: Transaction<Work>) => void
  /** Sends a transaction with that nonce or a later one, whose receipt can be the proof. */
  readonly follow: (nonceMin: number) => void
  readonly onEnd: (transaction: Transaction<Work>, end: TransactionEnd<Receipt>) => void
  /** A round is over: act once on all that its receipts changed. */
  readonly onRound: () => void
  /** The ledger did not answer; it is asked again after the pause. */
  readonly onFailure: (error: unknown, retryMs: number) => void
}

/** The reader of receipts: one round at a time, as long as something is sent and unreceipted. */
export class TransactionReceipts<Work extends object, Receipt extends object> {
  readonly #options: ReceiptOptions<Work, Receipt>
  #round: Promise<void> | null = null
  #nextRound: Promise<void> | null = null
  #cancelPoll: (() => void) | null = null
  /** Grows with each round that ends without the receipt it looked for. */
  readonly #backOff: BackOff
  #isStopped = false

  constructor(options: ReceiptOptions<Work, Receipt>) {
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
    const { clock, list } = this.#options
    if (this.#isStopped || this.#cancelPoll !== null || list.at('sent').length === 0) return
    this.#cancelPoll = clock.after(this.#backOff.leftMs(), () => {
      this.#cancelPoll = null
      void this.refresh()
    })
  }

  async #readAll(): Promise<void> {
    const { clock, list, onFailure } = this.#options
    try {
      for (let atOnce = 1; ; atOnce = RECEIPTS_AT_ONCE) {
        const sent = list.at('sent').slice(0, atOnce)
        if (sent.length === 0 || this.#isStopped) return
        const receipts = await Promise.all(sent.map((transaction) => this.#find(transaction)))
        for (const [at, transaction] of sent.entries()) {
          const receipt = receipts[at]
          if (receipt === undefined) {
            await this.#lookInto(transaction)
            this.#backOff.failed()
            return
          }
          this.#backOff.succeeded()
          this.#options.onEnd(transaction, receipt)
        }
      }
    } catch (error) {
      // No proof can come while the ledger does not answer: that time does not count towards giving up.
      for (const transaction of list.at('sent'))
        if (transaction.consumedSinceMs !== null && !transaction.isFiller)
          transaction.consumedSinceMs = clock.unixMs()
      onFailure(error, this.#backOff.failed())
    }
  }

  /** The receipt of whichever of the signatures was mined: at most one can be. */
  async #find(transaction: Transaction<Work>): Promise<Receipt | undefined> {
    for (const { hash } of transaction.signatures.toReversed()) {
      const receipt = await this.#options.ledger.readReceipt(hash)
      if (receipt === undefined) continue
      transaction.hash = hash
      return receipt
    }
    return undefined
  }

  async #lookInto(transaction: Transaction<Work>): Promise<void> {
    const { clock, ledger, list, lacksFunds, mayProbe, onEnd, resign, resync } = this.#options
    const isOverdue = (each: Transaction<Work>): boolean =>
      clock.unixMs() - each.sentAtMs >= RECEIPT_PATIENCE_MS
    if (!isOverdue(transaction)) return
    const ledgerNonce = await ledger.readNonce()
    if (list.at('sent').some((each) => each.nonce >= ledgerNonce && isOverdue(each))) resync()
    if (ledgerNonce <= transaction.nonce) return
    transaction.consumedSinceMs ??= clock.unixMs()
    if (await this.#isProvedConsumed(transaction)) return resign(transaction)
    if (mayProbe) this.#probe(transaction, ledgerNonce)
    // The proof is a later receipt, and nothing later can leave. A filler needs none and must not hold up others.
    if (lacksFunds() && !transaction.isFiller) transaction.consumedSinceMs = clock.unixMs()
    if (clock.unixMs() - transaction.consumedSinceMs < RECEIPT_GIVE_UP_MS) return
    onEnd(transaction, { kind: 'missing' })
  }

  /** Makes a transaction follow whose receipt can be the proof; not for one that does nothing itself. */
  #probe(transaction: Transaction<Work>, ledgerNonce: number): void {
    const nowMs = this.#options.clock.unixMs()
    if (transaction.isFiller || nowMs - transaction.probedAtMs < PROBE_AGAIN_MS) return
    transaction.probedAtMs = nowMs
    this.#options.follow(ledgerNonce)
  }

  async #isProvedConsumed(transaction: Transaction<Work>): Promise<boolean> {
    const later = this.#options.list.at('sent').filter((each) => each.nonce > transaction.nonce)
    // The last one first: if several nonces were consumed, only what was sent after that has a receipt.
    for (const each of new Set([...later.slice(-1), ...later.slice(0, 1)])) {
      if (await this.#find(each)) return (await this.#find(transaction)) === undefined
    }
    return false
  }
}
