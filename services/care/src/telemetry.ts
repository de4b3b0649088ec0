// What the operator sees of the service besides one log line per request. No label and no line holds a URI, a name, an
// author or a value (S4, C9).
import { Counter, Gauge, Histogram, type Registry } from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import type { McpEvent, McpFigures } from './mcp/mcp-endpoint.ts'
import type { AuditRow } from './wire/write.ts'

/** Seconds: a commit is one write to disk that all concurrent writers share; a fan-out takes microseconds for each session. */
const WORK_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

export type Telemetry = {
  /** A record is handed to the store; the returned function says that it is durable. */
  readonly startCommit: () => () => void
  /** Every write, accepted or refused. */
  readonly onWrite: (row: AuditRow) => void
  readonly onMcp: (event: McpEvent) => void
}

export function createTelemetry(registry: Registry, logger?: FastifyBaseLogger): Telemetry {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const timing = (name: string, help: string) =>
    new Histogram({ name, help, buckets: WORK_BUCKETS_SECONDS, registers })
  const commit = timing(
    'care_store_commit_seconds',
    'From a record handed to the store to its being durable.',
  )
  const writes = counter('care_writes_total', 'Writes judged, by outcome, reason and path.', [
    'outcome',
    'reason',
    'via',
  ])
  const fanOut = timing(
    'care_fan_out_seconds',
    'From a durable record to its frames being written to every open stream that they are for.',
  )
  const ended = counter('care_sessions_ended_total', 'MCP sessions that ended, by reason.', [
    'reason',
  ])
  const streamsEnded = counter('care_streams_ended_total', 'Event streams that ended, by reason.', [
    'reason',
  ])
  const troubles = counter('care_troubles_total', 'Things that somebody may have to look at.', [
    'kind',
  ])
  return {
    startCommit: () => commit.startTimer(),
    onWrite({ outcome, reason, via }) {
      writes.inc({ outcome, reason, via })
      if (outcome === 'accepted') logger?.info({ via }, 'record published')
      else logger?.warn({ reason, via }, 'write refused')
    },
    onMcp(event) {
      switch (event.kind) {
        case 'fanned-out':
          fanOut.observe(event.seconds)
          return
        case 'session-ended':
        case 'stream-ended':
          ;(event.kind === 'session-ended' ? ended : streamsEnded).inc({ reason: event.reason })
          logger?.debug({ reason: event.reason }, event.kind)
          return
        case 'request-failed':
          troubles.inc({ kind: event.kind })
          logger?.error({ err: event.error }, event.kind)
          return
        case 'session-store-failed':
        case 'speech-failed':
          troubles.inc({ kind: event.kind })
          logger?.warn({ err: event.error }, event.kind)
      }
    },
  }
}

/** Registers counts that are read when somebody asks for them. */
export function registerFigures(
  registry: Registry,
  read: { readonly mcp: () => McpFigures; readonly replays: () => number },
): void {
  const registers = [registry]
  const gauge = (name: string, help: string, value: () => number): void => {
    const made: Gauge = new Gauge({ name, help, registers, collect: () => made.set(value()) })
  }
  const total = (name: string, help: string, value: () => number): void => {
    const collect = (): void => {
      made.reset()
      made.inc(value())
    }
    const made: Counter = new Counter({ name, help, registers, collect })
  }
  gauge('care_sessions', 'Open MCP sessions.', () => read.mcp().sessions)
  gauge('care_streams', 'Open event streams.', () => read.mcp().streams)
  gauge('care_subscriptions', 'Subscriptions of open sessions.', () => read.mcp().subscriptions)
  gauge(
    'care_frames_held',
    'Distinct frames that some session may still ask for.',
    () => read.mcp().framesHeld,
  )
  total('care_frames_sent_total', 'Frames written to streams.', () => read.mcp().framesSent)
  total('care_replays_total', 'Replays of chains begun.', read.replays)
}
