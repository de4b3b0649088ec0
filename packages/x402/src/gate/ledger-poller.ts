/**
 * Looks payments in doubt up on their ledger. One poller serves all payments of a gate (X23): however many wait, and whoever
 * sent them, the ledger's node is asked at a bounded rate, first about payments that may have been submitted here.
 */
import type { Clock } from '../clock.ts'
import type { VerifiedPayment } from '../payment.ts'
import { payerKey } from '../reservations/reservation-store.ts'
import type { LedgerFinding } from '../schemes/payment-scheme.ts'
import type { GateLimits } from './gate-limits.ts'

/** Thrown inside a waiting payment when the gate closes; the next process finds the payment on the ledger. */
export class GateClosed extends Error {
  override readonly name = 'GateClosed'
}

/** The ledger says this once it knows. */
export type Resolved = Exclude<LedgerFinding, { kind: 'unknown' }>

/** A look-up ends with this: for a payment that was turned away, also when there is no trace of it. */
export type LookUpEnd = Resolved | { readonly kind: 'untraced' }

/** One payment in doubt. */
type LookUp = {
  readonly payment: VerifiedPayment
  /** After the first look, nothing is asked before this time, Unix milliseconds: the answer could not be final. */
  readonly quietUntilMs?: number | undefined
  /** Longest pause between two looks, if it is shorter than others'. */
  readonly pauseMsMax?: number | undefined
  /** Asks the ledger once; undefined if it does not know yet. */
  look(): Promise<LookUpEnd | undefined>
}

type Entry = LookUp & {
  readonly done: PromiseWithResolvers<LookUpEnd>
  dueAtMs: number
  lookedAtMs: number
  pauseMs: number
  isUnderWay: boolean
}

export type LedgerPoller = ReturnType<typeof createLedgerPoller>

/** The span over which `lookUpsPerSecond` is counted, milliseconds. */
const SECOND_MS = 1_000

const NEVER_MS = Number.POSITIVE_INFINITY

/** How many payments of each payer there are; a payer is one account on one network. */
function createPayerCounts() {
  const counts = new Map<string, number>()
  const get = (payment: VerifiedPayment): number => counts.get(payerKey({ payment })) ?? 0
  return {
    get,
    add(payment: VerifiedPayment, change: 1 | -1): void {
      const count = get(payment) + change
      if (count === 0) counts.delete(payerKey({ payment }))
      else counts.set(payerKey({ payment }), count)
    },
  }
}

/** Places for payments that this process has not sent. */
function createUnsentPlaces(payerMax: number) {
  const unsent = createPayerCounts()
  /**
   * Takes a place and returns the way to give it back; undefined if the payer has as many as it may. Anyone can sign payments
   * that are about to expire, and each of them costs the ledger's node some answers.
   */
  return (payment: VerifiedPayment): (() => void) | undefined => {
    if (unsent.get(payment) >= payerMax) return undefined
    unsent.add(payment, 1)
    return () => unsent.add(payment, -1)
  }
}

type Turns = ReturnType<typeof createTurns>

/** At most so many turns in any second. */
function createTurns(clock: Clock, perSecond: number) {
  /** When the latest began, oldest first. */
  let beganAtMs: readonly number[] = []
  const hasTurn = (): boolean => {
    beganAtMs = beganAtMs.filter((atMs) => atMs > clock.unixMs() - SECOND_MS)
    return beganAtMs.length < perSecond
  }
  return {
    hasTurn,
    take(): void {
      beganAtMs = [...beganAtMs, clock.unixMs()]
    },
    /** When there is a turn again. */
    nextAtMs: (): number => (hasTurn() ? clock.unixMs() : (beganAtMs[0] ?? 0) + SECOND_MS),
  }
}

/** When something can begin again. What is due but waits for its payer's other look-ups begins at the end of one of them. */
function nextPollMs(idle: readonly Entry[], turns: Turns, nowMs: number): number {
  const waiting = turns.hasTurn() ? idle.filter(({ dueAtMs }) => dueAtMs > nowMs) : idle
  const dueAtMs = waiting.reduce((soonest, entry) => Math.min(soonest, entry.dueAtMs), NEVER_MS)
  return Math.max(dueAtMs, turns.nextAtMs())
}

/** The poller of a gate. */
export function createLedgerPoller(clock: Clock, limits: GateLimits) {
  const { lookUpsPerSecond, payerLookUpsMax, retryAfterSeconds, retryFirstMs, retryMaxMs } = limits
  const entries = new Map<string, Entry>()
  const underWay = createPayerCounts()
  const turns = createTurns(clock, lookUpsPerSecond)
  let isClosed = false
  let cancel: (() => void) | undefined

  /** Begins what is due and allowed, and comes back when more will be. */
  function poll(): void {
    cancel?.()
    cancel = undefined
    const nowMs = clock.unixMs()
    const idle = [...entries.values()].filter(({ isUnderWay }) => !isUnderWay)
    for (const entry of idle.filter(({ dueAtMs }) => dueAtMs <= nowMs).toSorted(byTurn)) {
      if (!turns.hasTurn()) break
      if (underWay.get(entry.payment) >= payerLookUpsMax) continue
      turns.take()
      void look(entry)
    }
    if (isClosed) return
    const nextAtMs = nextPollMs(idle, turns, nowMs)
    if (nextAtMs < NEVER_MS) cancel = clock.after(nextAtMs - nowMs, poll)
  }

  async function look(entry: Entry): Promise<void> {
    entry.isUnderWay = true
    entry.dueAtMs = NEVER_MS
    underWay.add(entry.payment, 1)
    const found = await entry.look().catch((error: unknown) => entry.done.reject(error))
    underWay.add(entry.payment, -1)
    entry.isUnderWay = false
    const nowMs = clock.unixMs()
    entry.lookedAtMs = nowMs
    if (found !== undefined) entry.done.resolve(found)
    else if (isClosed) entry.done.reject(new GateClosed('the gate is closed'))
    entry.dueAtMs = Math.max(nowMs + entry.pauseMs, entry.quietUntilMs ?? 0)
    entry.pauseMs = Math.min(entry.pauseMs * 2, entry.pauseMsMax ?? retryMaxMs)
    poll()
  }

  return {
    join: createUnsentPlaces(payerLookUpsMax),
    /** Asks at once, and then with growing pauses until the ledger knows. Throws what `look` throws, and GateClosed. */
    async resolve(lookUp: LookUp): Promise<LookUpEnd> {
      const { id } = lookUp.payment
      const nowMs = clock.unixMs()
      const timing = { dueAtMs: nowMs, lookedAtMs: 0, pauseMs: retryFirstMs, isUnderWay: false }
      const entry: Entry = { ...lookUp, ...timing, done: Promise.withResolvers() }
      entries.set(id, entry)
      poll()
      try {
        return await entry.done.promise
      } finally {
        entries.delete(id)
      }
    },
    /** Ends a look-up whose answer came from elsewhere. */
    found(paymentId: string, finding: Resolved): void {
      entries.get(paymentId)?.done.resolve(finding)
    },
    /** The payment was brought again: asks soon, but not before an answer told its sender to come back. */
    wake(paymentId: string): void {
      const entry = entries.get(paymentId)
      if (entry === undefined || entry.isUnderWay) return
      const soonestMs = Math.max(clock.unixMs(), entry.lookedAtMs + retryAfterSeconds * SECOND_MS)
      entry.dueAtMs = Math.min(entry.dueAtMs, soonestMs)
      poll()
    },
    /** Rejects all that wait with GateClosed; a look-up under way may still find its payment. */
    close(): void {
      isClosed = true
      cancel?.()
      for (const { done, isUnderWay } of entries.values())
        if (!isUnderWay) done.reject(new GateClosed('the gate is closed'))
    },
  }
}

/** Payments that may have been submitted here come first, then those that have waited longest. */
function byTurn(left: Entry, right: Entry): number {
  const isUnsent = (entry: Entry): number => (entry.quietUntilMs === undefined ? 0 : 1)
  return isUnsent(left) - isUnsent(right) || left.dueAtMs - right.dueAtMs
}
