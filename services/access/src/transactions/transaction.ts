/**
 * A queue of one key holds these: transactions until their receipts, and the signer that hands out nonces, prices and
 * signatures; and it tells an operator of what went wrong with them. No policy lives here: transaction-queue.ts says what is sent, transaction-repair.ts what is signed again.
 */
import type { Clock } from '@tallystick/service-kit'
import type { SignedTransaction, TransactionLedger } from './transaction-ledger.ts'

/** A transaction waits to be sent, is on its way, was sent, or must be signed again since its nonce is of no use. */
type Place = 'waiting' | 'on-its-way' | 'sent' | 'unsigned'

/** A signed transaction until its receipt. */
export class Transaction<Work> {
  readonly work: Work
  /** Does no work: it only consumes a nonce. */
  readonly isFiller: boolean
  /** All signatures that may still be mined; all but the last offered too low a gas price for the same nonce. */
  signatures: readonly SignedTransaction[]
  #current: SignedTransaction
  /** Of the signature that was mined, until then of the last one. */
  hash: string
  /** Only the queue moves it. */
  place: Place = 'waiting'
  /** False while the ledger has certainly never looked at the nonce of these bytes. */
  isDelivered = false
  isAccepted = false
  /** When the ledger last took it, or it last left without an answer, Unix milliseconds; 0 before. */
  sentAtMs = 0
  /** How often the ledger refused it. */
  refusals = 0
  /** The nonce that the ledger named as its next when it refused this one. */
  nextNonce: number | undefined
  /** Since when its nonce is known to be consumed without a receipt for it, Unix milliseconds. */
  consumedSinceMs: number | null = null
  /** When a later transaction was last requested to prove that, Unix milliseconds. */
  probedAtMs = 0

  constructor(work: Work, signed: SignedTransaction, isFiller = false) {
    this.work = work
    this.isFiller = isFiller
    this.signatures = [signed]
    this.#current = signed
    this.hash = signed.hash
  }

  get current(): SignedTransaction {
    return this.#current
  }

  get nonce(): number {
    return this.#current.nonce
  }

  /** The ledger took the bytes, or they left without an answer. */
  get mayBeTaken(): boolean {
    return this.sentAtMs > 0
  }

  /** A signature with the same nonce joins the ones that may still be mined; one with another nonce replaces them. */
  resign(signed: SignedTransaction): void {
    const isSameNonce = signed.nonce === this.nonce
    this.signatures = isSameNonce ? [...this.signatures, signed] : [signed]
    this.#current = signed
    this.hash = signed.hash
    this.consumedSinceMs = null
    if (!isSameNonce) {
      this.isDelivered = false
      this.isAccepted = false
      this.sentAtMs = 0
    }
  }
}

/** The transactions of one key until their receipts. */
export class TransactionList<Work> {
  readonly #transactions = new Set<Transaction<Work>>()

  /** Every transaction without a receipt, sent or not. */
  get all(): readonly Transaction<Work>[] {
    return [...this.#transactions]
  }

  /** Those to be sent or signed again; one on its way is not counted. */
  get waitingCount(): number {
    let count = 0
    for (const { place } of this.#transactions)
      if (place === 'waiting' || place === 'unsigned') count += 1
    return count
  }

  /** By nonce. */
  at(place: Place): readonly Transaction<Work>[] {
    const there = this.all.filter((transaction) => transaction.place === place)
    return there.toSorted((first, second) => first.nonce - second.nonce)
  }

  add(transaction: Transaction<Work>): void {
    this.#transactions.add(transaction)
  }

  /** Returns false if it was not in the list. */
  delete(transaction: Transaction<Work>): boolean {
    return this.#transactions.delete(transaction)
  }
}

/** A quoted gas price is used this long for signatures that must be ready at once. Milliseconds. */
const GAS_QUOTE_MS = 30_000

type SignerOptions<Work extends object, Receipt extends object> = {
  readonly ledger: TransactionLedger<Work, Receipt>
  readonly clock: Clock
  /** The gas price to offer at a quoted one, weibar: more, since the network charges its own. */
  readonly offer: (quotedWeibar: bigint) => bigint
}

/**
 * Hands out nonces and signatures of one key: each signature uses up a nonce, so that signing never leaves a gap. The
 * nonce is read from the ledger once and counted here from then on: a read of it lags by seconds.
 */
export class TransactionSigner<Work extends object, Receipt extends object> {
  readonly #options: SignerOptions<Work, Receipt>
  #nextNonce: number | null = null
  #quotedWeibar: bigint | null = null
  #quotedAtMs = 0

  constructor(options: SignerOptions<Work, Receipt>) {
    this.#options = options
  }

  get knowsNonce(): boolean {
    return this.#nextNonce !== null
  }

  /** True once nonce and gas price are known, so that signing needs no request. */
  get isReady(): boolean {
    return this.knowsNonce && this.#quotedWeibar !== null
  }

  /** Gas price that a signature offers now, weibar. */
  get offeredWeibar(): bigint {
    return this.#options.offer(this.#quotedWeibar ?? 0n)
  }

  /** Reads the nonce, unless it is known, and the gas price. Rejects if the ledger does not answer. */
  async prepare(readNonce: () => Promise<number>): Promise<void> {
    const [nonce] = await Promise.all([this.#nextNonce ?? readNonce(), this.requote()])
    this.#nextNonce ??= nonce
  }

  /** Reads the gas price again. Rejects if the ledger does not answer. */
  async requote(): Promise<void> {
    this.#quotedWeibar = await this.#options.ledger.quoteGasPriceWeibar()
    this.#quotedAtMs = this.#options.clock.unixMs()
  }

  /** The next nonce is this one, or must be read again. */
  follow(nonce: number | null): void {
    this.#nextNonce = nonce
  }

  /** Signs with the next nonce, at least `nonceMin`. */
  signNext(work: Work, nonceMin = 0): SignedTransaction {
    const nowMs = this.#options.clock.unixMs()
    if (nowMs - this.#quotedAtMs >= GAS_QUOTE_MS) {
      this.#quotedAtMs = nowMs
      // In the background: the old quote serves meanwhile, and the queue asks again if a price is refused.
      this.requote().catch(() => {})
    }
    if (this.#nextNonce === null) throw new Error('signing before the nonce is known')
    const nonce = Math.max(this.#nextNonce, nonceMin)
    const signed = this.signAt(work, nonce)
    this.#nextNonce = nonce + 1
    return signed
  }

  /** Signs with a nonce that was handed out before, or that is missing on the ledger. */
  signAt(work: Work, nonce: number): SignedTransaction {
    return this.#options.ledger.sign({ ...work, nonce, gasPriceWeibar: this.offeredWeibar })
  }
}

/** A transaction is signed again for these two reasons only (A10). */
export type ResigningReason = 'nonce-consumed' | 'gas-price-too-low'

/** Tells an operator what went wrong with a queue of transactions. In normal operation no transaction causes an event. */
export type QueueEvent<Work> =
  | {
      readonly kind: 're-signed'
      readonly reason: ResigningReason
      /** The hash that callers were given. */
      readonly oldHash: string
      readonly newHash: string
      readonly nonce: number
      readonly work: Work
    }
  | { readonly kind: 'resent'; readonly hash: string; readonly nonce: number }
  | {
      /** The ledger refused or did not answer; tried again after the pause. */
      readonly kind: 'ledger-failed'
      readonly step: 'sign' | 'send' | 'nonce' | 'receipt'
      readonly reason: string
      readonly retryMs: number
      readonly error?: unknown
    }
  | { readonly kind: 'nonce-gap-filled'; readonly nonce: number; readonly hash: string }
  /** Not filled: this is not the ledger that the key was used on. */
  | {
      readonly kind: 'nonce-gap-too-wide'
      readonly ledgerNonce: number
      readonly nonce: number
    }
