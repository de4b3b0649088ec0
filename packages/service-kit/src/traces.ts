/**
 * The trace of the work under way: every request brings or begins one, every log line shows it, and every HTTP call passes it
 * on. Finished spans go to whoever listens (export-spans.ts); nobody does by default.
 *
 * Calls are found where Node reports them, so that none is missed, whichever library makes it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { channel, subscribe } from 'node:diagnostics_channel'
import type {
  ClientRequest,
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
} from 'node:http'
import type { ClientHttp2Stream } from 'node:http2'
import { isIPv6 } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { systemClock } from './clock.ts'
import type { ServiceApp } from './service-app.ts'

/** Where a request stands in a trace, as W3C Trace Context writes it into `traceparent` and `tracestate`. */
export type TraceContext = {
  /** 32 lower-case hex digits. */
  readonly traceId: string
  /** 16 lower-case hex digits. */
  readonly spanId: string
  /** The span of whoever asked; absent where the trace begins. */
  readonly parentId?: string | undefined
  /** Whoever asked may have kept its span, or this service keeps its own. */
  readonly isSampled: boolean
  /** `tracestate`, which nobody here reads. */
  readonly state?: string | undefined
}

/** A version that we do not know may say more behind the four fields; ours may not. */
const TRACEPARENT =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/
const SAMPLED = 1

/** What everybody must pass on, characters; a longer one is left out whole, so that our own heads stay small. */
const STATE_CHARS_MAX = 512
const STATE_MEMBERS_MAX = 32
const PRINTABLE = /^[\x20-\x7e]+$/

function passedState(state: string | readonly string[] | undefined): string | undefined {
  if (typeof state !== 'string' || state.length > STATE_CHARS_MAX) return undefined
  return PRINTABLE.test(state) && state.split(',').length <= STATE_MEMBERS_MAX ? state : undefined
}

/** Of UUIDs, since Node draws the randomness of many at once: a thirtieth of the cost of drawing bytes. The last 14 digits are all random. */
const newTraceId = (): string => randomUUID().replaceAll('-', '')

/** The digits of a UUID that are all random. */
function newSpanId(): string {
  const uuid = randomUUID()
  return uuid.slice(-12) + uuid.slice(0, 4)
}

/** A span below another one. */
const childTrace = (parent: TraceContext): TraceContext => ({
  ...parent,
  spanId: newSpanId(),
  parentId: parent.spanId,
})

/** Takes a request's trace up; begins one where it has none or a bad one. */
export function takeTrace(headers: IncomingHttpHeaders, keepsSpans: boolean): TraceContext {
  const { traceparent, tracestate } = headers
  const [, version, traceId, spanId, flags = '', rest] =
    (typeof traceparent === 'string' && TRACEPARENT.exec(traceparent)) || []
  if (traceId === undefined || spanId === undefined || (version === '00' && rest !== undefined))
    return { traceId: newTraceId(), spanId: newSpanId(), isSampled: keepsSpans }
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0
  return childTrace({ traceId, spanId, isSampled, state: passedState(tracestate) })
}

/** The headers that pass it on. */
export function traceHeaders({ isSampled, spanId, state, traceId }: TraceContext) {
  const parent = `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
  const headers: [name: string, value: string][] = [['traceparent', parent]]
  if (state !== undefined) headers.push(['tracestate', state])
  return headers
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What it began; null before the first hook. */
    work: Work | null
  }
}

/** Work of some length. No attribute holds a path, a query, an address of a person or a header (S14). */
export type Span = {
  readonly kind: 'server' | 'client'
  readonly name: string
  readonly trace: TraceContext
  readonly endMs: number
  readonly durationMs: number
  /** Under the stable names of OpenTelemetry's HTTP conventions. */
  readonly attributes: Readonly<Record<string, string | number>>
  readonly isError: boolean
}

/** Finished spans of this process that whoever asked wants kept. */
export const finishedSpans = channel('tallystick.spans')

const finish = (span: Omit<Span, 'endMs'>): void => {
  if (span.trace.isSampled && finishedSpans.hasSubscribers)
    finishedSpans.publish({ ...span, endMs: systemClock.unixMs() } satisfies Span)
}

/** What a request began. Its trace is made once somebody wants it, so that a request that logs nothing and calls nobody pays nothing. */
class Work {
  readonly #beganMs = performance.now()
  readonly #headers: IncomingHttpHeaders
  readonly #isShown: boolean
  #trace: TraceContext | undefined

  constructor(headers: IncomingHttpHeaders, isShown: boolean) {
    this.#headers = headers
    this.#isShown = isShown
  }

  get isOld(): boolean {
    return performance.now() - this.#beganMs > WORK_MS
  }

  get trace(): TraceContext {
    if (this.#trace === undefined) {
      const taken = takeTrace(this.#headers, finishedSpans.hasSubscribers)
      this.#trace = this.#isShown ? taken : { ...taken, isSampled: false }
    }
    return this.#trace
  }
}

/**
 * How long work belongs to the request that began it, milliseconds: longer than a settlement is looked for. What outlives
 * that, such as a loop that a request happened to start, is nobody's.
 */
const WORK_MS = 600_000

const current = new AsyncLocalStorage<Work | undefined>()

function currentTrace(): TraceContext | undefined {
  const work = current.getStore()
  return work === undefined || work.isOld ? undefined : work.trace
}

/** Runs what belongs to no request, and whose calls are nobody's spans. */
export const untraced = <Result>(run: () => Result): Result => current.run(undefined, run)

/** What a log line says of the trace, under the names that collectors look for. */
export function traceFields(): { readonly trace_id?: string; readonly span_id?: string } {
  const trace = currentTrace()
  return trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId }
}

/** Runs in the trace of a request. */
export function inTrace(request: FastifyRequest, run: () => void, isShown = true): void {
  request.work ??= new Work(request.headers, isShown)
  if (current.getStore() === request.work) run()
  else current.run(request.work, run)
}

/** Gives every request its trace; no span shows one that is not shown, nor its calls. To be added before all other hooks. */
export function traceRequests(
  app: ServiceApp,
  isShown: (request: FastifyRequest) => boolean,
): void {
  watchCalls()
  app.decorateRequest('work', null)
  app.addHook('onRequest', (request, _reply, done) => inTrace(request, done, isShown(request)))
  // The body has come in meanwhile, as events of the connection.
  app.addHook('preValidation', (request, _reply, done) => inTrace(request, done))
}

/** Ends the span of an answered request; `route` is the route's pattern, absent where no route matched. */
export function finishRequest(
  request: FastifyRequest,
  { elapsedTime, statusCode }: FastifyReply,
  route: string | undefined,
): void {
  const { method, protocol, work } = request
  if (work === null || !finishedSpans.hasSubscribers) return
  const isError = statusCode >= 500
  finish({
    kind: 'server',
    name: route === undefined ? method : `${method} ${route}`,
    trace: work.trace,
    durationMs: elapsedTime,
    attributes: {
      'http.request.method': method,
      'http.response.status_code': statusCode,
      'url.scheme': protocol,
      ...(route !== undefined && { 'http.route': route }),
      ...(isError && { 'error.type': String(statusCode) }),
    },
    isError,
  })
}

type CallAttributes = Span['attributes']

type Call = { readonly trace: TraceContext; readonly url: string; readonly method: string }

/** Requests of Node's client or of its `fetch` whose spans are kept, until they are answered. */
const calls = new WeakMap<object, Call & { readonly startMs: number }>()

function beginCall(request: object, call: Call): void {
  if (call.trace.isSampled && finishedSpans.hasSubscribers)
    calls.set(request, { ...call, startMs: performance.now() })
}

/** Whom a call is for: of its address only host and port, since the rest may name a record or hold a key. */
function targetAttributes({ method, url }: Call): CallAttributes {
  const { hostname, port, protocol } = URL.parse(url) ?? {}
  const known = Number(port) || (protocol === 'https:' ? 443 : 80)
  return {
    'http.request.method': method,
    'server.port': known,
    ...(hostname !== undefined && { 'server.address': hostname }),
  }
}

/** An error's code or name, never its message. */
function errorType({ error, status = 0 }: CallEnd): string | undefined {
  if (error instanceof Error) return 'code' in error ? String(error.code) : error.name
  return status >= 400 ? String(status) : undefined
}

type CallEnd = { readonly status?: number | undefined; readonly error?: unknown }

function finishCall(request: object, end: CallEnd): void {
  const call = calls.get(request)
  if (call === undefined) return
  calls.delete(request)
  const failure = errorType(end)
  finish({
    kind: 'client',
    name: call.method,
    trace: call.trace,
    durationMs: performance.now() - call.startMs,
    attributes: {
      ...targetAttributes(call),
      ...(end.status !== undefined && { 'http.response.status_code': end.status }),
      ...(failure !== undefined && { 'error.type': failure }),
    },
    isError: failure !== undefined,
  })
}

/** Node's client and its `fetch` say these of a call. */
type ClientMessage = {
  readonly request: ClientRequest
  readonly response?: IncomingMessage
  readonly error?: unknown
}
type StreamMessage = {
  readonly stream: ClientHttp2Stream
  readonly headers: OutgoingHttpHeaders
  readonly error?: unknown
}
type FetchMessage = {
  readonly request: {
    readonly method: string
    readonly origin: string | URL
    addHeader(name: string, value: string): void
  }
  readonly response?: { readonly statusCode: number }
  readonly error?: unknown
}

/** x402 writes the heads of its calls as lists, which nobody can add to later, and says so before (http-json.ts). */
type ListedMessage = { readonly url: string; readonly headers: string[] }

const childOfCurrent = (): TraceContext | undefined => {
  const parent = currentTrace()
  return parent && childTrace(parent)
}

let isWatching = false

/** Passes the trace on with every call over HTTP, whoever makes it, and times it. A process needs it once. */
function watchCalls(): void {
  if (isWatching) return
  isWatching = true
  let listed: { readonly trace: TraceContext; readonly url: string } | undefined
  const onMessage = {
    'tallystick.listed-call': ({ headers, url }: ListedMessage) => {
      const trace = childOfCurrent()
      listed = trace && { trace, url }
      if (trace !== undefined) headers.push(...traceHeaders(trace).flat())
    },
    'http.client.request.created': ({ request }: ClientMessage) => {
      const { method, protocol } = request
      const announced = listed
      listed = undefined
      // Only a list is written already, and it was announced within this very tick.
      if (request.headersSent) return announced && beginCall(request, { ...announced, method })
      const trace = childOfCurrent()
      if (trace === undefined) return
      for (const [name, value] of traceHeaders(trace)) request.setHeader(name, value)
      beginCall(request, {
        trace,
        method,
        url: `${protocol}//${String(request.getHeader('host'))}`,
      })
    },
    'http.client.response.finish': ({ request, response }: ClientMessage) =>
      finishCall(request, { status: response?.statusCode }),
    'http.client.request.error': ({ error, request }: ClientMessage) =>
      finishCall(request, { error }),
    // Nothing is passed on by gRPC, which only the ledger's nodes speak, since a stream's headers are written by now.
    'http2.client.stream.created': ({ headers, stream }: StreamMessage) => {
      const trace = childOfCurrent()
      if (trace === undefined) return
      const { remoteAddress = '', remotePort } = stream.session?.socket ?? {}
      const host = isIPv6(remoteAddress) ? `[${remoteAddress}]` : remoteAddress
      const url = `${String(headers[':scheme'])}://${host}:${remotePort}`
      beginCall(stream, { trace, method: String(headers[':method']), url })
    },
    'http2.client.stream.finish': ({ headers, stream }: StreamMessage) =>
      finishCall(stream, { status: Number(headers[':status']) }),
    'http2.client.stream.error': ({ error, stream }: StreamMessage) =>
      finishCall(stream, { error }),
    'undici:request:create': ({ request }: FetchMessage) => {
      const trace = childOfCurrent()
      if (trace === undefined) return
      for (const [name, value] of traceHeaders(trace)) request.addHeader(name, value)
      beginCall(request, { trace, method: request.method, url: String(request.origin) })
    },
    'undici:request:headers': ({ request, response }: FetchMessage) =>
      finishCall(request, { status: response?.statusCode }),
    'undici:request:error': ({ error, request }: FetchMessage) => finishCall(request, { error }),
  }
  for (const [name, listen] of Object.entries(onMessage))
    subscribe(name, listen as (message: unknown) => void)
}
