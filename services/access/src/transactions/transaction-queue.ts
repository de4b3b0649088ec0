/**
 * The one ordered queue of a key (A10): sign, hash, sent in order, receipt. Transactions leave in order of their nonces, one
 * request at a time, and every change to that order is made by its single loop. Signed bytes are resent unchanged until a
 * receipt settles them; a new signature is made only if something else consumed the nonce or the gas price is refused.
 * Hedera charges for every transaction that reaches consensus with a nonce already used. So bytes that may be under way
 * are sent again only once the ledger has shown for long enough that it does not have them.
 *
 * Parts: transaction.ts (what it holds), transaction-repair.ts (nonces, prices, gaps), transaction-receipts.ts (what became
 * of each). What the work is, and who waits for it, is the business of its clients: the recorder of usage, and payTo's and
 * the owner's calls.
 */
import {
  type BackOff,
  type BackOffLimits,
  type Clock,
  createBackOff,
} from '@tallystick/service-kit'
import { type QueueEvent, Transaction, TransactionList, TransactionSigner } from './transaction.ts'
import type { SendResult, TransactionLedger } from './transaction-ledger.ts'
import { type TransactionEnd, TransactionReceipts } from './transaction-receipts.ts'
import { TransactionRepair } from './transaction-repair.ts'

/** Transactions sent without a receipt: one a second over the slowest ledger's 10 s, several times over. */
const SENT_MAX = 64

export type QueueTotals = TransactionQueue<object, object>['totals']

type QueueOptions<Work extends object, Receipt extends object> = {
  readonly ledger: TransactionLedger<Work, Receipt>
  readonly clock: Clock
  /** The gas price to offer at a quoted one, weibar. */
  readonly offer: (quotedWeibar: bigint) => bigint
  /** Pauses after a failed request. */
  readonly retry: BackOffLimits
  /** Work that does nothing. Where hashes were promised it fills gaps and follows what is in doubt; else both is left. */
  readonly filler?: Work
  /** Ends tries of what the ledger never took: a caller waits. Without it they go on until there is a receipt. */
  readonly patience?: {
    readonly triesMax: number
    readonly onRefused: (transaction: Transaction<Work>, error: unknown) => void
  }
  readonly onEvent?: (event: QueueEvent<Work>) => void
  /** Called whenever a transaction has gone or the queue has become free. */
  readonly onProgress?: () => void
  /** Called when the ledger took a transaction, or it left without an answer. */
  readonly onLeft?: (transaction: Transaction<Work>) => void
  readonly onEnd: (transaction: Transaction<Work>, end: TransactionEnd<Receipt>) => void
  /** A round of receipts is over: act once on all that they changed. */
  readonly onRound?: () => void
}

type Failure = {
  readonly step: Extract<QueueEvent<unknown>, { kind: 'ledger-failed' }>['step']
  /** `unreachable` if absent. */
  readonly reason?: string
  readonly error?: unknown
}

type Unreachable = {
  readonly kind: 'unreachable'
  readonly error: unknown
  readonly leftAtMs: number
}

/** Refusals after which the same nonce is still the next. */
const NONCE_LEFT: ReadonlySet<SendResult['kind']> = new Set([
  'gas-price-too-low',
  'insufficient-funds',
  'not-taken',
])

/** The loop that signs, sends, resends and signs again. It never rejects: a failure is retried after a pause. */
export class TransactionQueue<Work extends object, Receipt extends object> {
  readonly #options: QueueOptions<Work, Receipt>
  readonly #list = new TransactionList<Work>()
  readonly #signer: TransactionSigner<Work, Receipt>
  readonly #repair: TransactionRepair<Work, Receipt>
  readonly #receipts: TransactionReceipts<Work, Receipt>
  /** Counts since the start. */
  readonly totals = { transactionsSentTotal: 0, resendsTotal: 0, resigningsTotal: 0 }
  #isRunning = false
  #isWoken = false
  #isStopped = false
  #lacksFunds = false
  #isResyncWanted = false
  #isFillerWanted = false
  readonly #backOff: BackOff
  #cancelRetry: (() => void) | null = null

  constructor(options: QueueOptions<Work, Receipt>) {
    this.#options = options
    const { filler, onRound = () => {} } = options
    const list = this.#list
    this.#backOff = createBackOff({ ...options.retry, clock: options.clock })
    this.#signer = new TransactionSigner(options)
    this.#repair = new TransactionRepair({
      ...options,
      list,
      signer: this.#signer,
      filler,
      onEvent: (event) => this.#report(event),
    })
    this.#receipts = new TransactionReceipts({
      ...options,
      list,
      mayProbe: filler !== undefined,
      lacksFunds: () => this.#lacksFunds,
      resync: () => {
        this.#isResyncWanted = true
        this.#wake()
      },
      resign: (transaction) => {
        if (transaction.place === 'sent') transaction.place = 'unsigned'
        this.#wake()
      },
      follow: (nonceMin) => {
        this.#isFillerWanted ||= list.all.every(({ nonce }) => nonce < nonceMin)
        this.#wake()
      },
      onEnd: (transaction, end) => {
        if (this.#remove(transaction)) options.onEnd(transaction, end)
      },
      onRound,
      onFailure: (error, retryMs) => this.#failed({ step: 'receipt', error }, retryMs),
    })
  }

  /** True once nonce and gas price are known, so that signing needs no request. */
  get isReady(): boolean {
    return this.#signer.isReady
  }

  get knowsNonce(): boolean {
    return this.#signer.knowsNonce
  }

  /** True when a transaction added now would leave at once. */
  get isFree(): boolean {
    return (
      !this.#isRunning &&
      this.#cancelRetry === null &&
      this.#list.waitingCount === 0 &&
      this.sentCount < SENT_MAX
    )
  }

  /** Those to be sent or signed again; one on its way is not counted. */
  get waitingCount(): number {
    return this.#list.waitingCount
  }

  /** Transactions sent and without a receipt. */
  get sentCount(): number {
    return this.#list.at('sent').length
  }

  /** Every transaction without a receipt, sent or not. */
  get unfinished(): readonly Transaction<Work>[] {
    return this.#list.all
  }

  /** Reads what signing needs. Rejects when the ledger does not answer. */
  prepare(readNonce = () => this.#options.ledger.readNonce()): Promise<void> {
    return this.#signer.prepare(readNonce)
  }

  /** Signs this work as one transaction with the next nonce and queues it: its hash is known before it is sent. */
  add(work: Work): Transaction<Work> {
    const transaction = new Transaction(work, this.#signer.signNext(work))
    this.#list.add(transaction)
    this.#wake()
    return transaction
  }

  /** Takes out a transaction of unknown fate; false if it has ended. Its nonce may be lost in a gap, so the next is read. */
  giveUp(transaction: Transaction<Work>): boolean {
    const isThere = this.#remove(transaction)
    if (isThere) this.#signer.follow(null)
    return isThere
  }

  #remove(transaction: Transaction<Work>): boolean {
    const isThere = this.#list.delete(transaction)
    this.#wake()
    return isThere
  }

  /** Resolves when the receipts that the ledger has now were read. Never rejects. */
  refreshReceipts(): Promise<void> {
    return this.#receipts.refresh()
  }

  /** Ends after the requests under way and cancels the timers. */
  stop(): void {
    this.#isStopped = true
    this.#cancelRetry?.()
    this.#cancelRetry = null
    this.#receipts.stop()
  }

  /** Runs the loop if there is something to do. */
  #wake(): void {
    this.#isWoken = true
    if (this.#isRunning || this.#isStopped || this.#cancelRetry !== null) return
    void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#isWoken && this.#cancelRetry === null && !this.#isStopped) {
      this.#isWoken = false
      while (await this.#step()) this.#options.onProgress?.()
    }
    this.#isRunning = false
    this.#options.onProgress?.()
  }

  /** Does one thing; false when there is nothing to do or a pause began. */
  async #step(): Promise<boolean> {
    if (this.#isStopped) return false
    if (this.#isResyncWanted)
      return this.#try('nonce', async () => {
        await this.#repair.resync()
        this.#isResyncWanted = false
      })
    const [unsigned] = this.#list.at('unsigned')
    if (unsigned !== undefined) return this.#try('sign', () => this.#repair.resign(unsigned))
    if (this.#isFillerWanted) {
      this.#repair.fillNext()
      this.#isFillerWanted = false
    }
    if (this.sentCount >= SENT_MAX) return false
    const [transaction] = this.#list.at('waiting')
    if (transaction === undefined) return false
    transaction.place = 'on-its-way'
    // Its place in the queue is free now, before the ledger has answered.
    this.#options.onProgress?.()
    return this.#deliver(transaction)
  }

  async #try(step: Failure['step'], run: () => Promise<void>): Promise<boolean> {
    try {
      await run()
      return true
    } catch (error) {
      return this.#pause({ step, error })
    }
  }

  async #deliver(transaction: Transaction<Work>): Promise<boolean> {
    const wasDelivered = transaction.isDelivered
    if (wasDelivered) {
      const hold = await this.#repair.findHold(transaction).catch((error: unknown) => ({ error }))
      if (hold === 'nonce-consumed') return this.#wasConsumed(transaction)
      if (hold === 'nonce-too-high') this.#isResyncWanted = true
      if (hold !== undefined) {
        transaction.place = 'waiting'
        return this.#pause({
          step: 'nonce',
          ...(typeof hold === 'string' ? { reason: hold } : hold),
        })
      }
    }
    const result = await this.#send(transaction)
    this.#lacksFunds = result.kind === 'insufficient-funds'
    if (result.kind === 'accepted') return this.#wasSent(transaction)
    transaction.place = 'waiting'
    if (result.kind === 'unreachable') {
      // The bytes may have arrived: they stay as they are, and the ledger's state decides whether they are sent again.
      transaction.sentAtMs = result.leftAtMs
      this.#options.onLeft?.(transaction)
      return this.#pause({ step: 'send', error: result.error })
    }
    if (result.kind === 'nonce-too-low' && wasDelivered) return this.#wasConsumed(transaction)
    if (NONCE_LEFT.has(result.kind)) transaction.isDelivered = wasDelivered
    return this.#wasRefused(transaction, result)
  }

  /** Does what a definite refusal needs: the ledger did not take the bytes this time. */
  async #wasRefused(
    transaction: Transaction<Work>,
    refusal: Exclude<SendResult, { kind: 'accepted' }>,
  ): Promise<boolean> {
    const { kind: reason, error } = refusal
    transaction.refusals += 1
    if (this.#isFinal(transaction, reason)) {
      this.#signer.follow(NONCE_LEFT.has(reason) ? transaction.nonce : null)
      if (this.#remove(transaction)) this.#options.patience?.onRefused(transaction, error)
      return true
    }
    switch (refusal.kind) {
      case 'nonce-too-low':
        transaction.nextNonce = refusal.nextNonce
        transaction.place = 'unsigned'
        return true
      case 'gas-price-too-low':
        return this.#reprice(transaction)
      case 'nonce-too-high':
        transaction.nextNonce = refusal.nextNonce
        this.#isResyncWanted = true
        return this.#pause({ step: 'send', reason })
      case 'insufficient-funds':
      case 'not-taken':
      case 'refused':
        return this.#pause({ step: 'send', reason })
      default:
        return refusal satisfies never
    }
  }

  #isFinal(transaction: Transaction<Work>, reason: SendResult['kind']): boolean {
    const { patience } = this.#options
    if (patience === undefined || transaction.mayBeTaken) return false
    const isHopeless = reason === 'refused' || reason === 'insufficient-funds'
    return isHopeless || transaction.refusals >= patience.triesMax
  }

  async #send(transaction: Transaction<Work>): Promise<SendResult | Unreachable> {
    const { clock, ledger } = this.#options
    const leftAtMs = clock.unixMs()
    if (transaction.isDelivered) {
      this.totals.resendsTotal += 1
      this.#report({ kind: 'resent', hash: transaction.hash, nonce: transaction.nonce })
    }
    transaction.isDelivered = true
    try {
      return await ledger.send(transaction.current)
    } catch (error) {
      return { kind: 'unreachable', error, leftAtMs }
    }
  }

  /** Perhaps these very bytes used their nonce: the receipt will tell. */
  #wasConsumed(transaction: Transaction<Work>): true {
    transaction.consumedSinceMs ??= this.#options.clock.unixMs()
    return this.#wasSent(transaction)
  }

  #wasSent(transaction: Transaction<Work>): true {
    if (!transaction.isAccepted) this.totals.transactionsSentTotal += 1
    transaction.isAccepted = true
    transaction.sentAtMs = this.#options.clock.unixMs()
    this.#backOff.succeeded()
    transaction.place = 'sent'
    this.#options.onLeft?.(transaction)
    this.#receipts.wake()
    return true
  }

  async #reprice(transaction: Transaction<Work>): Promise<boolean> {
    try {
      if (await this.#repair.reprice(transaction)) return true
    } catch (error) {
      return this.#pause({ step: 'sign', error })
    }
    return this.#pause({ step: 'send', reason: 'gas-price-too-low' })
  }

  #pause(failure: Failure): false {
    if (this.#isStopped) return false
    const retryMs = this.#backOff.failed()
    this.#cancelRetry = this.#options.clock.after(retryMs, () => {
      this.#cancelRetry = null
      this.#wake()
    })
    this.#failed(failure, retryMs)
    return false
  }

  #failed({ reason = 'unreachable', ...failure }: Failure, retryMs: number): void {
    this.#report({ kind: 'ledger-failed', reason, ...failure, retryMs })
  }

  #report(event: QueueEvent<Work>): void {
    if (event.kind === 're-signed') this.totals.resigningsTotal += 1
    this.#options.onEvent?.(event)
  }
}
