/**
 * The open sessions of all processes, as a mirror of their rows: opened within limits, found again, refreshed by each request's
 * token, ended by their owner or by time (C5, C25). Each change is committed first, then adopted here; what other processes
 * changed is adopted at the next look, and every request begins behind one. Everything that ends a session goes through one
 * method, so that nothing of it is left behind.
 */
import type { Clock } from '@tallystick/service-kit'
import { isBefore } from '../../domain/position.ts'
import { placeBehind, type RecordStore, RecordStoreUnavailable } from '../../domain/record-store.ts'
import { mayRead, type Principal } from '../../domain/scopes.ts'
import {
  type CancelledRequest,
  type ChangeOutcome,
  type RestoredSessions,
  type SessionChange,
  type SessionLook,
  type SessionStore,
  type StoredSession,
} from '../../domain/session-store.ts'
import type { LogLevel } from '../../wire/mcp.ts'
import { parseRecordUri } from '../../wire/record-uri.ts'
import type { McpLimits } from './limits.ts'
import { McpSession, numberIn } from './mcp-session.ts'
import { SessionLooks } from './session-looks.ts'
import { SubscriptionIndex } from './subscription-index.ts'

export type SessionEnd = 'deleted' | 'idle' | 'too-old' | 'elsewhere'

export type SessionRegistryDeps = {
  readonly clock: Clock
  readonly limits: McpLimits
  readonly store: SessionStore
  readonly records: Pick<RecordStore, 'catchUp' | 'journals'>
  readonly randomBytes: (size: number) => Uint8Array
  readonly onEnd: (session: McpSession, reason: SessionEnd) => void
  /** Those with requests in flight. */
  readonly busy: () => Iterable<McpSession>
  readonly onCancelled: (cancelled: CancelledRequest) => void
  /** The others took this process for dead. */
  readonly onForgotten: () => void
  /** A change was refused, or a sweep failed; the next one is made all the same. */
  readonly onProblem: (error: unknown) => void
}

/** 192 bits, so guessing one is out of the question, although the id alone opens nothing. */
const SESSION_ID_BYTES = 24
/** How often the registry looks for expired sessions; their limits are minutes and hours. */
const SWEEP_MS = 30_000

/** A stream that may begin: its number among those of the session, and how far those before it have told. */
type TakenStream = Pick<StoredSession, 'streamEpoch'>

export class SessionRegistry {
  readonly subscriptions = new SubscriptionIndex<McpSession>()
  readonly #deps: SessionRegistryDeps
  readonly #beganAtMs: number
  readonly #byNumber = new Map<number, McpSession>()
  readonly #countBySub = new Map<string, number>()
  /** Principals of the sessions that are being opened here, by number. */
  readonly #opening = new Map<number, string>()
  /** Those whose rows have other scopes. */
  readonly #unsaved = new Set<McpSession>()
  /** Rows say of all uses before it. */
  #sweptMs = 0
  #usedMs = 0
  #cancelSweep: (() => void) | undefined
  readonly looks: SessionLooks

  constructor(deps: SessionRegistryDeps) {
    this.#deps = deps
    this.#beganAtMs = deps.clock.unixMs()
    this.looks = new SessionLooks({ ...deps, adopt: (look) => this.#adoptLook(look) })
  }

  get count(): number {
    return this.#byNumber.size
  }

  all(): Iterable<McpSession> {
    return this.#byNumber.values()
  }

  /** Takes over what is stored, and nothing else. */
  restore({ sessions }: Pick<RestoredSessions, 'sessions'>): void {
    const stored = new Set(sessions.map(({ number }) => number))
    for (const session of this.all())
      if (!stored.has(session.number)) this.#end(session, 'elsewhere')
    for (const row of sessions) this.#adoptRow(row)
  }

  async #adoptLook({ changed, isKnown }: SessionLook): Promise<void> {
    if (!isKnown) return this.#enterAnew()
    const older: number[] = []
    for (const { changes, number } of changed) {
      const session = this.#byNumber.get(number)
      if (changes !== undefined && (session?.changes ?? 0) < changes) older.push(number)
      else if (changes === undefined && session !== undefined) this.#end(session, 'elsewhere')
    }
    await this.#readAgain(older)
  }

  /** The others took this process for dead: what it was to be told is gone, and its streams may be others'. */
  async #enterAnew(): Promise<void> {
    const { store } = this.#deps
    for (const session of this.all()) session.stream?.end('forgotten')
    this.#deps.onForgotten()
    await store.enter(this.looks.sizes)
    this.restore(await store.restore())
  }

  /** Opens a session for a principal; undefined if that would exceed a limit (C5). Its row is there when it resolves. */
  async open({ sub, scopes }: Principal): Promise<McpSession | undefined> {
    await this.looks.again()
    if (!this.#hasRoom(sub)) return undefined
    const id = this.#drawId()
    this.#opening.set(numberIn(id), sub)
    try {
      return await this.#openAs(id, { sub, scopes })
    } finally {
      this.#opening.delete(numberIn(id))
    }
  }

  #hasRoom(sub: string): boolean {
    const { sessionsMax, sessionsPerSubMax } = this.#deps.limits
    const opening = [...this.#opening].filter(([number]) => !this.#byNumber.has(number))
    const ofSub = opening.filter(([, opener]) => opener === sub).length
    const open = this.#countBySub.get(sub) ?? 0
    return this.count + opening.length < sessionsMax && open + ofSub < sessionsPerSubMax
  }

  async #openAs(id: string, { sub, scopes }: Principal): Promise<McpSession | undefined> {
    const { limits, clock } = this.#deps
    const number = numberIn(id)
    const opened = { number, id, sub, scopes, carried: this.looks.reached }
    const perSubMax = limits.sessionsPerSubMax
    const outcome = await this.#commit({ kind: 'opened', session: number, opened, perSubMax })
    if (outcome.kind !== 'done') return undefined
    const known = this.#byNumber.get(number)
    if (known !== undefined) return known
    const createdAtMs = clock.unixMs()
    const counted = { changes: outcome.changes, streamEpoch: 0, silentSinceMs: createdAtMs }
    return this.#add({ ...opened, ...counted, createdAtMs })
  }

  /** The session with that id, wherever it was opened, unless it has expired. */
  async find(id: string): Promise<McpSession | undefined> {
    await this.looks.again()
    const session = this.#byNumber.get(numberIn(id))
    if (session?.id !== id) return undefined
    if (this.#isOver(session)) await this.#sweep(session)
    return this.#isOpen(session) ? session : undefined
  }

  /**
   * Adopts the scopes of the presented token; subscriptions that they no longer cover are lost (C4). They hold at once, stored or
   * not: fewer rights do not wait for a disk.
   */
  async refresh(session: McpSession, { scopes }: Principal): Promise<void> {
    const { number, scopes: before } = session
    session.seenMs = this.#useMs()
    session.scopes = scopes
    const isSame =
      before === scopes ||
      (before.length === scopes.length && scopes.every((scope) => before.includes(scope)))
    if (isSame && !this.#unsaved.has(session)) return
    this.#unsaved.add(session)
    const lost = [...(session.subscriptions?.keys() ?? [])].filter((uri) => {
      const slot = parseRecordUri(uri)?.slot
      return slot !== undefined && !mayRead(scopes, slot)
    })
    await this.#change(session, { kind: 'scopes', session: number, scopes, lost }, () => {
      // A row that was read meanwhile had those before.
      if (!this.#unsaved.has(session)) session.scopes = scopes
      if (session.scopes === scopes) this.#unsaved.delete(session)
      for (const uri of lost) this.subscriptions.remove(session, uri)
    })
  }

  /** A stream of a session has just ended here. */
  fallSilent(session: McpSession, epoch: number): void {
    session.seenMs = this.#useMs()
    if (!this.#isOpen(session) || epoch !== session.streamEpoch) return
    session.silentMs = this.#nowMs()
    this.keepCarried(session, epoch)
    this.#deps.store.save([{ kind: 'left', session: session.number, epoch }])
  }

  /** Stores how far the newest stream of a session has told; nobody waits for it. */
  keepCarried(session: McpSession, epoch: number): void {
    const { carried, number } = session
    if (this.#isOpen(session) && epoch === session.streamEpoch)
      this.#deps.store.save([{ kind: 'carried', session: number, epoch, carried }])
  }

  /**
   * A stream of the session begins, after all that any process began before; undefined if the session is gone. One that cannot be
   * noted is opened all the same: some clients ask for their stream once, and would be deaf.
   */
  async takeStream(session: McpSession): Promise<TakenStream | undefined> {
    let outcome: ChangeOutcome
    try {
      outcome = await this.#change(session, { kind: 'stream', session: session.number }, () => {
        session.silentMs = undefined
      })
    } catch (error) {
      if (!(error instanceof RecordStoreUnavailable)) throw error
      return session
    }
    if (outcome.kind !== 'done' || outcome.stream === undefined || !this.#isOpen(session))
      return undefined
    const { carried, streamEpoch } = outcome.stream
    this.#notice(session, { carried, streamEpoch })
    return { streamEpoch }
  }

  /** Sessions that follow something, a URI or anything, and have had no stream for too long, each since when (C36). */
  silent(uri?: string): readonly { readonly session: McpSession; readonly sinceMs: number }[] {
    const beforeMs = this.#nowMs() - this.#deps.limits.silentMs
    const following = uri === undefined ? this.all() : this.subscriptions.findSubscribers(uri)
    return [...following].flatMap((session) => {
      const { silentMs = Number.POSITIVE_INFINITY, stream, subscriptions } = session
      const isSilent = stream === undefined && subscriptions !== undefined && silentMs < beforeMs
      return isSilent ? [{ session, sinceMs: this.#beganAtMs + silentMs }] : []
    })
  }

  /** Subscribes a session, which is told of what is written from now on; false if it has too many subscriptions. */
  async subscribe(session: McpSession, uri: string): Promise<boolean> {
    const { limits, records } = this.#deps
    const max = limits.subscriptionsPerSessionMax
    const place = (): number => placeBehind(records.journals)
    const change = { kind: 'subscribed', session: session.number, uri, max, place } as const
    const outcome = await this.#change(session, change, ({ since }) => {
      if (since !== undefined) this.subscriptions.add(session, uri, since)
    })
    return outcome.kind !== 'too-many'
  }

  async unsubscribe(session: McpSession, uri: string): Promise<void> {
    const change = { kind: 'unsubscribed', session: session.number, uri } as const
    await this.#change(session, change, () => this.subscriptions.remove(session, uri))
  }

  async setLogLevel(session: McpSession, logLevel: LogLevel): Promise<void> {
    const change = { kind: 'level', session: session.number, logLevel } as const
    await this.#change(session, change, () => {
      session.logLevel = logLevel
    })
  }

  /** Its client ends it. */
  async delete(session: McpSession): Promise<void> {
    await this.#commit({ kind: 'ended', session: session.number })
    this.#end(session, 'deleted')
  }

  async #commit(change: SessionChange): Promise<ChangeOutcome> {
    try {
      return await this.#deps.store.commit(change)
    } catch (error) {
      this.#deps.onProblem(error)
      throw error
    }
  }

  /** Commits a change and adopts it, unless the row was read behind it meanwhile. Rejects with `RecordStoreUnavailable`. */
  async #change(
    session: McpSession,
    change: SessionChange,
    adopt: (done: Extract<ChangeOutcome, { kind: 'done' }>) => void,
  ): Promise<ChangeOutcome> {
    const outcome = await this.#commit(change)
    if (!this.#isOpen(session)) return outcome
    if (outcome.kind === 'gone') this.#end(session, 'elsewhere')
    if (outcome.kind !== 'done' || outcome.changes <= session.changes) return outcome
    if (outcome.changes === session.changes + 1) {
      session.changes = outcome.changes
      adopt(outcome)
    } else await this.#readAgain([session.number])
    return outcome
  }

  async #readAgain(numbers: readonly number[]): Promise<void> {
    if (numbers.length === 0) return
    const known = new Set(numbers.filter((number) => this.#byNumber.has(number)))
    // One that ended meanwhile stays so.
    for (const row of await this.#deps.store.find(numbers))
      if (!known.has(row.number) || this.#byNumber.has(row.number)) this.#adoptRow(row)
  }

  #adoptRow(row: StoredSession): void {
    const known = this.#byNumber.get(row.number)
    if (known !== undefined && row.changes <= known.changes) return
    const session = known ?? this.#add(row)
    const { changes, logLevel, scopes, silentSinceMs } = row
    const silentMs = silentSinceMs === undefined ? undefined : silentSinceMs - this.#beganAtMs
    Object.assign(session, { changes, logLevel, scopes, silentMs })
    this.#unsaved.delete(session)
    this.subscriptions.replace(session, row.subscriptions)
    this.#notice(session, row)
  }

  /** A newer stream than the one that is here ends it, wherever it was opened. */
  #notice(
    session: McpSession,
    { carried, streamEpoch }: Pick<StoredSession, 'carried' | 'streamEpoch'>,
  ): void {
    if (isBefore(session.carried, carried)) session.carried = carried
    if (streamEpoch <= session.streamEpoch) return
    session.streamEpoch = streamEpoch
    session.stream?.end('taken-over')
  }

  #end(session: McpSession, reason: SessionEnd): void {
    if (!this.#isOpen(session)) return
    this.#byNumber.delete(session.number)
    this.#unsaved.delete(session)
    const left = (this.#countBySub.get(session.sub) ?? 1) - 1
    if (left === 0) this.#countBySub.delete(session.sub)
    else this.#countBySub.set(session.sub, left)
    for (const uri of session.subscriptions?.keys() ?? []) this.subscriptions.remove(session, uri)
    session.stream?.end('session-ended')
    if (this.count === 0) this.stop()
    this.#deps.onEnd(session, reason)
  }

  /** Stops looking for expired sessions. */
  stop(): void {
    this.#cancelSweep?.()
    this.#cancelSweep = undefined
  }

  #isOpen(session: McpSession): boolean {
    return this.#byNumber.get(session.number) === session
  }

  #nowMs(): number {
    return this.#deps.clock.unixMs() - this.#beganAtMs
  }

  /** For what is used now: never before the last sweep, however far a clock is set back. */
  #useMs(): number {
    this.#usedMs = Math.max(this.#usedMs, this.#nowMs())
    return this.#usedMs
  }

  #add(stored: Omit<StoredSession, 'subscriptions'>): McpSession {
    const session = new McpSession(stored, this.#beganAtMs, this.#nowMs())
    this.#byNumber.set(session.number, session)
    this.#countBySub.set(session.sub, (this.#countBySub.get(session.sub) ?? 0) + 1)
    this.#armSweep()
    return session
  }

  /** At random, so that an event id of a session that is gone is none of a new one. */
  #drawId(): string {
    for (;;) {
      const id = Buffer.from(this.#deps.randomBytes(SESSION_ID_BYTES)).toString('base64url')
      if (!this.#byNumber.has(numberIn(id)) && !this.#opening.has(numberIn(id))) return id
    }
  }

  #armSweep(): void {
    this.#cancelSweep ??= this.#deps.clock.after(SWEEP_MS, () => {
      this.#cancelSweep = undefined
      void this.#sweep().catch(this.#deps.onProblem)
      if (this.count > 0) this.#armSweep()
    })
  }

  /** Ends what is over by the store's clock: all such sessions, or one if it is. */
  async #sweep(only?: McpSession): Promise<void> {
    const { busy, limits, store } = this.#deps
    const { absoluteMs, idleMs } = limits
    const nowMs = this.#useMs()
    const judged = only === undefined ? [...this.all()] : [only]
    const inUse = judged.filter(({ hasUnnotedStream }) => hasUnnotedStream)
    for (const session of [...busy(), ...inUse]) session.seenMs = nowMs
    const used = judged.filter(({ seenMs }) => seenMs >= this.#sweptMs)
    const seen = new Map(used.map(({ number, seenMs }) => [number, this.#beganAtMs + seenMs]))
    const swept = await store.sweep({ absoluteMs, idleMs, seen, only: only?.number })
    if (only === undefined) this.#sweptMs = nowMs
    for (const { number, reason } of swept) {
      const session = this.#byNumber.get(number)
      if (session !== undefined) this.#end(session, reason)
    }
  }

  /** Whether it would be over if no other process had used it. */
  #isOver({ createdMs, seenMs, stream }: McpSession): boolean {
    const { limits } = this.#deps
    const nowMs = this.#nowMs()
    if (nowMs - createdMs >= limits.absoluteMs) return true
    return stream === undefined && nowMs - seenMs >= limits.idleMs
  }
}
