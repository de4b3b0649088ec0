/**
 * Hands finished spans to a collector over OTLP/HTTP. Only a process with OTEL_EXPORTER_OTLP_ENDPOINT loads this file's
 * libraries. Nobody waits for a collector: what it does not take in time is lost, and the log says so.
 */
import { type SpanContext, SpanKind, SpanStatusCode, type TraceState } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace'
import type { FastifyBaseLogger } from 'fastify'
import { atMost, type Clock } from './clock.ts'
import { finishedSpans, type Span, type TraceContext, untraced } from './traces.ts'

/** What waits for the collector, some 2 MB: ten seconds of a busy service. Further spans are dropped. */
const WAITING_SPANS_MAX = 2_048
/** Spans of one message, some 300 KB. */
const MESSAGE_SPANS_MAX = 512
/** How long spans are gathered, milliseconds. */
const GATHER_MS = 1_000
/** For one message with its repetitions, milliseconds: a collector answers from memory. */
const EXPORT_MS = 5_000
/** How long the end of the process waits for the last spans, milliseconds: what a stop may take (S6) is for the requests. */
const LAST_SPANS_MS = 1_000

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0]
/** The library's code of one that has an error. */
const REFUSED = 1

type ExportOptions = {
  /** Where the collector listens; `/v1/traces` is appended. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly serviceName: string
  readonly clock: Pick<Clock, 'after'>
  readonly logger: Pick<FastifyBaseLogger, 'info' | 'warn'>
}

const highResolution = (ms: number): [seconds: number, nanoseconds: number] => [
  Math.floor(ms / 1_000),
  Math.floor((ms % 1_000) * 1_000_000),
]

function spanContext({ isSampled, spanId, state, traceId }: TraceContext): SpanContext {
  const context = { traceId, spanId, traceFlags: Number(isSampled) }
  if (state === undefined) return context
  const traceState: TraceState = {
    serialize: () => state,
    get: () => undefined,
    set: () => traceState,
    unset: () => traceState,
  }
  return { ...context, traceState }
}

function readableSpan(span: Span, resource: Resource): ReadableSpan {
  const { attributes, durationMs, endMs, isError, kind, name, trace } = span
  const { parentId } = trace
  return {
    name,
    kind: kind === 'server' ? SpanKind.SERVER : SpanKind.CLIENT,
    spanContext: () => spanContext(trace),
    ...(parentId !== undefined && {
      parentSpanContext: {
        ...spanContext({ ...trace, spanId: parentId }),
        isRemote: kind === 'server',
      },
    }),
    startTime: highResolution(endMs - durationMs),
    endTime: highResolution(endMs),
    duration: highResolution(durationMs),
    status: { code: isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes,
    resource,
    instrumentationScope: { name: 'tallystick' },
    ended: true,
    links: [],
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

/** Exports the spans of this process from now on; `end` hands over the last ones. */
export function exportSpans(options: ExportOptions) {
  const { clock, endpoint, headers, logger, serviceName } = options
  const resource = resourceFromAttributes({ 'service.name': serviceName })
  const otlp = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    ...(headers !== undefined && { headers }),
    timeoutMillis: EXPORT_MS,
    // What a stop may send at once.
    concurrencyLimit: WAITING_SPANS_MAX / MESSAGE_SPANS_MAX,
  })
  let [waitingCount, droppedCount, isTaken] = [0, 0, true]
  const settle = (spans: number, { error }: ExportResult): void => {
    const wasTaken = isTaken
    isTaken = error === undefined
    waitingCount -= spans
    if (!isTaken) droppedCount += spans
    if (wasTaken && !isTaken) logger.warn({ err: error }, 'the collector takes no spans')
    if (!wasTaken && isTaken) logger.info({}, 'the collector takes spans again')
  }
  const exporter: SpanExporter = {
    // The library's own limit is on silence: a collector that answers byte by byte would never end.
    export: (spans, done) =>
      untraced(() => {
        const end = (result: ExportResult): void => {
          if (isEnded) return
          isEnded = true
          cancel()
          settle(spans.length, result)
          done(result)
        }
        let isEnded = false
        const late = { code: REFUSED, error: new Error(`no answer within ${EXPORT_MS} ms`) }
        const cancel = clock.after(EXPORT_MS, () => end(late))
        otlp.export(spans, end)
      }),
    shutdown: () => otlp.shutdown(),
  }
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: WAITING_SPANS_MAX,
    maxExportBatchSize: MESSAGE_SPANS_MAX,
    scheduledDelayMillis: GATHER_MS,
    // The exporter has given up by then.
    exportTimeoutMillis: 2 * EXPORT_MS,
  })
  const hear = (span: unknown): void => {
    if (waitingCount >= WAITING_SPANS_MAX) {
      droppedCount += 1
      return
    }
    waitingCount += 1
    processor.onEnd(readableSpan(span as Span, resource))
  }
  finishedSpans.subscribe(hear)
  return {
    /** Spans that no collector took, since the start. */
    droppedCount: () => droppedCount,
    end: async (): Promise<void> => {
      finishedSpans.unsubscribe(hear)
      const flushed = processor.shutdown().catch(() => undefined)
      await atMost(clock, LAST_SPANS_MS, flushed)
    },
  }
}
