/**
 * Server-sent event streams (C3). A stream holds no frames: its position moves through what happened, as fast as the reader
 * accepts data. While it keeps up it takes what all streams share; further back it reads the journals by itself. So a slow
 * reader costs one socket buffer, and beyond a bounded lag loses its stream.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { IsRevoked } from '@tallystick/jwt-lite'
import type { Clock } from '@tallystick/service-kit'
import { isBefore, type Position } from '../../domain/position.ts'
import type { EventIds, IdBatch, SealedIds } from './event-ids.ts'
import type { Frame, Happening, Listener } from './frames.ts'
import type { JournalFollower } from './journal-follower.ts'
import type { Page } from './journal-pages.ts'
import type { McpLimits } from './limits.ts'
import type { McpSession } from './mcp-session.ts'
import {
  createOpenStreams,
  OpenStream,
  type OpenStreamOptions,
  type StreamEnd,
} from './open-stream.ts'

/**
 * Official clients try twice after a break, each time after what `retry` said last: this long apart, both attempts reach past an
 * outage of 20 s (C36).
 */
const STANDING_RETRY_MS = 11_000
/** Added to it at random, so that the hosts of a service that restarts do not return at once. */
const STANDING_JITTER_MS = 2_000
/** Said before a close that the service survives: its client comes back at once. */
const SURVIVED_RETRY_MS = 500
/** The same after another stream took over, but two readers of one session must not replace each other all the time. */
const TAKEN_OVER_RETRY_MS = 3_000
/** One write: large enough to amortise its cost, small compared with a socket's buffer. */
const WRITE_CHARS = 32_768
/** Streams written to before other work runs. */
const FAN_OUT_SLICE = 500

/** After which ends the service still stands, and how soon a client may return then. */
const SURVIVED_RETRIES_MS: { readonly [Reason in StreamEnd]?: number } = {
  'token-expired': SURVIVED_RETRY_MS,
  'token-revoked': SURVIVED_RETRY_MS,
  slow: SURVIVED_RETRY_MS,
  forgotten: SURVIVED_RETRY_MS,
  'taken-over': TAKEN_OVER_RETRY_MS,
}

/** The last words of a stream that a newer one has replaced. */
export const TAKEN_OVER = `retry: ${TAKEN_OVER_RETRY_MS}\n\n`

type Shared = {
  readonly clock: Clock
  readonly limits: McpLimits
  readonly isRevoked: IsRevoked
  readonly onUpdate: (uri: string, version: number) => void
  /** From 0 to below 1. */
  readonly chance: () => number
  readonly follower: Pick<
    JournalFollower,
    'end' | 'floor' | 'keptFrom' | 'looks' | 'pages' | 'wake'
  >
  readonly eventIds: EventIds
  /** The journals could not be read for a stream. */
  readonly onFailure: (error: unknown) => void
  /** Stores how far a session was told, so that a kill repeats no more than what came since. */
  readonly keepCarried: (session: McpSession, epoch: number) => void
}

type Opening = Pick<OpenStreamOptions, 'claims' | 'response'> & {
  readonly session: McpSession
  /** Its number among the session's. */
  readonly epoch: number
  /** Where the stream begins. */
  readonly from: Position
  /** Too much is behind it: first it is told what changed, once for each record. */
  readonly isCoalesced: boolean
}

type EventStreamOptions = Omit<OpenStreamOptions, 'onEnd'> &
  Shared &
  Opening & { onEnd(stream: EventStream, reason: StreamEnd): void }

/** A happening's frames for a stream. */
type FoundFrames = {
  readonly happening: Happening
  readonly frames: readonly Frame[]
  /** The number of the first one's id in the batch. */
  readonly idsFrom: number
}

export class EventStream extends OpenStream<EventStreamOptions> {
  readonly session = this.options.session
  readonly #listener: Listener = {
    session: this.session,
    ownScopes: this.options.claims.scopes,
  }
  /** The newest position that the session's row has, or will have soon. */
  #keptCarried = this.session.carried
  /** Everything before it was written, or is not for this listener. */
  #position = this.options.from
  /** Up to where it is told only what changed. */
  #coalescedTo = this.options.isCoalesced ? this.options.follower.looks.reached : undefined
  #isReading = false
  /** What it is told as soon as the ids are sealed. */
  #found: { readonly found: readonly FoundFrames[]; readonly end: Position } | undefined
  /** What happened after the reader stopped accepting data, and up to where that is counted. */
  #late = { frames: 0, bytes: 0 }
  #lateTo = this.options.from
  /** In force while the stream stands. */
  readonly #retryMs = STANDING_RETRY_MS + Math.floor(this.options.chance() * STANDING_JITTER_MS)

  protected get keepAliveText(): string {
    return ': keep-alive\n\n'
  }

  override keepAlive(): void {
    super.keepAlive()
    // As often: a row for each stream that has told something.
    const { carried } = this.session
    if (carried === this.#keptCarried) return
    this.#keptCarried = carried
    this.options.keepCarried(this.session, this.options.epoch)
  }

  /** The first bytes: where the stream begins, so that a client that receives nothing else can resume, and what it missed. */
  open(): void {
    const { eventIds, from } = this.options
    const id = eventIds.write(this.session.number, from)
    this.write(`retry: ${this.#retryMs}\nid: ${id}\ndata: \n\n`)
    this.pump()
  }

  /** Writes what is behind its position, as far as the reader accepts it. */
  pump(): void {
    const ids = this.options.eventIds.begin()
    this.prepare(ids)
    this.tell(ids.seal())
  }

  /** Finds what is behind its position, to be told as soon as its ids are sealed. */
  prepare(ids: IdBatch): void {
    if (this.isOver() || this.#isReading) return
    const { follower } = this.options
    if (!follower.looks.isFresh) return follower.wake()
    if (this.isStalled) return this.#countLate()
    if (this.#coalescedTo !== undefined || isBefore(this.#position, follower.floor()))
      return void this.#catchUp()
    if (!isBefore(this.#position, follower.end())) return
    this.#collect({ happenings: follower.keptFrom(this.#position), end: follower.end() }, ids)
  }

  /** Writes what was found. */
  tell(ids: SealedIds): void {
    if (this.#found === undefined) return
    this.#write(ids)
    if (this.isStalled) this.#countLate()
  }

  protected lastWords(reason: StreamEnd): string {
    const isServed = reason === 'shutdown' && this.options.follower.looks.hasOthers
    const retryMs = isServed ? SURVIVED_RETRY_MS : SURVIVED_RETRIES_MS[reason]
    return `retry: ${retryMs ?? this.#retryMs}\n\n`
  }

  protected onStall(): void {
    this.#late = { frames: 0, bytes: 0 }
    this.#lateTo = this.options.follower.end()
  }

  protected onDrain(): void {
    this.pump()
  }

  /** Only what came after the reader stopped; what it still had to read before does not count. */
  protected backlog() {
    return this.#late
  }

  #countLate(): void {
    const { follower } = this.options
    for (const happening of follower.keptFrom(this.#lateTo))
      for (const { text } of happening.framesFor(this.#listener, this.#lateTo)) {
        this.#late.frames += 1
        this.#late.bytes += Buffer.byteLength(text)
      }
    this.#lateTo = follower.end()
    this.cutIfTooSlow()
  }

  /** Reads the journals by itself until it stands where all streams do. */
  async #catchUp(): Promise<void> {
    this.#isReading = true
    try {
      while (!this.isOver() && !this.isStalled) {
        const { follower } = this.options
        await follower.looks.reach()
        if (this.isOver()) return
        const to = this.#coalescedTo
        if (to === undefined && !isBefore(this.#position, follower.floor())) break
        const page = await (to === undefined
          ? follower.pages.pageFor(this.#listener, this.#position, follower.looks.reached)
          : follower.pages.newestFor(this.#listener, { from: this.#position, to }))
        if (this.isOver()) return
        const ids = this.options.eventIds.begin()
        this.#collect(page, ids)
        if (this.#write(ids.seal())) this.#coalescedTo = undefined
        await nextTurn()
      }
    } catch (error) {
      this.options.onFailure(error)
      this.end('unreadable')
    } finally {
      this.#isReading = false
    }
    this.pump()
  }

  /** Its frames of a page. */
  #collect({ end, happenings }: Page, ids: IdBatch): void {
    const found: FoundFrames[] = []
    let from = this.#position
    for (const happening of happenings) {
      const frames = happening.framesFor(this.#listener, from)
      from = happening.end
      if (frames.length > 0)
        found.push({ happening, frames, idsFrom: ids.add(this.session.number, frames) })
    }
    this.#found = { found, end }
  }

  /** Writes what was found, as far as the reader accepts it, and moves its position; returns whether that was all of it. */
  #write(ids: SealedIds): boolean {
    const { end, found } = this.#found ?? { end: this.#position, found: [] }
    this.#found = undefined
    let text = ''
    for (const each of found) {
      text += this.#joinFrames(each, ids)
      this.#position = each.happening.end
      if (text.length < WRITE_CHARS) continue
      this.write(text)
      text = ''
      if (this.isStalled) return false
    }
    this.#position = end
    if (text !== '') this.write(text)
    return true
  }

  /**
   * The events of a happening. Each is judged by the session's current scopes and by those of the stream's own token, since
   * another token of its principal may have widened the session (C48).
   */
  #joinFrames({ frames, happening, idsFrom }: FoundFrames, ids: SealedIds): string {
    const { onUpdate } = this.options
    const { session } = this
    let events = ''
    for (const [at, { isUpdate, position, text }] of frames.entries()) {
      events += `id: ${ids(idsFrom + at)}\n${text}`
      if (isBefore(session.carried, position)) session.carried = position
      if (happening.slot.audience === 'user') this.framesSent += 1
      if (isUpdate) onUpdate(happening.uri, happening.version)
    }
    return events
  }
}

export type StreamKeeper = ReturnType<typeof createStreamKeeper>

export function createStreamKeeper(
  deps: Shared & {
    readonly follower: JournalFollower
    /** Called when a stream has ended, with the session as it left it. */
    readonly onEnd: (ended: Pick<Opening, 'session' | 'epoch'>, reason: StreamEnd) => void
  },
) {
  const pumpAll = async (): Promise<void> => {
    const all = [...streams.all()]
    for (let from = 0; from < all.length; from += FAN_OUT_SLICE) {
      // Other work runs between slices.
      if (from > 0) await nextTurn()
      const slice = all.slice(from, from + FAN_OUT_SLICE)
      const ids = deps.eventIds.begin()
      for (const stream of slice) stream.prepare(ids)
      const sealed = ids.seal()
      for (const stream of slice) stream.tell(sealed)
    }
  }
  const streams = createOpenStreams<EventStream>({ ...deps, tell: pumpAll })
  const onEnd = (ended: EventStream, reason: StreamEnd): void => {
    const { session } = ended
    streams.delete(ended)
    if (session.stream === ended) session.stream = undefined
    deps.onEnd(ended.options, reason)
  }
  return {
    ...streams,
    /** Opens the session's stream and ends the one that was open: the newest wins (C3). */
    open(opening: Opening): void {
      const { session } = opening
      session.stream?.end('taken-over')
      const stream = new EventStream({ ...deps, ...opening, onEnd })
      session.stream = stream
      streams.add(stream)
      stream.open()
      // It may stand behind what nobody has looked at yet.
      deps.follower.wake()
    },
  }
}
