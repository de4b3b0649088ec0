/**
 * The one ordered sender of a recorder key (A10). Batches leave in order of their nonces, one request at a time, and
 * every change to that order is made by its single loop. Signed bytes are resent unchanged until a receipt settles
 * them; a new signature is made only if something else consumed the nonce or the gas price is refused.
 * Hedera charges for every transaction that reaches consensus with a nonce already used. So bytes that may be under way
 * are sent again only once the ledger has shown for long enough that it does not have them.
 * usage-receipts.ts reads the receipts and asks this loop for what must follow.
 */

import { type BackOff, createBackOff } from '@tallystick/service-kit'
import type { RecorderParts } from './recorder-parts.ts'
import { SealedBatch, type SealedEntry, UsageQueue, UsageSigner } from './usage-batch.ts'
import type { ResigningReason } from './usage-events.ts'
import type { SignedUsage, UsageSendResult } from './usage-ledger.ts'
import {
  GAP_FILL_MAX,
  GAP_PATIENCE_MS,
  RESEND_AFTER_MS,
  RETRY,
  SENT_BATCHES_MAX,
} from './usage-limits.ts'

type SenderOptions = RecorderParts & {
  readonly signer: UsageSigner
  readonly queue: UsageQueue
  /** Called whenever a batch has gone or the sender has become free. */
  readonly onProgress: () => void
  /** Called when the ledger took a batch. */
  readonly onSent: () => void
}

type Failure = {
  readonly step: 'send' | 'nonce' | 'sign'
  readonly reason: string
  readonly error?: unknown
}

/** The loop that signs, sends, resends and signs again. It never rejects: a failure is retried after a pause. */
export class UsageSender {
  readonly #options: SenderOptions
  readonly #queue: UsageQueue
  readonly #repair: UsageRepair
  #isRunning = false
  #isWoken = false
  #isStopped = false
  /** The ledger refused the last send for lack of money: nothing leaves until the recorder has some. */
  lacksFunds = false
  #isResyncWanted = false
  #isFillerWanted = false
  readonly #backOff: BackOff
  #cancelRetry: (() => void) | null = null

  constructor(options: SenderOptions) {
    this.#options = options
    this.#queue = options.queue
    this.#backOff = createBackOff({ ...RETRY, clock: options.clock })
    this.#repair = new UsageRepair(options)
  }

  /** True when a batch sealed now would leave at once. */
  get isFree(): boolean {
    return (
      !this.#isRunning &&
      this.#cancelRetry === null &&
      this.#queue.waitingCount === 0 &&
      this.#queue.sent.length < SENT_BATCHES_MAX
    )
  }

  /** Signs these entries as one transaction with the next nonce, queues it and returns its hash. */
  seal(entries: readonly SealedEntry[]): string {
    const signed = this.#options.signer.signNext(entries)
    this.#queue.add(new SealedBatch(entries, signed))
    this.wake()
    return signed.hash
  }

  /** A receipt settled this batch, or it was given up. */
  finish(batch: SealedBatch): void {
    this.#queue.finish(batch)
    this.wake()
  }

  /** Sends again, unchanged and in order, what the ledger's nonce says has not arrived. */
  requestResync(): void {
    this.#isResyncWanted = true
    this.wake()
  }

  /** Signs a sent batch again, once it is proved that something else consumed its nonce. */
  requestResigning(batch: SealedBatch): void {
    if (!this.#queue.sent.includes(batch)) return
    batch.place = 'consumed'
    this.wake()
  }

  /** Sends a transaction without entries after all others, unless one with that nonce or a later one is under way. */
  requestFiller(nonceMin: number): void {
    if (this.#queue.unfinished.some((batch) => batch.nonce >= nonceMin)) return
    this.#isFillerWanted = true
    this.wake()
  }

  /** Runs the loop if there is something to do. */
  wake(): void {
    this.#isWoken = true
    if (this.#isRunning || this.#isStopped || this.#cancelRetry !== null) return
    void this.#run()
  }

  /** Ends the loop after the request under way and cancels the timer. */
  stop(): void {
    this.#isStopped = true
    this.#cancelRetry?.()
    this.#cancelRetry = null
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#isWoken && this.#cancelRetry === null && !this.#isStopped) {
      this.#isWoken = false
      while (await this.#step()) this.#options.onProgress()
    }
    this.#isRunning = false
    this.#options.onProgress()
  }

  /** Does one thing; false when there is nothing to do or a pause began. */
  async #step(): Promise<boolean> {
    if (this.#isStopped) return false
    if (this.#isResyncWanted)
      return this.#try('nonce', async () => {
        await this.#repair.resync()
        this.#isResyncWanted = false
      })
    const [consumed] = this.#queue.at('consumed')
    if (consumed !== undefined) return this.#try('sign', () => this.#repair.resign(consumed))
    if (this.#isFillerWanted) {
      this.#repair.fillNext()
      this.#isFillerWanted = false
    }
    if (this.#queue.sent.length >= SENT_BATCHES_MAX) return false
    const [batch] = this.#queue.at('waiting')
    if (batch === undefined) return false
    batch.place = 'on-its-way'
    // Its place in the queue is free now, before the ledger has answered.
    this.#options.onProgress()
    return this.#deliver(batch)
  }

  async #try(step: Failure['step'], run: () => Promise<void>): Promise<boolean> {
    try {
      await run()
      return true
    } catch (error) {
      return this.#pause({ step, reason: 'unreachable', error })
    }
  }

  async #deliver(batch: SealedBatch): Promise<boolean> {
    const wasDelivered = batch.isDelivered
    const hold = wasDelivered ? await this.#whyNotAgain(batch) : undefined
    if (hold === 'nonce-consumed') return this.#wasConsumed(batch)
    if (hold !== undefined) {
      batch.place = 'waiting'
      return this.#pause(hold)
    }
    const result = await this.#send(batch)
    this.lacksFunds = result.kind === 'insufficient-funds'
    switch (result.kind) {
      case 'accepted':
        return this.#wasSent(batch)
      case 'nonce-too-low':
        if (wasDelivered) return this.#wasConsumed(batch)
        batch.place = 'consumed'
        return true
      case 'gas-price-too-low':
        batch.isDelivered = wasDelivered
        batch.place = 'waiting'
        return this.#reprice(batch)
      case 'insufficient-funds':
      case 'not-taken':
        batch.isDelivered = wasDelivered
        batch.place = 'waiting'
        return this.#pause({ step: 'send', reason: result.kind })
      case 'nonce-too-high':
        this.#isResyncWanted = true
        batch.place = 'waiting'
        return this.#pause({ step: 'send', reason: result.kind })
      case 'unreachable':
        break
    }
    // The bytes may have arrived: they stay as they are, and the ledger's state decides whether they are sent again.
    batch.sentAtMs = result.leftAtMs
    batch.place = 'waiting'
    return this.#pause({ step: 'send', reason: result.kind, error: result.error })
  }

  /**
   * Why bytes that the ledger may have are not sent again now: their nonce is used, or is not the next one, or they may
   * still be under way.
   */
  async #whyNotAgain(batch: SealedBatch): Promise<Failure | 'nonce-consumed' | undefined> {
    let ledgerNonce: number
    try {
      ledgerNonce = await this.#options.ledger.readNonce()
    } catch (error) {
      return { step: 'nonce', reason: 'unreachable', error }
    }
    if (ledgerNonce > batch.nonce) return 'nonce-consumed'
    if (ledgerNonce < batch.nonce) {
      this.#isResyncWanted = true
      return { step: 'nonce', reason: 'nonce-too-high' }
    }
    const isUnderWay = this.#options.clock.unixMs() - batch.sentAtMs < RESEND_AFTER_MS
    return isUnderWay ? { step: 'nonce', reason: 'under-way' } : undefined
  }

  async #send(
    batch: SealedBatch,
  ): Promise<UsageSendResult | { kind: 'unreachable'; error: unknown; leftAtMs: number }> {
    const { clock, ledger, totals, onEvent } = this.#options
    const leftAtMs = clock.unixMs()
    if (batch.isDelivered) {
      totals.resendsTotal += 1
      onEvent({ kind: 'resent', hash: batch.current.hash, nonce: batch.nonce })
    }
    batch.isDelivered = true
    try {
      return await ledger.send(batch.current)
    } catch (error) {
      return { kind: 'unreachable', error, leftAtMs }
    }
  }

  /** Perhaps these very bytes used their nonce: the receipt will tell. */
  #wasConsumed(batch: SealedBatch): true {
    batch.consumedSinceMs ??= this.#options.clock.unixMs()
    return this.#wasSent(batch)
  }

  #wasSent(batch: SealedBatch): true {
    if (!batch.isAccepted) this.#options.totals.transactionsSentTotal += 1
    batch.isAccepted = true
    batch.sentAtMs = this.#options.clock.unixMs()
    this.#backOff.succeeded()
    batch.place = 'sent'
    this.#options.onSent()
    return true
  }

  async #reprice(batch: SealedBatch): Promise<boolean> {
    try {
      if (await this.#repair.reprice(batch)) return true
    } catch (error) {
      return this.#pause({ step: 'sign', reason: 'unreachable', error })
    }
    return this.#pause({ step: 'send', reason: 'gas-price-too-low' })
  }

  #pause(failure: Failure): false {
    const { clock, onEvent } = this.#options
    if (this.#isStopped) return false
    const retryMs = this.#backOff.failed()
    this.#cancelRetry = clock.after(retryMs, () => {
      this.#cancelRetry = null
      this.wake()
    })
    onEvent({ kind: 'ledger-failed', ...failure, retryMs })
    return false
  }
}

type RepairOptions = RecorderParts & {
  readonly signer: UsageSigner
  readonly queue: UsageQueue
}

/**
 * Repairs nonces and prices for the sender: it signs again for the only two reasons there are (A10), puts
 * lost batches back in order, and fills nonces that nobody holds. Only the sender's loop calls it, one thing at a time.
 * It rejects when the ledger does not answer; every step may be repeated.
 */
class UsageRepair {
  readonly #options: RepairOptions
  #gapSinceMs: number | null = null

  constructor(options: RepairOptions) {
    this.#options = options
  }

  /** Signs with a better price and the same nonce, so that at most one of the signatures can be mined. False when the
   * ledger quotes no better price. */
  async reprice(batch: SealedBatch): Promise<boolean> {
    const { signer } = this.#options
    await signer.requote()
    if (signer.offeredWeibar <= batch.current.gasPriceWeibar) return false
    const signed = signer.signAt(batch.entries, batch.nonce)
    this.#resigned(batch, { reason: 'gas-price-too-low', signed })
    return true
  }

  /** Signs with a fresh nonce; something else is known to have consumed the old one. */
  async resign(batch: SealedBatch): Promise<void> {
    const { ledger, signer } = this.#options
    const signed = signer.signNext(batch.entries, await ledger.readNonce())
    this.#resigned(batch, { reason: 'nonce-consumed', signed })
    batch.place = 'waiting'
  }

  /** Queues what has not arrived, by the ledger's nonce, to be sent again unchanged. */
  async resync(): Promise<void> {
    const { ledger, queue } = this.#options
    const ledgerNonce = await ledger.readNonce()
    for (const batch of queue.sent.filter((each) => each.nonce >= ledgerNonce)) {
      batch.consumedSinceMs = null
      batch.place = 'waiting'
    }
    this.#fillGap(ledgerNonce)
  }

  /** Queues a transaction that counts nothing, after all others. */
  fillNext(): void {
    const { signer, queue } = this.#options
    queue.add(new SealedBatch([], signer.signNext([])))
  }

  /** Fills nonces that no batch of this process holds, once the ledger certainly does not just lag. */
  #fillGap(ledgerNonce: number): void {
    const { clock, signer, queue, onEvent } = this.#options
    const [first] = queue.at('waiting')
    if (first === undefined || first.nonce <= ledgerNonce) {
      this.#gapSinceMs = null
      return
    }
    this.#gapSinceMs ??= clock.unixMs()
    if (clock.unixMs() - this.#gapSinceMs < GAP_PATIENCE_MS) return
    if (first.nonce - ledgerNonce > GAP_FILL_MAX) {
      onEvent({ kind: 'nonce-gap-too-wide', ledgerNonce, nonce: first.nonce })
      return
    }
    for (let nonce = first.nonce - 1; nonce >= ledgerNonce; nonce -= 1) {
      const filler = new SealedBatch([], signer.signAt([], nonce))
      queue.add(filler)
      onEvent({ kind: 'nonce-gap-filled', nonce, hash: filler.current.hash })
    }
    this.#gapSinceMs = null
  }

  #resigned(
    batch: SealedBatch,
    resigning: { readonly reason: ResigningReason; readonly signed: SignedUsage },
  ): void {
    const { totals, onEvent } = this.#options
    const oldHash = batch.current.hash
    batch.resign(resigning.signed)
    totals.resigningsTotal += 1
    onEvent({
      kind: 're-signed',
      reason: resigning.reason,
      oldHash,
      newHash: resigning.signed.hash,
      nonce: batch.nonce,
      calls: batch.callCount,
    })
  }
}
