// What the operator sees of the service besides one log line per request. No label and no line holds a URI, a name, an
// author or a value (S4, C9), and no metric moves on a write of an internal record (C30): anyone may read them.
import type { WitnessProblem } from '@tallystick/journal-store'
import { Counter, Gauge, Histogram, type Registry } from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import type { EventReport } from './domain/event-subscription.ts'
import type { McpEndpoint, McpEvent } from './mcp/mcp-endpoint.ts'
import { parseRecordUri } from './wire/record-uri.ts'
import type { Audience } from './wire/records.ts'
import type { AuditRow } from './wire/write.ts'

/** Seconds: a commit is one write to disk shared by all concurrent writers; a fan-out takes microseconds per session. */
const WORK_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

const countersOf =
  (registry: Registry) =>
  <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })

export function createTelemetry(registry: Registry, logger?: FastifyBaseLogger) {
  const registers = [registry]
  const counter = countersOf(registry)
  const timing = (name: string, help: string) =>
    new Histogram({ name, help, buckets: WORK_BUCKETS_SECONDS, registers })
  const commit = timing(
    'care_store_commit_seconds',
    'From a record handed to the store to its being durable.',
  )
  const judged = 'Writes judged, by outcome, reason and path, without those of internal records.'
  const writes = counter('care_writes_total', judged, 'outcome', 'reason', 'via')
  const fanOut = timing(
    'care_fan_out_seconds',
    'From a durable record to its frames being written to every open stream that they are for.',
  )
  const over = 'that ended, by reason.'
  const ended = {
    'session-ended': counter('care_sessions_ended_total', `MCP sessions ${over}`, 'reason'),
    'stream-ended': counter('care_streams_ended_total', `Event streams ${over}`, 'reason'),
  }
  const silent = 'Corrections of speakable records that nobody heard within UNHEARD_MINUTES.'
  const unheardAlerts = counter('care_unheard_alerts_total', silent)
  const somebody = 'Things that somebody may have to look at.'
  const troubles = counter('care_troubles_total', somebody, 'kind')
  const trouble = (kind: string, level: 'warn' | 'error', facts: object): void => {
    troubles.inc({ kind })
    logger?.[level](facts, kind)
  }
  return {
    /** A record is handed to the store; call the returned function once it is durable. */
    startCommit: (audience: Audience): (() => void) =>
      audience === 'user' ? commit.startTimer() : () => undefined,
    /** Every write, accepted or refused. */
    onWrite: ({ outcome, reason, via, uri }: AuditRow): void => {
      const isInternal = uri !== undefined && parseRecordUri(uri)?.slot.audience !== 'user'
      if (!isInternal) writes.inc({ outcome, reason, via })
      if (outcome === 'accepted') logger?.info({ via }, 'record published')
      else logger?.warn({ reason, via }, 'write refused')
    },
    /** An alert could not be delivered. */
    onWebhookProblem: (err: Error): void => trouble('webhook-failed', 'error', { err }),
    /** A witness did not cosign. A refusal as forked or rolled back means that records were restored or altered. */
    onWitnessProblem: (witness: string, problem: WitnessProblem): void => {
      const isGrave = problem === 'forked' || problem === 'rolled_back'
      trouble(`witness-${problem}`, isGrave ? 'error' : 'warn', { witness, problem })
    },
    /** Keys of a trusted issuer could not be fetched. */
    onIssuerProblem: (err: Error): void => trouble('issuer-unavailable', 'warn', { err }),
    onEvents: eventTelemetry({ counter, trouble, logger }),
    onMcp: (event: McpEvent): void => {
      if (event.kind === 'fanned-out')
        return event.audience === 'user' ? fanOut.observe(event.seconds) : undefined
      if (event.kind === 'session-ended' || event.kind === 'stream-ended') {
        ended[event.kind].inc({ reason: event.reason })
        return logger?.debug({ reason: event.reason }, event.kind)
      }
      if (event.kind === 'unheard') {
        unheardAlerts.inc()
        return logger?.warn('a correction has not been heard: GET /unheard names it')
      }
      const level = event.kind === 'request-failed' ? 'error' : 'warn'
      return trouble(event.kind, level, { err: event.error })
    },
  }
}

function eventTelemetry(of: {
  readonly counter: ReturnType<typeof countersOf>
  readonly trouble: (kind: string, level: 'error', facts: object) => void
  readonly logger: FastifyBaseLogger | undefined
}) {
  const { counter, logger, trouble } = of
  const attempts = 'Attempts to deliver an event about a speakable record, by outcome.'
  const deliveries = counter('care_event_deliveries_total', attempts, 'outcome')
  const over = 'Event subscriptions that ended or were suspended, by reason.'
  const ended = counter('care_event_subscriptions_ended_total', over, 'reason')
  return (report: EventReport): void => {
    if (report.kind === 'delivery') return deliveries.inc({ outcome: report.outcome })
    if (report.kind === 'ended') {
      ended.inc({ reason: report.reason })
      return logger?.info({ reason: report.reason }, 'event subscription ended')
    }
    return trouble('events-failed', 'error', { err: report.error })
  }
}

/** Registers counts that are read at each scrape. */
export function registerFigures(
  registry: Registry,
  read: {
    readonly mcp: McpEndpoint['figures']
    readonly replays: () => number
    readonly events: () => number
  },
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
  const { events, mcp, replays } = read
  const held = 'Distinct frames about speakable records that some session may still request.'
  gauge('care_sessions', 'Open MCP sessions.', () => mcp().sessions)
  gauge('care_streams', 'Open event streams.', () => mcp().streams)
  gauge('care_subscriptions', 'Subscriptions of open sessions.', () => mcp().subscriptions)
  gauge('care_frames_held', held, () => mcp().framesHeld)
  const silent = 'Corrections that nobody has heard for longer than UNHEARD_MINUTES.'
  gauge('care_unheard_corrections', silent, () => mcp().unheard)
  const noStream = 'Sessions that follow a record and have had no stream for over SILENT_SECONDS.'
  gauge('care_silent_sessions', noStream, () => mcp().silent)
  gauge('care_event_subscriptions', 'Event subscriptions that this process delivers.', events)
  total(
    'care_frames_sent_total',
    'Frames about speakable records written to streams.',
    () => mcp().framesSent,
  )
  total('care_replays_total', 'Replays of chains begun.', replays)
}
