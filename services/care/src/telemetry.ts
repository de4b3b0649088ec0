// What the operator sees of the service besides one log line per request. No label and no line holds a URI, a name, an
// author or a value (S4, C9), and no metric moves on a write of an internal record (C30): anyone may read them.
import {
  POSTGRES_FIGURES,
  type PostgresFigures,
  type WitnessProblem,
} from '@tallystick/journal-store'
import {
  createMetrics,
  type MetricTable,
  measureFigures,
  type Registry,
} from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import type { EventReport } from './domain/event-subscription.ts'
import type { McpEndpoint, McpEvent } from './mcp/mcp-endpoint.ts'
import type { Audience } from './wire/audience.ts'
import { parseRecordUri } from './wire/record-uri.ts'
import type { AuditRow } from './wire/write.ts'

/** Seconds: a commit is one write to disk shared by all concurrent writers; a fan-out takes microseconds per session. */
const WORK_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

const OVER = 'that ended, by reason.'
const SILENT = 'Corrections of speakable records that nobody heard within UNHEARD_MINUTES.'

/** Every metric of this service. */
export const METRICS = {
  care_store_commit_seconds: {
    kind: 'histogram',
    help: 'From a record handed to the store to its being durable.',
    bucketsSeconds: WORK_BUCKETS_SECONDS,
  },
  care_writes_total: {
    kind: 'counter',
    help: 'Writes judged, by outcome, reason and path, without those of internal records.',
    labels: ['outcome', 'reason', 'via'],
  },
  care_fan_out_seconds: {
    kind: 'histogram',
    help: 'From a durable record to its frames being written to every open stream that they are for.',
    bucketsSeconds: WORK_BUCKETS_SECONDS,
  },
  care_sessions_ended_total: { kind: 'counter', help: `MCP sessions ${OVER}`, labels: ['reason'] },
  care_streams_ended_total: { kind: 'counter', help: `Event streams ${OVER}`, labels: ['reason'] },
  care_unheard_alerts_total: { kind: 'counter', help: SILENT },
  care_troubles_total: {
    kind: 'counter',
    help: 'Things that somebody may have to look at.',
    labels: ['kind'],
  },
  care_event_deliveries_total: {
    kind: 'counter',
    help: 'Attempts to deliver an event about a speakable record, by outcome.',
    labels: ['outcome'],
  },
  care_event_subscriptions_ended_total: {
    kind: 'counter',
    help: 'Event subscriptions that ended or were suspended, by reason.',
    labels: ['reason'],
  },
  care_sessions: { kind: 'gauge', help: 'Open MCP sessions.' },
  care_streams: { kind: 'gauge', help: 'Open event streams.' },
  care_subscriptions: { kind: 'gauge', help: 'Subscriptions of open sessions.' },
  care_unheard_corrections: {
    kind: 'gauge',
    help: 'Corrections that nobody has heard for longer than UNHEARD_MINUTES.',
  },
  care_silent_sessions: {
    kind: 'gauge',
    help: 'Sessions that follow a record and have had no stream for over SILENT_SECONDS.',
  },
  care_event_subscriptions: {
    kind: 'gauge',
    help: 'Event subscriptions that this process delivers.',
  },
  care_frames_sent_total: {
    kind: 'counter',
    help: 'Frames about speakable records written to streams.',
  },
  care_replays_total: { kind: 'counter', help: 'Replays of chains begun.' },
} as const satisfies MetricTable

type Metrics = ReturnType<typeof createCareMetrics>
const createCareMetrics = (registry: Registry) => createMetrics(registry, METRICS)

const ENDED = {
  'session-ended': 'care_sessions_ended_total',
  'stream-ended': 'care_streams_ended_total',
} as const

export function createTelemetry(registry: Registry, logger?: FastifyBaseLogger) {
  const metrics = createCareMetrics(registry)
  const { count, observe, startTimer } = metrics
  const trouble = (kind: string, level: 'warn' | 'error', facts: object): void => {
    count('care_troubles_total', { kind })
    logger?.[level](facts, kind)
  }
  return {
    /** A record is handed to the store; call the returned function once it is durable. */
    startCommit: (audience: Audience): (() => void) =>
      audience === 'user' ? startTimer('care_store_commit_seconds') : () => undefined,
    /** Every write, accepted or refused. */
    onWrite: ({ outcome, reason, via, uri }: AuditRow): void => {
      const isInternal = uri !== undefined && parseRecordUri(uri)?.slot.audience !== 'user'
      if (!isInternal) count('care_writes_total', { outcome, reason, via })
      if (outcome === 'accepted') logger?.info({ via }, 'record published')
      else logger?.warn({ reason, via }, 'write refused')
    },
    /** From now on these figures are read at each scrape. */
    measure: ({ postgres, ...figures }: Figures): void => {
      readFigures(metrics, figures)
      if (postgres !== undefined)
        measureFigures(registry, { prefix: 'postgres', helps: POSTGRES_FIGURES, read: postgres })
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
    onEvents: reportEvents(metrics, trouble, logger),
    onMcp: (event: McpEvent): void => {
      if (event.kind === 'fanned-out')
        return event.audience === 'user'
          ? observe('care_fan_out_seconds', event.seconds)
          : undefined
      if (event.kind === 'session-ended' || event.kind === 'stream-ended') {
        count(ENDED[event.kind], { reason: event.reason })
        return logger?.debug({ reason: event.reason }, event.kind)
      }
      if (event.kind === 'unheard') {
        count('care_unheard_alerts_total')
        return logger?.warn('a correction has not been heard: GET /unheard names it')
      }
      const level = event.kind === 'request-failed' ? 'error' : 'warn'
      return trouble(event.kind, level, { err: event.error })
    },
  }
}

function reportEvents(
  { count }: Metrics,
  trouble: (kind: string, level: 'error', facts: object) => void,
  logger: FastifyBaseLogger | undefined,
) {
  return (report: EventReport): void => {
    if (report.kind === 'delivery')
      return count('care_event_deliveries_total', { outcome: report.outcome })
    if (report.kind === 'ended') {
      count('care_event_subscriptions_ended_total', { reason: report.reason })
      return logger?.info({ reason: report.reason }, 'event subscription ended')
    }
    return trouble('events-failed', 'error', { err: report.error })
  }
}

/** Counts that are read at each scrape. */
type Figures = {
  readonly mcp: McpEndpoint['figures']
  readonly replays: () => number
  readonly events: () => number
  /** Absent with a file. */
  readonly postgres?: (() => PostgresFigures) | undefined
}

function readFigures(
  { read, readTogether }: Metrics,
  { events, mcp, replays }: Omit<Figures, 'postgres'>,
): void {
  readTogether(mcp, {
    care_sessions: ({ sessions }) => sessions,
    care_streams: ({ streams }) => streams,
    care_subscriptions: ({ subscriptions }) => subscriptions,
    care_unheard_corrections: ({ unheard }) => unheard,
    care_silent_sessions: ({ silent }) => silent,
    care_frames_sent_total: ({ framesSent }) => framesSent,
  })
  read('care_event_subscriptions', (show) => show(events()))
  read('care_replays_total', (show) => show(replays()))
}
