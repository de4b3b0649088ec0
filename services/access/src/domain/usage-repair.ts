/**
 * What the sender does when nonces or prices went wrong: signing anew for the only two reasons there are (A10),
 * putting lost batches back in order, and filling nonces that nobody holds. It is called by the sender's loop alone,
 * one thing at a time, and rejects when the ledger does not answer; every step may be repeated.
 */

import type { Clock } from '@tallystick/service-kit'
import { SealedBatch } from './usage-batch.ts'
import type { ResigningReason, UsageEventListener } from './usage-event.ts'
import type { UsageTotals } from './usage-figures.ts'
import type { SignedUsage, UsageLedger } from './usage-ledger.ts'
import { GAP_FILL_MAX, GAP_PATIENCE_MS } from './usage-limits.ts'
import type { UsageQueue } from './usage-queue.ts'
import type { UsageSigner } from './usage-signer.ts'

type RepairOptions = {
  readonly ledger: UsageLedger
  readonly clock: Clock
  readonly signer: UsageSigner
  readonly queue: UsageQueue
  readonly totals: UsageTotals
  readonly onEvent: UsageEventListener
}

/** Repairs the queue of one key. */
export class UsageRepair {
  readonly #options: RepairOptions
  #gapSinceMs: number | null = null

  constructor(options: RepairOptions) {
    this.#options = options
  }

  /** Signs with a better price and the same nonce, so that one of the signatures can be mined at most. False when the
   * ledger quotes no better price. */
  async reprice(batch: SealedBatch): Promise<boolean> {
    const { signer } = this.#options
    await signer.requote()
    if (signer.offeredWeibar <= batch.current.gasPriceWeibar) return false
    const signed = await signer.signAt(batch.entries, batch.nonce)
    this.#resigned(batch, { reason: 'gas-price-too-low', signed })
    return true
  }

  /** Signs with a fresh nonce; the old one is known to be consumed by something else. */
  async resign(batch: SealedBatch): Promise<void> {
    const { ledger, signer, queue } = this.#options
    const signed = await signer.signNext(batch.entries, await ledger.readNonce())
    this.#resigned(batch, { reason: 'nonce-consumed', signed })
    queue.wait(batch)
  }

  /** Puts back, to be sent again unchanged, what by the ledger's nonce has not arrived. */
  async resync(): Promise<void> {
    const { ledger, queue } = this.#options
    const ledgerNonce = await ledger.readNonce()
    for (const batch of queue.sent.filter((each) => each.nonce >= ledgerNonce)) {
      batch.consumedSinceMs = null
      queue.wait(batch)
    }
    await this.#fillGap(ledgerNonce)
  }

  /** Queues a transaction that counts nothing, after all others. */
  async fillNext(): Promise<void> {
    const { signer, queue } = this.#options
    queue.wait(new SealedBatch([], await signer.signNext([])))
  }

  /** Fills nonces that nothing of this process holds, once it is certain that the ledger does not merely lag. */
  async #fillGap(ledgerNonce: number): Promise<void> {
    const { clock, signer, queue, onEvent } = this.#options
    const { first } = queue
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
      const filler = new SealedBatch([], await signer.signAt([], nonce))
      queue.wait(filler)
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
