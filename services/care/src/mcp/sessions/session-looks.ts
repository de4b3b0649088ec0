/**
 * Looks at what other processes changed: one at a time, shared by all who ask before it begins. What may be told, and to whom,
 * is as of the last one.
 */
import { countVersions, type Position } from '../../domain/position.ts'
import type { RecordStore } from '../../domain/record-store.ts'
import type { CancelledRequest, SessionLook, SessionStore } from '../../domain/session-store.ts'
import type { Sizes } from './journal-pages.ts'

type SessionLooksDeps = {
  readonly store: Pick<SessionStore, 'cancel' | 'look' | 'isShared'>
  /** Their journals, as far as this process knows. */
  readonly records: Pick<RecordStore, 'catchUp' | 'journals'>
  readonly adopt: (look: SessionLook) => Promise<void>
  /** A request that may run here was cancelled at another process. */
  readonly onCancelled: (cancelled: CancelledRequest) => void
  readonly onProblem: (error: unknown) => void
}

/** What was read longer ago may be another process's to tell, milliseconds. */
const FRESH_MS = 1_000

/**
 * Cancellations on their way to other processes. Each waits for a transaction of a few milliseconds, in the line in which listens
 * begin. One beyond them is dropped: its request ends by itself, as after one that comes too late.
 */
const CANCELLING_MAX = 64

export class SessionLooks {
  readonly #deps: SessionLooksDeps
  #current: Promise<void> | undefined
  #next: Promise<void> | undefined
  #beganAtMs = Number.NEGATIVE_INFINITY
  #cancelling = 0
  /** Every change that was answered before the last version in front of it was written is adopted. */
  reached: Position
  /** Whether other processes serve the same sessions. */
  hasOthers = false
  /** Whether anybody listens at those. */
  hasListensElsewhere = false

  constructor(deps: SessionLooksDeps) {
    this.#deps = deps
    this.reached = { ...this.sizes, frames: 0 }
  }

  get sizes(): Sizes {
    const { assistant, user } = this.#deps.records.journals
    return { user: user.size, assistant: assistant.size }
  }

  /** Whether the last look is young enough to tell by: a process that slept must not speak for streams that others have now. */
  get isFresh(): boolean {
    return !this.#deps.store.isShared || performance.now() - this.#beganAtMs <= FRESH_MS
  }

  /** Looks, after what is under way, unless the only process has told of all versions. Rejects with `RecordStoreUnavailable`. */
  async again(): Promise<void> {
    const isBehind = countVersions(this.sizes) > countVersions(this.reached)
    if (isBehind || this.#deps.store.isShared) await this.#lookAgain()
  }

  #lookAgain(): Promise<void> {
    if (this.#current === undefined) return this.#begin()
    this.#next ??= this.#current
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.#current ?? this.#begin()
      })
    return this.#next
  }

  /** Looks until the version of a place is behind a look, or all that this process knows of. */
  async reach(place = countVersions(this.sizes) - 1): Promise<void> {
    while (countVersions(this.reached) <= place || !this.isFresh)
      await (this.#current ?? this.#begin())
  }

  /** Has the process end a request that runs it. */
  cancelElsewhere(cancelled: CancelledRequest): void {
    const { onProblem, store } = this.#deps
    if (!this.hasOthers || this.#cancelling >= CANCELLING_MAX) return
    this.#cancelling += 1
    const isOver = (): void => void (this.#cancelling -= 1)
    store.cancel(cancelled).catch(onProblem).finally(isOver)
  }

  #begin(): Promise<void> {
    const looking = this.#look().finally(() => {
      this.#current = undefined
    })
    this.#current = looking
    return looking
  }

  async #look(): Promise<void> {
    const { adopt, records, store } = this.#deps
    const beganAtMs = performance.now()
    const known = this.sizes
    const look = await store.look()
    this.hasOthers = look.hasOthers
    this.hasListensElsewhere = look.hasListensElsewhere
    for (const cancelled of look.cancelled) this.#deps.onCancelled(cancelled)
    await adopt(look)
    const { assistant, user } = look.sizes ?? known
    if (user + assistant > countVersions(this.sizes)) await records.catchUp()
    // Shared by all sessions that begin there.
    if (countVersions(this.reached) !== user + assistant)
      this.reached = { user, assistant, frames: 0 }
    this.#beganAtMs = beganAtMs
  }
}
