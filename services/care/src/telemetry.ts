// What the operator sees of the service besides one log line per request. No label and no line holds a URI, a name, an
// author or a value (S4, C9).
import { Counter, Gauge, Histogram, type Registry } from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import type { AuditTrail } from './domain/publish-record.ts'
import type { RecordStore } from './domain/record-store.ts'
import type { McpEvent, McpFigures } from './mcp/mcp-endpoint.ts'
import type { AuditRow } from './wire/write.ts'

/** Seconds: a commit is one write to disk that everybody present shares; a fan-out takes microseconds for each session. */
const WORK_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

/** The same append; how long a record takes to be durable is measured. */
export function timedAppend(
  append: RecordStore['append'],
  watch: { readonly registry: Registry; readonly nowMs: () => number },
): RecordStore['append'] {
  const commit = new Histogram({
    name: 'care_store_commit_seconds',
    help: 'From a record handed to the store to its being durable.',
    buckets: WORK_BUCKETS_SECONDS,
    registers: [watch.registry],
  })
  return async (record, request) => {
    const startedMs = watch.nowMs()
    try {
      return await append(record, request)
    } finally {
      commit.observe((watch.nowMs() - startedMs) / 1_000)
    }
  }
}

/** The same trail, every row counted and logged; the one place through which all writes pass. */
export function observedAudit(
  audit: AuditTrail,
  watch: { readonly registry: Registry; readonly logger?: FastifyBaseLogger | undefined },
): AuditTrail {
  const writes = new Counter({
    name: 'care_writes_total',
    help: 'Writes judged, by outcome, reason and path.',
    labelNames: ['outcome', 'reason', 'via'] as const,
    registers: [watch.registry],
  })
  return {
    add: (row: AuditRow) => {
      const { outcome, reason, via } = row
      writes.inc({ outcome, reason, via })
      if (outcome === 'accepted') watch.logger?.info({ via }, 'record published')
      else watch.logger?.warn({ reason, via }, 'write refused')
      return audit.add(row)
    },
    read: (query) => audit.read(query),
    close: () => audit.close(),
  }
}

type Figure = { readonly help: string; readonly read: () => number }

/**
 * Registers figures that are read at the moment of asking, by metric name. One that ends in `_total` only grows while the
 * process lives, and is a counter; any other is a gauge.
 */
export function registerFigures(
  registry: Registry,
  figures: Readonly<Record<string, Figure>>,
): void {
  for (const [name, { help, read }] of Object.entries(figures)) {
    if (name.endsWith('_total')) {
      const total: Counter = new Counter({
        name,
        help,
        registers: [registry],
        collect() {
          total.reset()
          total.inc(read())
        },
      })
    } else {
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          gauge.set(read())
        },
      })
    }
  }
}

/** The MCP side's counts as figures. */
export function mcpFigures(read: () => McpFigures): Readonly<Record<string, Figure>> {
  return {
    care_sessions: { help: 'Open MCP sessions.', read: () => read().sessions },
    care_streams: { help: 'Open event streams.', read: () => read().streams },
    care_subscriptions: {
      help: 'Subscriptions of open sessions.',
      read: () => read().subscriptions,
    },
    care_frames_held: {
      help: 'Distinct frames that some session may still ask for.',
      read: () => read().framesHeld,
    },
    care_frames_sent_total: { help: 'Frames written to streams.', read: () => read().framesSent },
  }
}

/** A listener that logs and measures what the MCP side reports; its counts are figures. */
export function observeMcp(
  registry: Registry,
  logger: FastifyBaseLogger | undefined,
): (event: McpEvent) => void {
  const fanOut = new Histogram({
    name: 'care_fan_out_seconds',
    help: 'From a durable record to its frames being written to every open stream that they are for.',
    buckets: WORK_BUCKETS_SECONDS,
    registers: [registry],
  })
  const ended = new Counter({
    name: 'care_sessions_ended_total',
    help: 'MCP sessions that ended, by reason.',
    labelNames: ['reason'] as const,
    registers: [registry],
  })
  const streamsEnded = new Counter({
    name: 'care_streams_ended_total',
    help: 'Event streams that ended, by reason.',
    labelNames: ['reason'] as const,
    registers: [registry],
  })
  const troubles = new Counter({
    name: 'care_troubles_total',
    help: 'Things that somebody may have to look at.',
    labelNames: ['kind'] as const,
    registers: [registry],
  })
  return (event) => {
    switch (event.kind) {
      case 'fanned-out':
        fanOut.observe(event.seconds)
        return
      case 'session-ended':
        ended.inc({ reason: event.reason })
        logger?.debug({ reason: event.reason }, event.kind)
        return
      case 'stream-ended':
        streamsEnded.inc({ reason: event.reason })
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
  }
}
