/**
 * Repairs nonces and prices of a queue: finds out what may be sent again, signs again for the only two reasons there are (A10), puts lost transactions back in
 * order, and closes gaps that nobody holds. Only the queue's loop calls it, one thing at a time. It rejects when the ledger
 * does not answer; every step may be repeated.
 */
import type { Clock } from '@tallystick/service-kit'
import {
  type QueueEvent,
  type ResigningReason,
  Transaction,
  type TransactionList,
  type TransactionSigner,
} from './transaction.ts'
import type { SignedTransaction, TransactionLedger } from './transaction-ledger.ts'

/** A10: bytes that the ledger may have are sent again this long after they left, at the earliest: the slowest relay takes
 * 8 s for a send, and the nonce that shows it is read from a mirror that lags up to 10 s. Milliseconds. */
export const RESEND_AFTER_MS = 20_000
/** A nonce gap must last this long before it is filled: the read of the nonce lags up to 10 s. Milliseconds. */
const GAP_PATIENCE_MS = 15_000
/** Missing nonces that are filled with empty transactions; a wider gap means another ledger. */
const GAP_FILL_MAX = 64

type RepairOptions<Work extends object, Receipt extends object> = {
  readonly ledger: Pick<TransactionLedger<Work, Receipt>, 'readNonce'>
  readonly clock: Clock
  readonly signer: TransactionSigner<Work, Receipt>
  readonly list: TransactionList<Work>
  /** Work that does nothing; without it a gap is closed by signing the transaction behind it again. */
  readonly filler: Work | undefined
  readonly onEvent: (event: QueueEvent<Work>) => void
}

export class TransactionRepair<Work extends object, Receipt extends object> {
  readonly #options: RepairOptions<Work, Receipt>
  #gapSinceMs: number | null = null

  constructor(options: RepairOptions<Work, Receipt>) {
    this.#options = options
  }

  /**
   * Finds out why bytes that the ledger may have are not sent again now: their nonce is used, or is not the next one, or
   * they may still be under way.
   */
  async findHold(
    transaction: Transaction<Work>,
  ): Promise<'nonce-consumed' | 'nonce-too-high' | 'under-way' | undefined> {
    const { clock, ledger } = this.#options
    const ledgerNonce = await ledger.readNonce()
    if (ledgerNonce > transaction.nonce) return 'nonce-consumed'
    if (ledgerNonce < transaction.nonce) return 'nonce-too-high'
    return clock.unixMs() - transaction.sentAtMs < RESEND_AFTER_MS ? 'under-way' : undefined
  }

  /** Signs with a better price and the same nonce, so that at most one of the signatures can be mined. False when the
   * ledger quotes no better price. */
  async reprice(transaction: Transaction<Work>): Promise<boolean> {
    const { signer } = this.#options
    await signer.requote()
    if (signer.offeredWeibar <= transaction.current.gasPriceWeibar) return false
    const signed = signer.signAt(transaction.work, transaction.nonce)
    this.#resigned(transaction, 'gas-price-too-low', signed)
    return true
  }

  /** Signs with a fresh nonce; the old one is known to be of no use. */
  async resign(transaction: Transaction<Work>): Promise<void> {
    const { ledger, signer } = this.#options
    const ledgerNonce = transaction.nextNonce ?? (await ledger.readNonce())
    transaction.nextNonce = undefined
    if (!signer.knowsNonce) signer.follow(ledgerNonce)
    const signed = signer.signNext(transaction.work, ledgerNonce)
    this.#resigned(transaction, 'nonce-consumed', signed)
    transaction.place = 'waiting'
  }

  /** Queues what has not arrived, by the ledger's nonce, to be sent again unchanged. */
  async resync(): Promise<void> {
    const { ledger, list } = this.#options
    const ledgerNonce = await ledger.readNonce()
    for (const transaction of list.at('sent').filter((each) => each.nonce >= ledgerNonce)) {
      transaction.consumedSinceMs = null
      transaction.place = 'waiting'
    }
    this.#closeGap(ledgerNonce)
  }

  /** Queues a transaction that does nothing, after all others. */
  fillNext(): void {
    const { filler, list, signer } = this.#options
    if (filler !== undefined) list.add(new Transaction(filler, signer.signNext(filler), true))
  }

  /** Closes a gap of nonces that no transaction of this process holds. */
  #closeGap(ledgerNonce: number): void {
    const { clock, filler, list, signer } = this.#options
    const [first] = list.at('waiting')
    if (first === undefined || first.nonce <= ledgerNonce) {
      this.#gapSinceMs = null
      return
    }
    if (filler === undefined) {
      // Bytes that the ledger may have wait until it does not lag; those that it refused were promised to nobody.
      if (first.mayBeTaken) return
      signer.follow(ledgerNonce)
      first.place = 'unsigned'
      return
    }
    // A promised hash stays, so the gap is filled, once the ledger certainly does not just lag.
    this.#gapSinceMs ??= clock.unixMs()
    if (clock.unixMs() - this.#gapSinceMs < GAP_PATIENCE_MS) return
    this.#fill(filler, ledgerNonce, first.nonce)
  }

  #fill(filler: Work, ledgerNonce: number, nonceAfter: number): void {
    const { list, onEvent, signer } = this.#options
    if (nonceAfter - ledgerNonce > GAP_FILL_MAX) {
      onEvent({ kind: 'nonce-gap-too-wide', ledgerNonce, nonce: nonceAfter })
      return
    }
    for (let nonce = nonceAfter - 1; nonce >= ledgerNonce; nonce -= 1) {
      const transaction = new Transaction(filler, signer.signAt(filler, nonce), true)
      list.add(transaction)
      onEvent({ kind: 'nonce-gap-filled', nonce, hash: transaction.hash })
    }
    this.#gapSinceMs = null
  }

  #resigned(
    transaction: Transaction<Work>,
    reason: ResigningReason,
    signed: SignedTransaction,
  ): void {
    const { hash: oldHash, work } = transaction
    transaction.resign(signed)
    const { hash: newHash, nonce } = signed
    this.#options.onEvent({ kind: 're-signed', reason, oldHash, newHash, nonce, work })
  }
}
