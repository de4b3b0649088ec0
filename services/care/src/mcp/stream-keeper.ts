import type { ServerResponse } from 'node:http'
import type { Clock } from '@tallystick/service-kit'
import { EventStream, type StreamEnd } from './event-stream.ts'
import type { McpLimits } from './limits.ts'
import type { McpSession } from './session.ts'

/** Streams of all sessions: one timer for all of them keeps them alive and ends those whose token expired. */
export type StreamKeeper = {
  /** Opens the session's stream after a sequence, ending the one that was open: the newest wins (C3). */
  open(options: {
    readonly session: McpSession
    readonly response: ServerResponse
    readonly expiresAtMs: number
    readonly cursor: number
  }): void
  endAll(reason: StreamEnd): void
  count(): number
  framesSent(): number
}

/** Precision with which streams end at their token's expiry; frames are never written after it. */
const TICK_MS = 1_000

/** Builds the keeper; its timer runs only while a stream is open. */
export function createStreamKeeper(deps: {
  readonly clock: Clock
  readonly limits: McpLimits
  /** Called when a stream is over, with the session as it left it. */
  readonly onEnd: (session: McpSession, reason: StreamEnd) => void
}): StreamKeeper {
  const { clock, limits, onEnd } = deps
  const streams = new Set<EventStream>()
  // Keep-alives are spread over this many ticks, so that ten thousand streams are not written to at once.
  const ticksPerRound = Math.max(1, Math.floor(limits.keepAliveMs / TICK_MS))
  let framesSentByEnded = 0
  let tickCount = 0
  let cancelTick: (() => void) | undefined

  const tick = (): void => {
    cancelTick = undefined
    tickCount += 1
    const nowMs = clock.unixMs()
    for (const stream of streams) {
      if (stream.expiresAtMs <= nowMs) stream.end('token-expired')
      else if ((stream.session.number + tickCount) % ticksPerRound === 0) stream.keepAlive()
    }
    arm()
  }
  const arm = (): void => {
    if (streams.size > 0) cancelTick ??= clock.after(TICK_MS, tick)
  }
  const forget = (stream: EventStream, reason: StreamEnd): void => {
    streams.delete(stream)
    framesSentByEnded += stream.framesSent
    const { session } = stream
    if (session.stream === stream) session.stream = undefined
    if (streams.size === 0) {
      cancelTick?.()
      cancelTick = undefined
    }
    onEnd(session, reason)
  }

  return {
    open(options) {
      options.session.stream?.end('taken-over')
      const stream = new EventStream({ ...options, limits, clock, onEnd: forget })
      options.session.stream = stream
      streams.add(stream)
      stream.open()
      arm()
    },
    endAll(reason) {
      for (const stream of streams) stream.end(reason)
    },
    count: () => streams.size,
    framesSent: () =>
      [...streams].reduce((sum, stream) => sum + stream.framesSent, framesSentByEnded),
  }
}
