/**
 * Server-sent event streams (C3). A stream holds no frames of its own: a cursor moves through its session's ring as fast
 * as the reader accepts data. So a slow reader costs one socket buffer, and beyond a bounded lag loses its stream.
 */
import type { IsRevoked } from '@tallystick/jwt-lite'
import type { Clock } from '@tallystick/service-kit'
import type { McpLimits } from './limits.ts'
import {
  createOpenStreams,
  OpenStream,
  type OpenStreamOptions,
  type StreamEnd,
} from './open-stream.ts'
import { isPublic, mayReceive } from './replay-buffer.ts'
import type { McpSession } from './session-registry.ts'

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

/** After which ends the service still stands, and how soon a client may return then. */
const SURVIVED_RETRIES_MS: { readonly [Reason in StreamEnd]?: number } = {
  'token-expired': SURVIVED_RETRY_MS,
  'token-revoked': SURVIVED_RETRY_MS,
  slow: SURVIVED_RETRY_MS,
  'taken-over': TAKEN_OVER_RETRY_MS,
}

type EventStreamOptions = OpenStreamOptions & {
  readonly session: McpSession
  /** The sequence after which the stream begins. */
  readonly cursor: number
  /** From 0 to below 1. */
  readonly chance: () => number
  onEnd(stream: EventStream, reason: StreamEnd): void
}

export class EventStream extends OpenStream<EventStreamOptions> {
  readonly session = this.options.session
  #cursor = this.options.cursor
  /** The newest of the session's frames when the reader stopped accepting data. */
  #stalledAt = 0
  /** In force while the stream stands. */
  readonly #retryMs = STANDING_RETRY_MS + Math.floor(this.options.chance() * STANDING_JITTER_MS)

  protected get keepAliveText(): string {
    return ': keep-alive\n\n'
  }

  /** The first bytes: where the stream begins, so that a client that receives nothing else can resume, and what it missed. */
  open(): void {
    this.write(
      `retry: ${this.#retryMs}\nid: ${formatEventId(this.session, this.#cursor)}\ndata: \n\n`,
    )
    this.pump()
  }

  /** Writes what the session's ring holds beyond the cursor, as far as the reader accepts it. */
  pump(): void {
    if (this.isOver()) return
    const { ring } = this.session
    while (!this.isStalled && this.#cursor < ring.lastSequence) {
      // Frames dropped from the ring can no longer be sent, and a gap must not go unnoticed: the client's next resume is
      // refused, and it reads everything again.
      if (this.#cursor < ring.floorSequence) return this.end('slow')
      const text = this.#take()
      if (text !== '') this.write(text)
      this.session.carriedSequence = Math.max(this.session.carriedSequence, this.#cursor)
    }
    this.cutIfTooSlow()
  }

  protected lastWords(reason: StreamEnd): string {
    return `retry: ${SURVIVED_RETRIES_MS[reason] ?? this.#retryMs}\n\n`
  }

  protected onStall(): void {
    this.#stalledAt = this.session.ring.lastSequence
  }

  protected onDrain(): void {
    this.pump()
  }

  /** Only what came after the reader stopped; what it still had to read before does not count. */
  protected backlog() {
    const { ring } = this.session
    let bytes = 0
    for (let sequence = this.#stalledAt + 1; sequence <= ring.lastSequence; sequence += 1)
      bytes += ring.at(sequence)?.bytes ?? 0
    return { frames: ring.lastSequence - this.#stalledAt, bytes }
  }

  /**
   * The next events as text; moves the cursor past them. Each is judged by the session's current scopes and by those of the
   * stream's own token, since another token of its principal may have widened the session (C48).
   */
  #take(): string {
    const { ring, scopes } = this.session
    const { scopes: ownScopes } = this.options.claims
    let text = ''
    while (this.#cursor < ring.lastSequence && text.length < WRITE_CHARS) {
      this.#cursor += 1
      const frame = ring.at(this.#cursor)
      if (frame === undefined || !mayReceive(scopes, frame.names)) continue
      if (!mayReceive(ownScopes, frame.names)) continue
      text += `id: ${formatEventId(this.session, this.#cursor)}\nevent: message\ndata: ${frame.text}\n\n`
      if (isPublic(frame)) this.framesSent += 1
      if (frame.isUpdate) this.options.onUpdate(frame.about)
    }
    return text
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

export function createStreamKeeper(deps: {
  readonly clock: Clock
  readonly limits: McpLimits
  /** Called when a stream has ended, with the session as it left it. */
  readonly onEnd: (session: McpSession, reason: StreamEnd) => void
  readonly isRevoked: IsRevoked
  readonly onUpdate: (uri: string) => void
  readonly chance: () => number
}) {
  const streams = createOpenStreams<EventStream>(deps)
  const onEnd = (ended: EventStream, reason: StreamEnd): void => {
    const { session } = ended
    streams.delete(ended)
    if (session.stream === ended) session.stream = undefined
    deps.onEnd(session, reason)
  }
  return {
    ...streams,
    /** Opens the session's stream and ends the one that was open: the newest wins (C3). */
    open(
      options: Omit<
        EventStreamOptions,
        'limits' | 'clock' | 'isRevoked' | 'onEnd' | 'onUpdate' | 'chance'
      >,
    ): void {
      const { session } = options
      session.stream?.end('taken-over')
      const stream = new EventStream({ ...deps, ...options, onEnd })
      session.stream = stream
      streams.add(stream)
      stream.open()
    },
  }
}
