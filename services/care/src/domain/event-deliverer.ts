/**
 * When events are delivered, and in which order (C22). Each subscription works through the journals on its own, one write after
 * the other: the next is sent once the previous was taken or refused. Progress is stored after each, so a kill repeats at most
 * one delivery. Of several processes the one that holds the lease delivers; its epoch guards everything it stores, so a process
 * believed dead cannot move a subscription.
 */
import type { Lease } from '@tallystick/journal-store'
import type { IsRevoked } from '@tallystick/jwt-lite'
import { type BackOff, type BackOffLimits, createBackOff } from '@tallystick/service-kit'
import { AUDIENCES } from '../wire/audience.ts'
import type { CareRecord } from './care-record.ts'
import {
  type DeliveryOutcome,
  type EventFailure,
  type EventReport,
  type EventSubscription,
  type EventSubscriptions,
  type RevisionEvent,
  readEvent,
} from './event-subscription.ts'
import { FairRuns } from './fair-runs.ts'
import { type PlacedVersion, placeBehind, type RecordStore } from './record-store.ts'
import { mayRead, reachWithin, readReach } from './scopes.ts'

/** Deliveries under way at once: sockets, and what they hold in memory. */
const RUNNING_MAX = 64
/** Of one principal, so that its hanging receivers do not delay those of others. */
const RUNNING_PER_SUB_MAX = 4
/** Versions read in one go. */
const ROWS_READ = 32
/** A receiver's restart takes seconds; one that is back is found within ten minutes. */
const RETRY: BackOffLimits = { firstMs: 1_000, maxMs: 600_000, factor: 4 }
/** After this long without a delivery taken, the subscription is suspended; refreshing it resumes where it stopped. */
const SUSPENDED_AFTER_MS = 3_600_000
/** How often it looks for expired subscriptions, and for changes that it did not hear about. */
const LOOK_MS = 60_000
/** The same where other processes change subscriptions. */
const SHARED_LOOK_MS = 1_000
/** How soon it looks again after a failure: nothing is delivered before the first look succeeds. */
const LOOK_AGAIN_MS = 1_000
const ROWS_LOOKED_MAX = 500
const HEALTHY = { lastError: undefined, failedSinceMs: undefined }
const EVERYTHING = AUDIENCES.map((audience) => ({ audience }))

type DelivererDeps = {
  readonly store: Pick<RecordStore, 'version' | 'behind' | 'journals' | 'onGrown'>
  readonly subscriptions: EventSubscriptions
  readonly lease: Pick<Lease, 'epoch' | 'onHeld'>
  /** Whether other processes change subscriptions, too. */
  readonly isShared: boolean
  /** Sends once. Never rejects. */
  readonly deliver: (
    to: EventSubscription,
    event: RevisionEvent,
    signal: AbortSignal,
  ) => Promise<DeliveryOutcome>
  /** A cursor's text, which reveals nothing to its reader. */
  readonly cursorText: (sub: string, place: number) => string
  readonly clock: { unixMs(): number; after(ms: number, run: () => void): () => void }
  /** From 0 to 1. */
  readonly chance: () => number
  readonly isRevoked: IsRevoked
  /** A receiver took the newest version of a record. */
  readonly onHeard: (record: CareRecord) => void
  readonly observe: (report: EventReport) => void
}

/** A subscription as this process delivers it. */
type Delivery = {
  subscription: EventSubscription
  backOff: BackOff
  /** Set while it waits for a retry. */
  cancelWait?: (() => void) | undefined
}

export class EventDeliverer {
  readonly #deps: DelivererDeps
  readonly #byId = new Map<string, Delivery>()
  readonly #byPatient = new Map<string, Set<Delivery>>()
  readonly #runs = new FairRuns({
    runningMax: RUNNING_MAX,
    perOwnerMax: RUNNING_PER_SUB_MAX,
    run: (id) => this.#run(id),
  })
  readonly #closed = new AbortController()
  /** Of the holding of the lease under which it delivers; undefined while it does not. */
  #epoch: number | undefined
  /** Every version before it has been looked at. */
  #place = 0
  #looking: Promise<void> = Promise.resolve()
  #cancelLook: (() => void) | undefined
  #stopHearing: () => void = () => undefined
  #isHearing = false
  #isGrown = false

  constructor(deps: DelivererDeps) {
    this.#deps = deps
  }

  /** Takes over an earlier process's subscriptions, now or when it holds the lease. */
  async start(): Promise<void> {
    const { lease, store } = this.#deps
    this.#stopHearing = store.onGrown(() => this.#hear())
    let first: Promise<void> | undefined
    lease.onHeld(() => {
      first = this.look()
    })
    await first
  }

  /** A subscription was saved or removed: from now on its stored state applies. */
  async changed(id: string): Promise<void> {
    if (this.#isHeld()) await this.#reload(id)
  }

  /** Subscriptions that this process delivers. */
  count(): number {
    return this.#byId.size
  }

  /** Looks for work, now and again after a while. */
  look(): Promise<void> {
    this.#cancelLook?.()
    this.#looking = this.#looking
      .then(() => this.#look())
      .then(
        () => this.#lookIn(this.#deps.isShared ? SHARED_LOOK_MS : LOOK_MS),
        (error: unknown) => {
          this.#report(error)
          this.#lookIn(LOOK_AGAIN_MS)
        },
      )
    return this.#looking
  }

  #lookIn(ms: number): void {
    this.#cancelLook?.()
    if (!this.#closed.signal.aborted)
      this.#cancelLook = this.#deps.clock.after(ms, () => void this.look())
  }

  /** Aborts deliveries under way; they are repeated later. */
  async close(): Promise<void> {
    this.#stop()
    await this.#looking
    await this.#runs.stop()
  }

  #stop(): void {
    this.#closed.abort()
    this.#stopHearing()
    this.#cancelLook?.()
    for (const delivery of this.#byId.values()) this.#drop(delivery)
  }

  #isHeld(): boolean {
    return this.#epoch !== undefined && this.#deps.lease.epoch() === this.#epoch
  }

  /** Begins anew if the lease is held anew, and delivers nothing more if it is not; returns whether it is held. */
  #keepLease(): boolean {
    if (this.#isHeld()) return true
    for (const delivery of this.#byId.values()) this.#drop(delivery)
    this.#epoch = this.#deps.lease.epoch()
    this.#place = placeBehind(this.#deps.store.journals)
    return this.#epoch !== undefined
  }

  /** Something was written, here or by another process. */
  #hear(): void {
    this.#isGrown = true
    if (!this.#isHearing) void this.#readGrown().catch((error: unknown) => this.#report(error))
  }

  async #readGrown(): Promise<void> {
    this.#isHearing = true
    try {
      while (this.#isGrown) {
        this.#isGrown = false
        // A subscription that comes reads what is behind its own place.
        if (this.#byId.size === 0) this.#place = placeBehind(this.#deps.store.journals)
        else await this.#wakeBehind()
      }
    } finally {
      this.#isHearing = false
    }
  }

  /** Wakes the subscriptions to what was written since the last time. */
  async #wakeBehind(): Promise<void> {
    const query = { reach: EVERYTHING, from: this.#place, limit: ROWS_LOOKED_MAX }
    const rows = await this.#deps.store.behind(query)
    const last = rows.at(-1)
    if (last !== undefined) this.#place = Math.max(this.#place, last.place + 1)
    if (rows.length === ROWS_LOOKED_MAX) this.#isGrown = true
    for (const patient of new Set(rows.map((row) => row.patient)))
      for (const delivery of this.#byPatient.get(patient) ?? []) this.#poke(delivery)
  }

  #report(error: unknown): void {
    if (!this.#closed.signal.aborted) this.#deps.observe({ kind: 'problem', error })
  }

  async #look(): Promise<void> {
    const { clock, subscriptions } = this.#deps
    if (this.#closed.signal.aborted || !this.#keepLease()) return
    await subscriptions.removeExpired(clock.unixMs())
    const versions = await subscriptions.versions()
    for (const [id, { subscription }] of this.#byId)
      if (versions.get(id) !== subscription.refresh) await this.#reload(id)
    for (const id of versions.keys()) if (!this.#byId.has(id)) await this.#reload(id)
    await this.#wakeBehind()
  }

  async #reload(id: string): Promise<void> {
    const found = await this.#deps.subscriptions.find(id)
    const known = this.#byId.get(id)
    if (found === undefined) {
      if (known !== undefined) this.#drop(known)
      return
    }
    const { chance, clock } = this.#deps
    const backOff = createBackOff({ ...RETRY, clock, chance })
    const delivery: Delivery = Object.assign(known ?? {}, { subscription: found, backOff })
    delivery.cancelWait?.()
    delivery.cancelWait = undefined
    this.#byId.set(id, delivery)
    const { patient } = found
    this.#byPatient.set(patient, (this.#byPatient.get(patient) ?? new Set()).add(delivery))
    this.#poke(delivery)
  }

  #drop(delivery: Delivery): void {
    const { id, patient } = delivery.subscription
    delivery.cancelWait?.()
    this.#byId.delete(id)
    const others = this.#byPatient.get(patient)
    others?.delete(delivery)
    if (others?.size === 0) this.#byPatient.delete(patient)
  }

  #poke({ cancelWait, subscription: { id, isActive, sub } }: Delivery): void {
    if (cancelWait === undefined && isActive) this.#runs.add(id, sub)
  }

  /** Delivers the next rows, a few at a time so that other subscriptions get their share. */
  async #run(id: string): Promise<void> {
    const delivery = this.#byId.get(id)
    if (delivery === undefined || delivery.cancelWait !== undefined) return
    const { subscription } = delivery
    const { cursor, domain, patient, scopes } = subscription
    const reach = reachWithin(readReach(scopes), patient)
    if (reach.length === 0) return
    try {
      const to = placeBehind(this.#deps.store.journals)
      const query = { reach, domain, from: cursor, to, limit: ROWS_READ }
      const rows = await this.#deps.store.behind(query)
      if (!(await this.#passGone(delivery, rows[0]?.place ?? to))) return
      for (const row of rows) {
        // A refresh set where it continues.
        if (delivery.subscription.refresh !== subscription.refresh) return
        if (!(await this.#deliver(delivery, row))) return
      }
      if (rows.length === ROWS_READ) this.#poke(delivery)
    } catch (error) {
      this.#report(error)
      this.#waitAfterFailure(delivery)
    }
  }

  /**
   * A delivery that failed waits at the cursor. If its version was erased or freed meanwhile, it waits no more, and counts for
   * nothing when another fails; false if the run ends there.
   */
  async #passGone(delivery: Delivery, next: number): Promise<boolean> {
    const { cursor, failedSinceMs } = delivery.subscription
    if (failedSinceMs === undefined || next === cursor) return true
    delivery.backOff.succeeded()
    return this.#note(delivery, { ...delivery.subscription, ...HEALTHY, cursor: next })
  }

  /** Delivers one write; false if the run ends there. */
  async #deliver(delivery: Delivery, row: PlacedVersion): Promise<boolean> {
    const { clock, cursorText, deliver, observe, onHeard, store } = this.#deps
    const { subscription } = delivery
    const behind = row.place + 1
    const cursor = cursorText(subscription.sub, behind)
    const found = await readEvent(store, { row, cursor })
    // Judged last: nothing happens between this and the sending.
    const verdict = delivery.subscription === subscription ? this.#judge(delivery, row) : 'stop'
    if (verdict === 'stop') return false
    if (verdict === 'revoked' || verdict === 'expired') return this.#end(delivery, verdict)
    const done = { ...subscription, cursor: behind }
    if (found === undefined || verdict === 'skip') {
      // Erased, or outside the grant: there is nothing left to deliver, even if earlier attempts failed.
      delivery.backOff.succeeded()
      return this.#note(delivery, { ...done, ...HEALTHY })
    }
    const outcome = await deliver(subscription, found.event, this.#closed.signal)
    // Cut at the end of the process, or refreshed meanwhile: it is delivered again.
    if (this.#closed.signal.aborted && outcome.kind === 'failed') return false
    if (delivery.subscription.refresh !== subscription.refresh) return false
    if (row.audience === 'user') observe({ kind: 'delivery', outcome: outcome.kind })
    if (outcome.kind === 'failed') return this.#fail(delivery, row, outcome.reason)
    delivery.backOff.succeeded()
    if (outcome.kind === 'refused') return this.#note(delivery, done)
    if (found.isLatest) onHeard(found.record)
    return this.#note(delivery, { ...done, ...HEALTHY, lastDeliveryAtMs: clock.unixMs() })
  }

  #judge(delivery: Delivery, row: PlacedVersion): 'send' | 'skip' | 'stop' | 'revoked' | 'expired' {
    const { clock, isRevoked } = this.#deps
    const { subscription } = delivery
    const isKept = this.#byId.get(subscription.id) === delivery && this.#isHeld()
    if (!isKept || this.#closed.signal.aborted) return 'stop'
    if (subscription.expiresAtMs <= clock.unixMs()) return 'expired'
    // When the token was issued is not kept: a revocation of its principal names it by its jti, if it has one.
    const issuedAtSeconds = subscription.jti === undefined ? 0 : Number.POSITIVE_INFINITY
    if (isRevoked({ ...subscription, issuedAtSeconds })) return 'revoked'
    return mayRead(subscription.scopes, row) ? 'send' : 'skip'
  }

  async #end(delivery: Delivery, reason: 'revoked' | 'expired'): Promise<false> {
    this.#drop(delivery)
    await this.#deps.subscriptions.remove(delivery.subscription)
    this.#deps.observe({ kind: 'ended', reason })
    return false
  }

  /** Stores how far a subscription got; false if it has changed meanwhile, or another process delivers. */
  async #note(delivery: Delivery, after: EventSubscription): Promise<boolean> {
    // Whoever slept is refused by the store, too.
    const epoch = this.#isHeld() ? this.#epoch : undefined
    const isNoted = epoch !== undefined && (await this.#deps.subscriptions.note(after, epoch))
    if (isNoted && delivery.subscription.refresh === after.refresh) {
      delivery.subscription = after
      return true
    }
    if (!isNoted && this.#byId.get(after.id) === delivery && this.#keepLease())
      await this.#reload(after.id)
    return false
  }

  async #fail(delivery: Delivery, row: PlacedVersion, lastError: EventFailure): Promise<false> {
    const { subscription } = delivery
    const nowMs = this.#deps.clock.unixMs()
    const failedSinceMs = subscription.failedSinceMs ?? nowMs
    const isActive = nowMs - failedSinceMs < SUSPENDED_AFTER_MS
    // First, so that a refresh in the meantime can cancel the wait.
    if (isActive) this.#waitAfterFailure(delivery)
    const failed = { isActive, lastError, failedSinceMs, cursor: row.place }
    const isNoted = await this.#note(delivery, { ...subscription, ...failed })
    if (isNoted && !isActive && row.audience === 'user')
      this.#deps.observe({ kind: 'ended', reason: 'suspended' })
    return false
  }

  #waitAfterFailure(delivery: Delivery): void {
    const { clock } = this.#deps
    if (this.#closed.signal.aborted || this.#byId.get(delivery.subscription.id) !== delivery) return
    delivery.cancelWait?.()
    delivery.cancelWait = clock.after(delivery.backOff.failed(), () => {
      delivery.cancelWait = undefined
      this.#poke(delivery)
    })
  }
}
