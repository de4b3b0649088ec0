import type { Clock } from '@tallystick/service-kit'
import type { StreamEnd } from './event-streams.ts'

/** A stream of events, as far as time concerns it. */
export type TickedStream = {
  /** Spreads the keep-alives of many streams over time. */
  readonly number: number
  /** When the token that opened it expires, Unix milliseconds. */
  readonly expiresAtMs: number
  /** Whether that token was revoked since. */
  isRevoked(): boolean
  keepAlive(): void
  end(reason: StreamEnd): void
}

/** How precisely streams end when their token expires; frames are never written after that. */
const TICK_MS = 1_000

/** The open streams of one kind. While there are any, one timer keeps them alive and ends those whose token is no longer good. */
export function createStreamTicker<Stream extends TickedStream>(deps: {
  readonly clock: Clock
  /** At most this long between two signs of life. */
  readonly keepAliveMs: number
}) {
  const { clock, keepAliveMs } = deps
  const streams = new Set<Stream>()
  // Keep-alives are spread over this many ticks, so that ten thousand streams are not written to at once.
  const ticksPerRound = Math.max(1, Math.floor(keepAliveMs / TICK_MS))
  let tickCount = 0
  let cancelTick: (() => void) | undefined

  const tick = (): void => {
    cancelTick = undefined
    tickCount += 1
    const nowMs = clock.unixMs()
    for (const stream of streams) {
      if (stream.expiresAtMs <= nowMs) stream.end('token-expired')
      else if (stream.isRevoked()) stream.end('token-revoked')
      else if ((stream.number + tickCount) % ticksPerRound === 0) stream.keepAlive()
    }
    arm()
  }
  const arm = (): void => {
    if (streams.size > 0) cancelTick ??= clock.after(TICK_MS, tick)
  }

  return {
    streams: streams as ReadonlySet<Stream>,
    add(stream: Stream): void {
      streams.add(stream)
      arm()
    },
    delete(stream: Stream): void {
      streams.delete(stream)
      if (streams.size > 0) return
      cancelTick?.()
      cancelTick = undefined
    },
  }
}
