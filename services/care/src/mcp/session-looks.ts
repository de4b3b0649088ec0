/**
 * Looks at what other processes changed: one at a time, shared by all who ask before it begins. What may be told, and to whom,
 * is as of the last one.
 */
import { countVersions } from '../domain/position.ts'
import type { SessionLook, SessionStore } from '../domain/session-store.ts'
import type { Sizes } from './journal-pages.ts'

type SessionLooksDeps = {
  readonly store: Pick<SessionStore, 'look' | 'isShared'>
  /** Sizes of the journals as far as this process knows. */
  readonly sizes: () => Sizes
  /** Has this process know that much of the journals. */
  readonly learnSizes: (sizes: Sizes) => Promise<void>
  readonly adopt: (look: SessionLook) => Promise<void>
}

/** What was read longer ago may be another process's to tell, milliseconds. */
const FRESH_MS = 1_000

export class SessionLooks {
  readonly #deps: SessionLooksDeps
  #current: Promise<void> | undefined
  #next: Promise<void> | undefined
  #beganAtMs = Number.NEGATIVE_INFINITY
  /** Every change that was answered before the last version of these was written is adopted. */
  sizes: Sizes
  /** Whether other processes serve the same sessions. */
  hasOthers = false
  /** Whether anybody listens at those. */
  hasListensElsewhere = false

  constructor(deps: SessionLooksDeps) {
    this.#deps = deps
    this.sizes = deps.sizes()
  }

  /** Whether the last look is young enough to tell by: a process that slept must not speak for streams that others have now. */
  get isFresh(): boolean {
    return !this.#deps.store.isShared || performance.now() - this.#beganAtMs <= FRESH_MS
  }

  /** Looks, after what is under way, unless the only process has told of all versions. Rejects with `RecordStoreUnavailable`. */
  async again(): Promise<void> {
    const isBehind = countVersions(this.#deps.sizes()) > countVersions(this.sizes)
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
  async reach(place = countVersions(this.#deps.sizes()) - 1): Promise<void> {
    while (countVersions(this.sizes) <= place || !this.isFresh)
      await (this.#current ?? this.#begin())
  }

  #begin(): Promise<void> {
    const looking = this.#look().finally(() => {
      this.#current = undefined
    })
    this.#current = looking
    return looking
  }

  async #look(): Promise<void> {
    const { adopt, learnSizes, store } = this.#deps
    const beganAtMs = performance.now()
    const known = this.#deps.sizes()
    const look = await store.look()
    this.hasOthers = look.hasOthers
    this.hasListensElsewhere = look.hasListensElsewhere
    await adopt(look)
    if (look.sizes !== undefined) await learnSizes(look.sizes)
    this.sizes = look.sizes ?? known
    this.#beganAtMs = beganAtMs
  }
}
