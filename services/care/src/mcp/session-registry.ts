/**
 * The open sessions: opened within caps, found again, refreshed by the token of each request, ended by their owner or by
 * time. All that ends a session goes through one method, so that nothing of it is left behind (C5).
 */
import type { Clock } from '@tallystick/service-kit'
import { mayRead } from '../domain/care-record.ts'
import type {
  LogLevel,
  RestoredSessions,
  SessionChange,
  SessionStore,
} from '../domain/session-store.ts'
import { parseRecordUri } from '../wire/record-uri.ts'
import type { FrameShelf } from './frame-shelf.ts'
import type { McpLimits } from './limits.ts'
import { McpSession } from './session.ts'
import { createSubscriptionIndex } from './subscription-index.ts'

/** Why a session is over. */
export type SessionEnd = 'deleted' | 'idle' | 'too-old'

export type OpenOutcome =
  | { readonly kind: 'opened'; readonly session: McpSession }
  | { readonly kind: 'too-many' }

export type SubscribeOutcome = { readonly kind: 'subscribed' } | { readonly kind: 'too-many' }

/** Whose token a request carries. */
export type Principal = { readonly sub: string; readonly scopes: readonly string[] }

export type SessionRegistryDeps = {
  readonly clock: Clock
  readonly limits: McpLimits
  readonly store: SessionStore
  readonly shelf: FrameShelf
  readonly randomBytes: (size: number) => Uint8Array
  readonly onEnd: (session: McpSession, reason: SessionEnd) => void
}

/** 192 bits: guessing one is out of the question, although the id alone opens nothing. */
const SESSION_ID_BYTES = 24
/** How often ended sessions are looked for; their time limits are minutes and hours. */
const SWEEP_MS = 30_000

export class SessionRegistry {
  readonly subscriptions = createSubscriptionIndex()
  readonly #deps: SessionRegistryDeps
  readonly #byId = new Map<string, McpSession>()
  readonly #countBySub = new Map<string, number>()
  #lastNumber = 0
  #cancelSweep: (() => void) | undefined

  constructor(deps: SessionRegistryDeps) {
    this.#deps = deps
  }

  get count(): number {
    return this.#byId.size
  }

  all(): Iterable<McpSession> {
    return this.#byId.values()
  }

  /** Takes up the sessions that an earlier process left. They are idle from now on: their clients could not come. */
  restore({ sessions, frames }: RestoredSessions): void {
    const byNumber = new Map<number, McpSession>()
    for (const stored of sessions) {
      const session = new McpSession(stored, this.#deps.clock.unixMs())
      this.#add(session)
      byNumber.set(session.number, session)
      for (const uri of stored.subscriptions) this.subscriptions.add(session, uri)
    }
    // A number that a kept frame still names must not be given to a new session.
    for (const { recipients } of frames)
      for (const { session } of recipients) this.#lastNumber = Math.max(this.#lastNumber, session)
    this.#deps.shelf.restore(frames, byNumber)
  }

  /** Opens a session for a principal, within the caps (C5). */
  open({ sub, scopes }: Principal): OpenOutcome {
    const { limits, clock, randomBytes } = this.#deps
    if (this.#byId.size >= limits.sessionsMax) return { kind: 'too-many' }
    if ((this.#countBySub.get(sub) ?? 0) >= limits.sessionsPerSubMax) return { kind: 'too-many' }
    const id = Buffer.from(randomBytes(SESSION_ID_BYTES)).toString('base64url')
    const number = this.#lastNumber + 1
    const createdAtMs = clock.unixMs()
    const session = new McpSession(
      { number, id, sub, scopes, createdAtMs, lastSequence: 0, carriedSequence: 0 },
      createdAtMs,
    )
    this.#add(session)
    this.keep(session)
    return { kind: 'opened', session }
  }

  /** The session with an id, unless its time is over. */
  find(id: string): McpSession | undefined {
    const session = this.#byId.get(id)
    if (session === undefined) return undefined
    const reason = this.#overBy(session)
    if (reason === undefined) return session
    this.end(session, reason)
    return undefined
  }

  /** Takes over the scopes of the presented token; subscriptions that they no longer cover are lost (C4). */
  refresh(session: McpSession, { scopes }: Principal): void {
    this.touch(session)
    const before = session.scopes
    if (before === scopes) return
    session.scopes = scopes
    if (before.length === scopes.length && scopes.every((scope) => before.includes(scope))) return
    for (const uri of session.subscriptions ?? []) {
      const audience = parseRecordUri(uri)?.slot.audience
      if (audience !== undefined && !mayRead(scopes, audience)) this.unsubscribe(session, uri)
    }
    this.keep(session)
  }

  /** Notes that a session is in use, or has just stopped holding a stream. */
  touch(session: McpSession): void {
    session.lastSeenMs = this.#deps.clock.unixMs()
  }

  /** Subscribes a session; `latestVersion` is where the chain stands, so that a restart knows what its subscribers were told. */
  subscribe(
    session: McpSession,
    { uri, latestVersion }: { readonly uri: string; readonly latestVersion?: number },
  ): SubscribeOutcome {
    // Its answer goes nowhere any more, and an index entry would never be removed.
    if (session.isEnded) return { kind: 'subscribed' }
    if (session.subscriptions?.has(uri) === true) return { kind: 'subscribed' }
    if ((session.subscriptions?.size ?? 0) >= this.#deps.limits.subscriptionsPerSessionMax)
      return { kind: 'too-many' }
    this.subscriptions.add(session, uri)
    const changes: SessionChange[] = [{ kind: 'subscribed', session: session.number, uri }]
    if (latestVersion !== undefined)
      changes.push({ kind: 'published', uri, version: latestVersion })
    this.#deps.store.save(changes)
    return { kind: 'subscribed' }
  }

  unsubscribe(session: McpSession, uri: string): void {
    if (this.subscriptions.remove(session, uri))
      this.#deps.store.save([{ kind: 'unsubscribed', session: session.number, uri }])
  }

  setLogLevel(session: McpSession, level: LogLevel): void {
    session.logLevel = level
    this.keep(session)
  }

  /** Has the session kept as it is now. */
  keep(session: McpSession): void {
    if (!session.isEnded) this.#deps.store.save([{ kind: 'session', session: session.toStored() }])
  }

  /** Ends a session and lets go of all that was its. */
  end(session: McpSession, reason: SessionEnd): void {
    if (session.isEnded) return
    session.isEnded = true
    this.#byId.delete(session.id)
    const left = (this.#countBySub.get(session.sub) ?? 1) - 1
    if (left === 0) this.#countBySub.delete(session.sub)
    else this.#countBySub.set(session.sub, left)
    for (const uri of session.subscriptions ?? []) this.subscriptions.remove(session, uri)
    session.stream?.end('session-ended')
    this.#deps.shelf.release(session)
    this.#deps.store.save([{ kind: 'ended', session: session.number }])
    if (this.#byId.size === 0) this.stop()
    this.#deps.onEnd(session, reason)
  }

  /** Stops looking for sessions whose time is over. */
  stop(): void {
    this.#cancelSweep?.()
    this.#cancelSweep = undefined
  }

  #add(session: McpSession): void {
    this.#byId.set(session.id, session)
    this.#countBySub.set(session.sub, (this.#countBySub.get(session.sub) ?? 0) + 1)
    this.#lastNumber = Math.max(this.#lastNumber, session.number)
    this.#armSweep()
  }

  #armSweep(): void {
    this.#cancelSweep ??= this.#deps.clock.after(SWEEP_MS, () => {
      this.#cancelSweep = undefined
      for (const session of this.#byId.values()) {
        const reason = this.#overBy(session)
        if (reason !== undefined) this.end(session, reason)
      }
      if (this.#byId.size > 0) this.#armSweep()
    })
  }

  #overBy(session: McpSession): SessionEnd | undefined {
    const { limits, clock } = this.#deps
    const nowMs = clock.unixMs()
    if (nowMs - session.createdAtMs >= limits.absoluteMs) return 'too-old'
    const isBusy = session.stream !== undefined || session.waiting !== undefined
    return !isBusy && nowMs - session.lastSeenMs >= limits.idleMs ? 'idle' : undefined
  }
}
