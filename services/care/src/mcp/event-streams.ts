/**
 * Server-sent event streams (C3). A stream holds no frames of its own: a cursor moves through its session's ring as fast
 * as the reader accepts data. So a slow reader costs one socket buffer, and beyond a bounded lag loses its stream.
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from '@tallystick/service-kit'
import type { McpLimits } from './limits.ts'
import { isPublic, mayReceive } from './replay-buffer.ts'
import type { McpSession } from './session-registry.ts'
import { createStreamTicker, type TickedStream } from './stream-ticker.ts'

/** How soon a client reconnects after a drop: immediate to people, without a storm. */
const RETRY_MS = 500
/** How soon a client reconnects after another took over its stream: late, so that two do not keep replacing each other. */
const TAKEN_OVER_RETRY_MS = 15_000
/** One write: large enough to amortise its cost, small compared with a socket's buffer. */
const WRITE_CHARS = 32_768

/** Why a stream ended. */
export type StreamEnd =
  /** The client left, or its connection broke. */
  | 'gone'
  | 'taken-over'
  | 'token-expired'
  | 'token-revoked'
  /** The reader lagged too far behind; it may resume. */
  | 'slow'
  | 'session-ended'
  | 'shutdown'
  /** A listen for nothing that its principal may read. */
  | 'nothing-granted'

type EventStreamOptions = {
  readonly session: McpSession
  readonly response: ServerResponse
  /** When the token that opened it expires, Unix milliseconds. */
  readonly expiresAtMs: number
  /** Whether that token was revoked since. */
  readonly isRevoked?: (() => boolean) | undefined
  /** The sequence after which the stream begins. */
  readonly cursor: number
  readonly limits: McpLimits
  readonly clock: Pick<Clock, 'unixMs'>
  readonly onEnd: (stream: EventStream, reason: StreamEnd) => void
  /** The reader was told that a record changed to which it has subscribed. */
  readonly onUpdate: (uri: string) => void
}

export class EventStream implements TickedStream {
  readonly session: McpSession
  readonly expiresAtMs: number
  readonly #options: EventStreamOptions
  #cursor: number
  /** When, and at which of the session's frames, the reader stopped accepting data. */
  #stalled: { readonly sinceMs: number; readonly atSequence: number } | undefined
  #hasEnded = false
  /** Frames about speakable records written so far. */
  framesSent = 0

  constructor(options: EventStreamOptions) {
    this.session = options.session
    this.expiresAtMs = options.expiresAtMs
    this.#options = options
    this.#cursor = options.cursor
    // An error is followed by `close`; without a listener it would end the process.
    options.response.on('error', () => undefined)
    options.response.on('close', () => this.#finish('gone'))
    options.response.on('drain', () => {
      this.#stalled = undefined
      this.pump()
    })
  }

  get number(): number {
    return this.session.number
  }

  /** The first bytes: where the stream begins, so that a client that receives nothing else can resume, and what it missed. */
  open(): void {
    this.#write(`retry: ${RETRY_MS}\nid: ${formatEventId(this.session, this.#cursor)}\ndata: \n\n`)
    this.pump()
  }

  /** Writes what the session's ring holds beyond the cursor, as far as the reader accepts it. */
  pump(): void {
    if (this.#hasEnded) return
    if (this.expiresAtMs <= this.#options.clock.unixMs()) {
      this.end('token-expired')
      return
    }
    if (this.isRevoked()) return this.end('token-revoked')
    const { ring } = this.session
    while (this.#stalled === undefined && this.#cursor < ring.lastSequence) {
      // Frames dropped from the ring can no longer be sent, and a gap must not go unnoticed: the client's next resume is
      // refused, and it reads everything again.
      if (this.#cursor < ring.floorSequence) return this.end('slow')
      const text = this.#take()
      if (text !== '') this.#write(text)
      if (this.#cursor > this.session.carriedSequence) this.session.carriedSequence = this.#cursor
    }
    this.#cutIfTooSlow()
  }

  /** A comment, so that neither side takes silence for a dead connection; it also reveals readers that accept nothing. */
  keepAlive(): void {
    if (this.#hasEnded) return
    if (this.#stalled === undefined) this.#write(': keep-alive\n\n')
    else this.#cutIfTooSlow()
  }

  /** Whether the token that opened it was revoked. */
  isRevoked(): boolean {
    return this.#options.isRevoked?.() === true
  }

  /** Ends the stream and tells the client when to reconnect. */
  end(reason: StreamEnd): void {
    if (this.#hasEnded) return
    this.#finish(reason)
    // A stream whose reader accepts nothing cannot end in order: the last words would wait behind the rest.
    if (reason === 'slow' || this.#stalled !== undefined) {
      this.#options.response.destroy()
      return
    }
    const retryMs = reason === 'taken-over' ? TAKEN_OVER_RETRY_MS : RETRY_MS
    this.#options.response.end(`retry: ${retryMs}\n\n`)
  }

  /** The next events as text, re-authorised by the session's current scopes; moves the cursor past them. */
  #take(): string {
    const { ring, scopes } = this.session
    let text = ''
    while (this.#cursor < ring.lastSequence && text.length < WRITE_CHARS) {
      this.#cursor += 1
      const frame = ring.at(this.#cursor)
      if (frame === undefined || !mayReceive(scopes, frame.names)) continue
      text += `id: ${formatEventId(this.session, this.#cursor)}\nevent: message\ndata: ${frame.text}\n\n`
      if (isPublic(frame)) this.framesSent += 1
      if (frame.isUpdate) this.#options.onUpdate(frame.about)
    }
    return text
  }

  #write(text: string): void {
    if (this.#options.response.write(text)) return
    const atSequence = this.session.ring.lastSequence
    this.#stalled ??= { sinceMs: this.#options.clock.unixMs(), atSequence }
  }

  /** Only what came after the reader stopped is its backlog; what it still had to read before does not count. */
  #cutIfTooSlow(): void {
    if (this.#stalled === undefined) return
    const { lagFramesMax, lagBytesMax, stallMs } = this.#options.limits
    const { sinceMs, atSequence } = this.#stalled
    const { ring } = this.session
    let backlogBytes = 0
    for (let sequence = atSequence + 1; sequence <= ring.lastSequence; sequence += 1)
      backlogBytes += ring.at(sequence)?.bytes ?? 0
    const isTooSlow =
      ring.lastSequence - atSequence > lagFramesMax ||
      backlogBytes > lagBytesMax ||
      this.#options.clock.unixMs() - sinceMs > stallMs
    if (isTooSlow) this.end('slow')
  }

  #finish(reason: StreamEnd): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#options.onEnd(this, reason)
  }
}

/** Characters of the session id with which its event ids begin: enough that no other session's id is mistaken for it. */
const TAG_CHARS = 12

const PATTERN = /^(.+)-(0|[1-9]\d{0,14})$/

/** An event's id: it names its session, and the sequence number of its frame in that session. */
export function formatEventId(session: { readonly id: string }, sequence: number): string {
  return `${session.id.slice(0, TAG_CHARS)}-${sequence}`
}

/** The sequence in an event id of this session; undefined for a foreign or malformed id. */
export function parseEventId(
  session: { readonly id: string },
  eventId: string,
): number | undefined {
  const match = PATTERN.exec(eventId)
  return match?.[1] === session.id.slice(0, TAG_CHARS) ? Number(match[2]) : undefined
}

export type StreamKeeper = ReturnType<typeof createStreamKeeper>

/** Manages the streams of all sessions. */
export function createStreamKeeper(deps: {
  readonly clock: Clock
  readonly limits: McpLimits
  /** Called when a stream has ended, with the session as it left it. */
  readonly onEnd: (session: McpSession, reason: StreamEnd) => void
  readonly onUpdate: (uri: string) => void
}) {
  const { clock, limits, onEnd, onUpdate } = deps
  const ticker = createStreamTicker<EventStream>({ clock, keepAliveMs: limits.keepAliveMs })
  const { streams } = ticker
  let framesSentByEnded = 0
  const forget = (stream: EventStream, reason: StreamEnd): void => {
    ticker.delete(stream)
    framesSentByEnded += stream.framesSent
    const { session } = stream
    if (session.stream === stream) session.stream = undefined
    onEnd(session, reason)
  }

  return {
    /** Opens the session's stream and ends the one that was open: the newest wins (C3). */
    open(options: Omit<EventStreamOptions, 'limits' | 'clock' | 'onEnd' | 'onUpdate'>): void {
      options.session.stream?.end('taken-over')
      const stream = new EventStream({ ...options, limits, clock, onUpdate, onEnd: forget })
      options.session.stream = stream
      ticker.add(stream)
      stream.open()
    },
    endAll(reason: StreamEnd): void {
      for (const stream of streams) stream.end(reason)
    },
    count: () => streams.size,
    framesSent: () =>
      [...streams].reduce((sum, stream) => sum + stream.framesSent, framesSentByEnded),
  }
}
