/**
 * The open sessions: opened within limits, found again, refreshed by each request's token, ended by their owner or by
 * time. Everything that ends a session goes through one method, so that nothing of it is left behind (C5).
 */
import type { RequestId } from '@modelcontextprotocol/sdk/types.js'
import type { Clock } from '@tallystick/service-kit'
import { countVersions, isWithinSizes, type Position } from '../domain/position.ts'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { mayRead, type Principal } from '../domain/scopes.ts'
import type {
  RestoredSessions,
  SessionChange,
  SessionStore,
  StoredSession,
} from '../domain/session-store.ts'
import type { LogLevel } from '../wire/mcp.ts'
import { parseRecordUri } from '../wire/record-uri.ts'
import type { EventStream } from './event-streams.ts'
import type { McpLimits } from './limits.ts'
import { SessionTurns } from './session-turns.ts'

/**
 * One MCP session: who it belongs to, what it listens to, and how far it was told. It is a class since tens of thousands live
 * at once: methods are shared, and unused parts are not allocated.
 */
export class McpSession {
  readonly number: number
  readonly sub: string
  /** What clients send in `mcp-session-id`. */
  readonly id: string
  readonly createdAtMs: number
  /** From the token presented last. */
  scopes: readonly string[]
  /** Unset until the client sets it; until then everything is sent. */
  logLevel: LogLevel | undefined
  lastSeenMs: number
  /** Since when it has had no stream; while it has one, of no meaning. */
  silentSinceMs: number
  /** Behind the newest frame that any stream of the session has carried. */
  carried: Position
  /** The newest of those that its row has, or will have soon. */
  keptCarried: Position
  /** The number of its newest stream, among those of all processes. */
  streamEpoch = 0
  stream: EventStream | undefined
  /** GETs so far: the newest wins, also over one that is still being judged. */
  opening = 0
  /**
   * Chain URIs, and numbered ones, which never fire, each with the place from which on the session is told; absent while
   * empty.
   */
  subscriptions: Map<string, number> | undefined
  /** Requests in flight by the client's id, with their numbers at the server. Absent while there are none. */
  waiting: Map<RequestId, number> | undefined
  isEnded = false

  constructor(stored: StoredSession, lastSeenMs: number) {
    this.number = stored.number
    this.sub = stored.sub
    this.id = stored.id
    this.createdAtMs = stored.createdAtMs
    this.scopes = stored.scopes
    this.logLevel = stored.logLevel
    this.lastSeenMs = lastSeenMs
    this.silentSinceMs = lastSeenMs
    this.carried = stored.carried
    this.keptCarried = stored.carried
  }

  toStored(): StoredSession {
    const { number, id, sub, scopes, logLevel, createdAtMs, carried } = this
    return { number, id, sub, scopes, logLevel, createdAtMs, carried }
  }
}

const NOBODY: ReadonlySet<McpSession> = new Set()

/** Who subscribes to what, by session and by URI. */
class SubscriptionIndex {
  readonly #byUri = new Map<string, Set<McpSession>>()
  count = 0

  /** False if the session is already subscribed. */
  add(session: McpSession, uri: string, since: number): boolean {
    session.subscriptions ??= new Map()
    if (session.subscriptions.has(uri)) return false
    session.subscriptions.set(uri, since)
    this.count += 1
    this.#byUri.set(uri, (this.#byUri.get(uri) ?? new Set()).add(session))
    return true
  }

  /** False if the session was not subscribed. */
  remove(session: McpSession, uri: string): boolean {
    if (session.subscriptions?.delete(uri) !== true) return false
    this.count -= 1
    if (session.subscriptions.size === 0) session.subscriptions = undefined
    const subscribed = this.#byUri.get(uri)
    subscribed?.delete(session)
    if (subscribed?.size === 0) this.#byUri.delete(uri)
    return true
  }

  of(uri: string): ReadonlySet<McpSession> {
    return this.#byUri.get(uri) ?? NOBODY
  }

  /** Sessions that followed a URI when the version of a place was written. */
  countBefore(uri: string, place: number): number {
    let count = 0
    for (const { subscriptions } of this.of(uri))
      if ((subscriptions?.get(uri) ?? Number.POSITIVE_INFINITY) <= place) count += 1
    return count
  }
}

export type SessionEnd = 'deleted' | 'idle' | 'too-old'

type SessionRegistryDeps = {
  readonly clock: Clock
  readonly limits: McpLimits
  readonly store: Pick<SessionStore, 'commit' | 'save' | 'takeStream'>
  /** Sizes of the journals: where a session or a subscription begins. */
  readonly sizes: () => Pick<Position, 'user' | 'assistant'>
  readonly randomBytes: (size: number) => Uint8Array
  readonly onEnd: (session: McpSession, reason: SessionEnd) => void
}

/** 192 bits, so guessing one is out of the question, although the id alone opens nothing. */
const SESSION_ID_BYTES = 24
/** A session's number, which its event ids hold. */
const NUMBER_BYTES = 4
/** How often the registry looks for expired sessions; their limits are minutes and hours. */
const SWEEP_MS = 30_000

export class SessionRegistry {
  readonly subscriptions = new SubscriptionIndex()
  readonly #deps: SessionRegistryDeps
  readonly #byId = new Map<string, McpSession>()
  readonly #numbers = new Set<number>()
  readonly #countBySub = new Map<string, number>()
  readonly #turns = new SessionTurns()
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

  /**
   * Takes over the sessions that an earlier process left. They count as idle from now on, since their clients could not
   * reach it.
   */
  restore({ sessions }: Pick<RestoredSessions, 'sessions'>): void {
    const sizes = this.#deps.sizes()
    for (const stored of sessions) {
      const session = new McpSession(stored, this.#deps.clock.unixMs())
      session.streamEpoch = stored.streamEpoch
      // The records were put back from a backup: what is written from now on is told.
      if (!isWithinSizes(session.carried, sizes)) session.carried = { ...sizes, frames: 0 }
      this.#add(session)
      for (const [uri, since] of stored.subscriptions)
        this.subscriptions.add(session, uri, Math.min(since, countVersions(sizes)))
    }
  }

  /**
   * Opens a session for a principal; undefined if that would exceed a limit (C5). Its row is there when it resolves, as is that
   * of every change below; each rejects with `RecordStoreUnavailable`, and then nothing has changed.
   */
  async open({ sub, scopes }: Principal): Promise<McpSession | undefined> {
    const { limits, clock, randomBytes } = this.#deps
    if (this.#byId.size >= limits.sessionsMax) return undefined
    if ((this.#countBySub.get(sub) ?? 0) >= limits.sessionsPerSubMax) return undefined
    const id = Buffer.from(randomBytes(SESSION_ID_BYTES)).toString('base64url')
    const createdAtMs = clock.unixMs()
    const carried = { ...this.#deps.sizes(), frames: 0 }
    const session = new McpSession(
      { number: this.#drawNumber(), id, sub, scopes, createdAtMs, carried },
      createdAtMs,
    )
    this.#add(session)
    try {
      await this.#deps.store.commit([{ kind: 'session', session: session.toStored() }])
    } catch (error) {
      this.#remove(session)
      throw error
    }
    return session
  }

  /** The session with that id, unless it has expired. */
  find(id: string): McpSession | undefined {
    const session = this.#byId.get(id)
    if (session === undefined) return undefined
    const reason = this.#overBy(session)
    if (reason === undefined) return session
    this.#expire(session, reason)
    return undefined
  }

  /**
   * Adopts the scopes of the presented token; subscriptions that they no longer cover are lost (C4). They hold at once, stored or
   * not: fewer rights do not wait for a disk.
   */
  async refresh(session: McpSession, { scopes }: Principal): Promise<void> {
    this.touch(session)
    const before = session.scopes
    if (before === scopes) return
    session.scopes = scopes
    if (before.length === scopes.length && scopes.every((scope) => before.includes(scope))) return
    const lost = [...(session.subscriptions?.keys() ?? [])].filter((uri) => {
      const slot = parseRecordUri(uri)?.slot
      return slot !== undefined && !mayRead(scopes, slot)
    })
    for (const uri of lost) this.subscriptions.remove(session, uri)
    const { number } = session
    const ends = lost.map((uri) => ({ kind: 'unsubscribed', session: number, uri }) as const)
    await this.#deps.store.commit([...ends, this.#changed(session)])
  }

  /** Records that a session is in use. */
  touch(session: McpSession): void {
    session.lastSeenMs = this.#deps.clock.unixMs()
  }

  /** A session has just stopped holding a stream. */
  fallSilent(session: McpSession): void {
    this.touch(session)
    session.silentSinceMs = session.lastSeenMs
    this.keepCarried(session)
  }

  /** Stores how far a session was told, if that has changed; nobody waits for it. */
  keepCarried(session: McpSession): void {
    const { carried, isEnded, number, streamEpoch: epoch } = session
    if (isEnded || carried === session.keptCarried) return
    session.keptCarried = carried
    this.#deps.store.save([{ kind: 'carried', session: number, epoch, carried }])
  }

  /**
   * A stream of the session begins, after all that any process began before; false if the session is gone. One that cannot be
   * noted is opened all the same: some clients ask for their stream once, and would be deaf.
   */
  async takeStream(session: McpSession): Promise<boolean> {
    const epoch = await this.#deps.store.takeStream(session.number).catch((error: unknown) => {
      if (!(error instanceof RecordStoreUnavailable)) throw error
      return session.streamEpoch
    })
    if (epoch === undefined || session.isEnded) return false
    session.streamEpoch = Math.max(session.streamEpoch, epoch)
    return true
  }

  /** Sessions that follow something, a URI or anything, and have had no stream for too long (C36). */
  silent(uri?: string): readonly McpSession[] {
    const { clock, limits } = this.#deps
    const sinceMs = clock.unixMs() - limits.silentMs
    const following = uri === undefined ? this.all() : this.subscriptions.of(uri)
    return [...following].filter(
      ({ silentSinceMs, stream, subscriptions }) =>
        subscriptions !== undefined && stream === undefined && silentSinceMs < sinceMs,
    )
  }

  /**
   * Subscribes a session, which is told of what is written from now on, even before the row is there; false if it has too many
   * subscriptions.
   */
  subscribe(session: McpSession, uri: string): Promise<boolean> {
    return this.#turns.take(session, uri, async () => {
      // An ended session gets no more answers, and nothing would remove its entry.
      if (session.isEnded) return true
      const known = session.subscriptions?.get(uri)
      if (
        known === undefined &&
        (session.subscriptions?.size ?? 0) >= this.#deps.limits.subscriptionsPerSessionMax
      )
        return false
      const since = known ?? countVersions(this.#deps.sizes())
      this.subscriptions.add(session, uri, since)
      try {
        // A known one, too: an unsubscribe that was refused may have taken its row.
        await this.#deps.store.commit([{ kind: 'subscribed', session: session.number, uri, since }])
      } catch (error) {
        if (known === undefined) this.subscriptions.remove(session, uri)
        throw error
      }
      return true
    })
  }

  unsubscribe(session: McpSession, uri: string): Promise<void> {
    return this.#turns.take(session, uri, async () => {
      const since = session.subscriptions?.get(uri)
      if (since === undefined) return
      this.subscriptions.remove(session, uri)
      try {
        await this.#deps.store.commit([{ kind: 'unsubscribed', session: session.number, uri }])
      } catch (error) {
        if (!session.isEnded) this.subscriptions.add(session, uri, since)
        throw error
      }
    })
  }

  setLogLevel(session: McpSession, level: LogLevel): Promise<void> {
    return this.#turns.take(session, 'level', async () => {
      const before = session.logLevel
      session.logLevel = level
      try {
        await this.#deps.store.commit([this.#changed(session)])
      } catch (error) {
        session.logLevel = before
        throw error
      }
    })
  }

  #changed({ logLevel, number, scopes }: McpSession): SessionChange {
    return { kind: 'changed', session: number, scopes, logLevel }
  }

  /** Its client ends it. */
  async delete(session: McpSession): Promise<void> {
    await this.#deps.store.commit([{ kind: 'ended', session: session.number }])
    this.#end(session, 'deleted')
  }

  #expire(session: McpSession, reason: SessionEnd): void {
    this.#deps.store.save([{ kind: 'ended', session: session.number }])
    this.#end(session, reason)
  }

  #end(session: McpSession, reason: SessionEnd): void {
    if (session.isEnded) return
    this.#remove(session)
    this.#deps.onEnd(session, reason)
  }

  #remove(session: McpSession): void {
    session.isEnded = true
    this.#byId.delete(session.id)
    this.#numbers.delete(session.number)
    const left = (this.#countBySub.get(session.sub) ?? 1) - 1
    if (left === 0) this.#countBySub.delete(session.sub)
    else this.#countBySub.set(session.sub, left)
    for (const uri of session.subscriptions?.keys() ?? []) this.subscriptions.remove(session, uri)
    session.stream?.end('session-ended')
    if (this.#byId.size === 0) this.stop()
  }

  /** Stops looking for expired sessions. */
  stop(): void {
    this.#cancelSweep?.()
    this.#cancelSweep = undefined
  }

  #add(session: McpSession): void {
    this.#byId.set(session.id, session)
    this.#countBySub.set(session.sub, (this.#countBySub.get(session.sub) ?? 0) + 1)
    this.#numbers.add(session.number)
    this.#armSweep()
  }

  /** At random, so that an event id of a session that is gone is none of a new one. */
  #drawNumber(): number {
    for (;;) {
      const number = Buffer.from(this.#deps.randomBytes(NUMBER_BYTES)).readUInt32BE()
      if (!this.#numbers.has(number)) return number
    }
  }

  #armSweep(): void {
    this.#cancelSweep ??= this.#deps.clock.after(SWEEP_MS, () => {
      this.#cancelSweep = undefined
      for (const session of this.#byId.values()) this.find(session.id)
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
