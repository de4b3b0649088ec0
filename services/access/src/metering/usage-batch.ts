/**
 * A sealed batch of calls: its entries are fixed, and it is signed and on its way to its receipt. No policy lives here:
 * usage-batcher.ts says when to seal, usage-lease.ts what to count in advance, usage-sender.ts what to send.
 */
import type { PendingCall } from './pending-call.ts'
import type { SignedUsage, UsageEntry } from './usage-ledger.ts'
import type { UsageWindow } from './usage-window.ts'

/** The calls of one agent in one window that one transaction counts (A10), or gives back (A18). */
export class SealedEntry implements UsageEntry {
  readonly agent: string
  readonly windowExpiresAtSeconds: number
  readonly window: UsageWindow
  /** Calls in `pending` and leased ones; negative for leased calls that go back. */
  readonly calls: number
  /** Calls that are not answered yet, in order of acceptance. */
  readonly pending: PendingCall[]
  /** The agent's next calls that this entry leases and nobody has made yet (A18). */
  unusedCalls: number
  readonly isLease: boolean
  /** Hash of the transaction that counts it, once its batch is signed; signing again changes it. */
  transactionHash = ''
  /** A receipt shows that it is counted. */
  isCounted = false

  constructor(entry: {
    readonly window: UsageWindow
    readonly calls: number
    readonly pending?: readonly PendingCall[]
  }) {
    this.window = entry.window
    this.agent = entry.window.agent
    this.windowExpiresAtSeconds = entry.window.windowExpiresAtSeconds
    this.calls = entry.calls
    this.pending = [...(entry.pending ?? [])]
    this.unusedCalls = Math.max(0, entry.calls - this.pending.length)
    this.isLease = this.unusedCalls > 0
  }

  /** Calls that were answered with it, or wait to be. */
  get madeCalls(): number {
    return Math.max(0, this.calls - this.unusedCalls)
  }
}

/** A signed batch waits to be sent, is on its way, was sent, or must be signed again since something else consumed its nonce. */
type Place = 'waiting' | 'on-its-way' | 'sent' | 'consumed'

/** A signed batch until its receipt. A batch without entries only consumes a nonce. */
export class SealedBatch {
  readonly entries: readonly SealedEntry[]
  /** All signatures that may still be mined; all but the last offered too low a gas price for the same nonce. */
  signatures: readonly SignedUsage[]
  #current: SignedUsage
  /** Only the sender moves it. */
  place: Place = 'waiting'
  /** False while the ledger has certainly never had the bytes. */
  isDelivered = false
  isAccepted = false
  /** When the ledger last took it, or it last left without an answer, Unix milliseconds; 0 before. */
  sentAtMs = 0
  /** Since when its nonce is known to be consumed without a receipt for it, Unix milliseconds. */
  consumedSinceMs: number | null = null
  /** When a later transaction was last requested to prove that, Unix milliseconds. */
  probedAtMs = 0

  constructor(entries: readonly SealedEntry[], signed: SignedUsage) {
    this.entries = entries
    this.signatures = [signed]
    this.#current = signed
    this.hasHash(signed.hash)
  }

  get current(): SignedUsage {
    return this.#current
  }

  get nonce(): number {
    return this.#current.nonce
  }

  /** Calls that were answered with it, or wait to be. */
  get callCount(): number {
    return this.entries.reduce((sum, entry) => sum + entry.madeCalls, 0)
  }

  /** A signature with the same nonce joins the ones that may still be mined; one with another nonce replaces them. */
  resign(signed: SignedUsage): void {
    const isSameNonce = signed.nonce === this.nonce
    this.signatures = isSameNonce ? [...this.signatures, signed] : [signed]
    this.#current = signed
    this.consumedSinceMs = null
    this.hasHash(signed.hash)
    if (!isSameNonce) {
      this.isDelivered = false
      this.isAccepted = false
      this.sentAtMs = 0
    }
  }

  /** Calls are answered with this hash from now on: the last one signed, or the one that was mined. */
  hasHash(hash: string): void {
    for (const entry of this.entries) entry.transactionHash = hash
  }
}
