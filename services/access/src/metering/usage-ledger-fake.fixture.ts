/**
 * A ledger for the recorder's tests that keeps the contract's rules of counting and can be told to misbehave in every
 * way that a real one does. It records what it was asked to count and what it counted, so that tests can compare both
 * with what callers were told.
 */

import type { Clock } from '@tallystick/service-kit'
import type { SendResult, SignedTransaction } from '../transactions/transaction-ledger.ts'
import type { UsageCount, UsageEntry, UsageLedger, UsageReceipt } from './usage-ledger.ts'
import { usageWindowKey } from './usage-window.ts'

/** What each transaction costs here. */
const COST_TINYBAR = 1_000n

type Transaction = {
  readonly key: string
  readonly nonce: number
  readonly gasPriceWeibar: string
  readonly entries: readonly UsageEntry[]
}

type Window = { readonly agent: string; readonly windowExpiresAtSeconds: number }

/** The contract's counters and the keys' nonces, shared by the ledgers of several recorders. */
export class FakeUsageChain {
  readonly quota: number
  readonly #clock: Clock
  /** The values of each counter, and since when. */
  readonly #used = new Map<string, { readonly atMs: number; readonly calls: number }[]>()
  readonly nonces = new Map<string, number>()
  readonly receipts = new Map<string, UsageReceipt>()
  /** Mined transactions by hash, with the calls that they counted per window. */
  readonly counted = new Map<string, Map<string, number>>()
  readonly closedWindows = new Set<string>()
  isReverting = false

  constructor(options: { readonly quota: number; readonly clock: Clock }) {
    this.quota = options.quota
    this.#clock = options.clock
  }

  /** The window's counter now, or at `atMs`. */
  countUsed(window: Window, atMs = Number.POSITIVE_INFINITY): number {
    const values = this.#used.get(usageWindowKey(window)) ?? []
    return values.findLast((value) => value.atMs <= atMs)?.calls ?? 0
  }

  /** All counters together. */
  get used(): number {
    return [...this.#used.values()].reduce((sum, values) => sum + (values.at(-1)?.calls ?? 0), 0)
  }

  /** Counts as openPaid does: outside any recorder. */
  countOutside(window: Window): void {
    this.#setUsed(window, this.countUsed(window) + 1)
  }

  #setUsed(window: Window, calls: number): void {
    const key = usageWindowKey(window)
    const value = { atMs: this.#clock.unixMs(), calls }
    this.#used.set(key, [...(this.#used.get(key) ?? []), value])
  }

  mine(hash: string, { key, nonce, entries }: Transaction): void {
    this.nonces.set(key, nonce + 1)
    if (this.isReverting) {
      this.receipts.set(hash, { kind: 'reverted', costTinybar: COST_TINYBAR })
      return
    }
    const counts = entries.map((entry) => this.#count(hash, entry))
    this.receipts.set(hash, { kind: 'mined', counts, costTinybar: COST_TINYBAR })
  }

  #count(hash: string, entry: UsageEntry): UsageCount {
    const { agent, windowExpiresAtSeconds, calls } = entry
    const window = usageWindowKey(entry)
    if (this.closedWindows.has(window))
      return { kind: 'late', agent, windowExpiresAtSeconds, calls }
    // Calls given back never take the counter below 0.
    const callsUsed = Math.max(0, this.countUsed(entry) + calls)
    if (callsUsed > this.quota) return { kind: 'refused', agent, windowExpiresAtSeconds, calls }
    this.#setUsed(entry, callsUsed)
    const counted = this.counted.get(hash) ?? new Map<string, number>()
    this.counted.set(hash, counted.set(window, (counted.get(window) ?? 0) + calls))
    return { kind: 'recorded', agent, windowExpiresAtSeconds, callsUsed }
  }
}

/** What goes wrong with one request to send. */
export type SendFault =
  /** Answered with its hash, and lost. */
  | 'dropped'
  /** No answer, and it did not arrive. */
  | 'lost'
  /** No answer, and yet it arrived. */
  | 'unanswered'
  /** The connection breaks at once, and the relay submits the bytes all the same, LATE_MS later. */
  | 'late'
  /** The ledger never looked at it, and says so. */
  | 'not-taken'

/** The longest that Hedera's relay takes to submit what it was sent. */
export const LATE_MS = 8_000

/** One key's view of the chain. */
export class FakeUsageLedger implements UsageLedger {
  readonly chain: FakeUsageChain
  readonly #clock: Clock
  readonly #key: string
  /** Faults of the next requests to send, in order; null is none. */
  readonly sendFaults: (SendFault | null)[] = []
  /** Every raw transaction that reached `send`, in order. */
  readonly sent: string[] = []
  /** Transactions that reached consensus although their nonce was not the next: Hedera charges for each. */
  wrongNonces = 0
  sendMs = 0
  /** How long after its block a receipt shows. */
  receiptLagMs = 0
  gasPriceWeibar = 100n
  /** The gas price that it quotes, if not the one it demands. */
  quotedWeibar: bigint | null = null
  hasFunds = true
  isUnreachable = false
  /** How far the nonce that it reports lags. */
  nonceLag = 0
  /** The process that used it was killed: no request leaves it any more. */
  isDead = false
  /** Time of its latest block; null is now. */
  blockSeconds: number | null = null
  receiptReads = 0
  /** Hides the receipts for which this is true. */
  hidesReceipt: (hash: string) => boolean = () => false
  readonly #receiptShowsAtMs = new Map<string, number>()

  constructor(options: { chain: FakeUsageChain; clock: Clock; key?: string }) {
    this.chain = options.chain
    this.#clock = options.clock
    this.#key = options.key ?? 'recorder'
  }

  get nonce(): number {
    return this.chain.nonces.get(this.#key) ?? 0
  }

  /** Something else uses the key. */
  consumeNonce(): void {
    this.chain.nonces.set(this.#key, this.nonce + 1)
  }

  async readNonce(): Promise<number> {
    this.#reach()
    return Math.max(0, this.nonce - this.nonceLag)
  }

  async quoteGasPriceWeibar(): Promise<bigint> {
    this.#reach()
    return this.quotedWeibar ?? this.gasPriceWeibar
  }

  sign(usage: {
    readonly entries: readonly UsageEntry[]
    readonly nonce: number
    readonly gasPriceWeibar: bigint
  }): SignedTransaction {
    const { nonce, gasPriceWeibar } = usage
    const entries = usage.entries.map(({ agent, calls, windowExpiresAtSeconds }) => ({
      agent,
      calls,
      windowExpiresAtSeconds,
    }))
    const rawTransaction = JSON.stringify({
      key: this.#key,
      nonce,
      gasPriceWeibar: `${gasPriceWeibar}`,
      entries,
    } satisfies Transaction)
    return { nonce, gasPriceWeibar, rawTransaction, hash: fakeHash(rawTransaction) }
  }

  async send({ rawTransaction }: Pick<SignedTransaction, 'rawTransaction'>): Promise<SendResult> {
    await this.#live()
    if (this.sendMs > 0) await this.#pass(this.sendMs)
    this.#reach()
    const fault = this.sendFaults.shift() ?? null
    if (fault === 'lost') throw new Error('no answer')
    if (fault === 'not-taken') return { kind: 'not-taken' }
    this.sent.push(rawTransaction)
    if (fault === 'late') {
      this.#clock.after(LATE_MS, () => void this.#take(rawTransaction, false))
      throw new Error('no answer')
    }
    const result = this.#take(rawTransaction, fault === 'dropped')
    if (fault === 'unanswered') throw new Error('no answer')
    return result
  }

  async readReceipt(hash: string): Promise<UsageReceipt | undefined> {
    this.#reach()
    this.receiptReads += 1
    const receipt = this.chain.receipts.get(hash)
    const isShown = (this.#receiptShowsAtMs.get(hash) ?? 0) <= this.#clock.unixMs()
    return receipt !== undefined && isShown && !this.hidesReceipt(hash) ? receipt : undefined
  }

  async readBlockSeconds(): Promise<number> {
    this.#reach()
    return this.blockSeconds ?? Math.floor(this.#clock.unixMs() / 1000)
  }

  async readCallsUsed(window: {
    readonly agent: string
    readonly windowExpiresAtSeconds: number
  }): Promise<number | null> {
    this.#reach()
    return this.chain.countUsed(window)
  }

  #take(rawTransaction: string, isDropped: boolean): SendResult {
    const transaction = JSON.parse(rawTransaction) as Transaction
    if (BigInt(transaction.gasPriceWeibar) < this.gasPriceWeibar)
      return { kind: 'gas-price-too-low' }
    if (!this.hasFunds) return { kind: 'insufficient-funds' }
    if (transaction.nonce !== this.nonce) {
      this.wrongNonces += 1
      return { kind: transaction.nonce < this.nonce ? 'nonce-too-low' : 'nonce-too-high' }
    }
    if (isDropped) return { kind: 'accepted' }
    const hash = fakeHash(rawTransaction)
    this.chain.mine(hash, transaction)
    this.#receiptShowsAtMs.set(hash, this.#clock.unixMs() + this.receiptLagMs)
    return { kind: 'accepted' }
  }

  async #live(): Promise<void> {
    if (this.isDead) await new Promise(() => {})
  }

  #reach(): void {
    if (this.isUnreachable) throw new Error('unreachable')
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(ms, resolve)
    })
  }
}

/** The fake's hash of its raw transactions. */
function fakeHash(rawTransaction: string): string {
  return `hash of ${rawTransaction}`
}
