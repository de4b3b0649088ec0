import type { Clock } from '@tallystick/service-kit'
import type { RecorderParts } from './recorder-parts.ts'
import { SealedBatch } from './usage-batch.ts'
import type { ResigningReason } from './usage-events.ts'
import type { SignedUsage, UsageEntry, UsageLedger } from './usage-ledger.ts'
import { GAP_FILL_MAX, GAP_PATIENCE_MS, GAS_PRICE_FACTOR, GAS_QUOTE_MS } from './usage-limits.ts'

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

type RepairOptions = RecorderParts & {
  readonly signer: UsageSigner
  readonly queue: UsageQueue
}

/**
 * Repairs nonces and prices for the sender: it signs again for the only two reasons there are (A10), puts
 * lost batches back in order, and fills nonces that nobody holds. Only the sender's loop calls it, one thing at a time.
 * It rejects when the ledger does not answer; every step may be repeated.
 */
export class UsageRepair {
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
