/**
 * An event stream that stays open, for a session or a listen: it is kept alive, ends with the token that opened it, and is cut
 * when its reader lags too far behind (C3, C21). event-streams.ts and listens.ts decide what it says.
 */
import type { ServerResponse } from 'node:http'
import type { IsRevoked, TokenClaims } from '@tallystick/jwt-lite'
import type { Clock } from '@tallystick/service-kit'
import type { JournalFollower } from './journal-follower.ts'
import type { McpLimits } from './limits.ts'

export type StreamEnd =
  /** The client left, or its connection broke. */
  | 'gone'
  | 'taken-over'
  /** Other processes took this one for dead. */
  | 'forgotten'
  | 'token-expired'
  | 'token-revoked'
  /** The reader lagged too far behind; it may resume. */
  | 'slow'
  | 'session-ended'
  /** The journals could not be read for it; its client comes again. */
  | 'unreadable'
  | 'shutdown'
  /** A listen to nothing that its principal may read. */
  | 'nothing-granted'

export type OpenStreamOptions = {
  readonly response: ServerResponse
  /** Of the token that opened it. */
  readonly claims: TokenClaims
  readonly isRevoked: IsRevoked
  readonly limits: McpLimits
  readonly clock: Clock
  /** The reader was told that a record it follows has changed. */
  readonly onUpdate: (uri: string, version: number) => void
  /** Called once. Each kind is given its own streams. */
  onEnd(stream: OpenStream, reason: StreamEnd): void
}

/** How long a reader that lags has for the last words, behind what already waits in its socket's queue. */
const LAST_WORDS_MS = 5_000

/** Ten thousand are open at once: values that all of a kind share are not fields. */
export abstract class OpenStream<Options extends OpenStreamOptions = OpenStreamOptions> {
  /** Frames about speakable records written so far. */
  framesSent = 0
  readonly options: Options
  /** When the reader stopped accepting data. */
  #stalledSinceMs: number | undefined
  #hasEnded = false

  constructor(options: Options) {
    this.options = options
    const { response } = options
    // An error is followed by `close`; without a listener it would end the process.
    response.on('error', () => undefined)
    response.on('close', () => this.#finish('gone'))
    response.on('drain', () => {
      this.#stalledSinceMs = undefined
      this.onDrain()
    })
  }

  get isStalled(): boolean {
    return this.#stalledSinceMs !== undefined
  }

  /** A comment, so that neither side takes silence for a dead connection; it also reveals readers that accept nothing. */
  protected abstract get keepAliveText(): string
  /** The reader has begun to accept nothing. */
  protected abstract onStall(): void
  /** It accepts data again. */
  protected abstract onDrain(): void
  /** What has arrived for a stalled reader. */
  protected abstract backlog(): { readonly frames: number; readonly bytes: number }
  protected abstract lastWords(reason: StreamEnd): string

  keepAlive(): void {
    if (this.isStalled) this.cutIfTooSlow()
    else this.write(this.keepAliveText)
  }

  /** Ends it if its token is no longer good; returns whether it has ended. */
  isOver(): boolean {
    const { claims, clock, isRevoked } = this.options
    if (claims.expiresAtSeconds * 1_000 <= clock.unixMs()) this.end('token-expired')
    else if (isRevoked(claims)) this.end('token-revoked')
    return this.#hasEnded
  }

  end(reason: StreamEnd): void {
    if (this.#hasEnded) return
    this.#finish(reason)
    const { clock, response } = this.options
    const isLagging = reason === 'slow' || this.isStalled
    if (isLagging && reason === 'shutdown') return void response.destroy()
    response.end(this.lastWords(reason))
    if (isLagging)
      response.once(
        'close',
        clock.after(LAST_WORDS_MS, () => response.destroy()),
      )
    return undefined
  }

  /** What is written to a reader that accepts nothing waits in its socket's queue. */
  protected write(text: string): void {
    if (this.#hasEnded || this.options.response.write(text) || this.isStalled) return
    this.#stalledSinceMs = this.options.clock.unixMs()
    this.onStall()
  }

  protected cutIfTooSlow(): void {
    if (this.#stalledSinceMs === undefined) return
    const { clock, limits } = this.options
    const { frames, bytes } = this.backlog()
    const isTooSlow =
      frames > limits.lagFramesMax ||
      bytes > limits.lagBytesMax ||
      clock.unixMs() - this.#stalledSinceMs > limits.stallMs
    if (isTooSlow) this.end('slow')
  }

  #finish(reason: StreamEnd): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.options.onEnd(this, reason)
  }
}

/** How precisely streams end when their token expires; frames are never written after that. */
const TICK_MS = 1_000

/** The open streams of one kind. While there are any, one timer keeps them alive and ends those whose token is no longer good. */
export function createOpenStreams<Stream extends OpenStream>(deps: {
  readonly clock: Clock
  readonly limits: Pick<McpLimits, 'keepAliveMs'>
  readonly follower: Pick<JournalFollower, 'join' | 'leave' | 'wake'>
  /** Has them say what happened. */
  readonly tell: Parameters<JournalFollower['join']>[0]
}) {
  const { clock, follower, limits, tell } = deps
  /** Each with a number, which spreads the keep-alives of many over time. */
  const streams = new Map<Stream, number>()
  // Keep-alives are spread over this many ticks, so that ten thousand streams are not written to at once.
  const ticksPerRound = Math.max(1, Math.floor(limits.keepAliveMs / TICK_MS))
  let framesSentByEnded = 0
  let [tickCount, opened] = [0, 0]
  let cancelTick: (() => void) | undefined

  const tick = (): void => {
    cancelTick = undefined
    tickCount += 1
    for (const [stream, number] of streams)
      if (!stream.isOver() && (number + tickCount) % ticksPerRound === 0) stream.keepAlive()
    follower.wake()
    arm()
  }
  const arm = (): void => {
    if (streams.size > 0) cancelTick ??= clock.after(TICK_MS, tick)
  }

  return {
    all: () => streams.keys(),
    add(stream: Stream): void {
      if (streams.size === 0) follower.join(tell)
      opened += 1
      streams.set(stream, opened)
      arm()
    },
    /** One has ended. */
    delete(stream: Stream): void {
      streams.delete(stream)
      framesSentByEnded += stream.framesSent
      if (streams.size > 0) return
      follower.leave(tell)
      cancelTick?.()
      cancelTick = undefined
    },
    endAll(reason: StreamEnd): void {
      for (const stream of streams.keys()) stream.end(reason)
    },
    count: () => streams.size,
    framesSent: () =>
      [...streams.keys()].reduce((sum, { framesSent }) => sum + framesSent, framesSentByEnded),
  }
}
