import type { SealedBatch } from './usage-batch.ts'

/**
 * Where each signed batch of one key stands until its receipt: to be sent, on its way, sent, or to be signed anew. The
 * first and the third are kept in order of nonces. Only the sender moves batches between them.
 */
export class UsageQueue {
  /** Signed and to be sent, by nonce. */
  readonly #waiting: SealedBatch[] = []
  /** Sent and without a receipt, by nonce. */
  readonly #sent: SealedBatch[] = []
  /** Their nonce was consumed by something else. */
  readonly #consumed: SealedBatch[] = []
  #inFlight: SealedBatch | null = null

  /** Batches to be sent or signed anew. */
  get waitingCount(): number {
    return this.#waiting.length + this.#consumed.length
  }

  /** Batches sent and without a receipt, by nonce. */
  get sent(): readonly SealedBatch[] {
    return this.#sent
  }

  /** The batch that is sent next. */
  get first(): SealedBatch | undefined {
    return this.#waiting[0]
  }

  get firstConsumed(): SealedBatch | undefined {
    return this.#consumed[0]
  }

  /** Every batch without a receipt. */
  get all(): readonly SealedBatch[] {
    const inFlight = this.#inFlight === null ? [] : [this.#inFlight]
    return [...this.#sent, ...inFlight, ...this.#waiting, ...this.#consumed]
  }

  /** Puts a batch where its nonce belongs among those to be sent. */
  wait(batch: SealedBatch): void {
    this.#leave(batch)
    if (!batch.isReceipted) insertByNonce(this.#waiting, batch)
  }

  /** Takes the next batch to be sent on its way. */
  takeFirst(): SealedBatch | undefined {
    this.#inFlight = this.#waiting.shift() ?? null
    return this.#inFlight ?? undefined
  }

  /** The ledger has it, or had it. */
  arrive(batch: SealedBatch): void {
    this.#leave(batch)
    if (!batch.isReceipted) insertByNonce(this.#sent, batch)
  }

  /** It must be signed anew. */
  consume(batch: SealedBatch): void {
    this.#leave(batch)
    this.#consumed.push(batch)
  }

  /** Its receipt came, or it was given up. */
  finish(batch: SealedBatch): void {
    batch.isReceipted = true
    this.#leave(batch)
  }

  #leave(batch: SealedBatch): void {
    if (this.#inFlight === batch) this.#inFlight = null
    for (const list of [this.#waiting, this.#sent, this.#consumed]) {
      const at = list.indexOf(batch)
      if (at >= 0) list.splice(at, 1)
    }
  }
}

function insertByNonce(list: SealedBatch[], batch: SealedBatch): void {
  const at = list.findLastIndex((each) => each.nonce < batch.nonce)
  list.splice(at + 1, 0, batch)
}
