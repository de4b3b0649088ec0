/** Every request passes these hooks, whatever its route: it is counted and logged, may come from any page, and is refused early. */
import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { endConnections, guardConnections } from './connections.ts'
import type { ErrorAnswer } from './error-answer.ts'
import { sendError } from './error-handler.ts'
import { createMetrics, type MetricTable, type Registry } from './metrics.ts'
import type { ServiceApp } from './service-app.ts'
import { finishRequest, inTrace, traceRequests } from './traces.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A path parameter is secret: the log shows the route's pattern instead, whatever the method. */
    readonly hasSecretPath?: boolean
    /** No metric counts it and no span shows it: how often it is called is confidential. */
    readonly isUncounted?: boolean
  }
}

/** Seconds: fine-grained around a local call, coarse up to the longest settlement. */
const DURATION_BUCKETS_SECONDS = [
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

const METRICS = {
  http_requests_total: {
    kind: 'counter',
    help: 'Requests answered.',
    labels: ['method', 'route', 'status'],
  },
  http_request_duration_seconds: {
    kind: 'histogram',
    help: 'From a request read to its answer sent.',
    labels: ['method', 'route'],
    bucketsSeconds: DURATION_BUCKETS_SECONDS,
  },
  http_requests_in_flight: { kind: 'gauge', help: 'Requests received and not yet answered.' },
} as const satisfies MetricTable

/** Characters of a path kept in one log line. */
const LOGGED_PATH_CHARS = 200

/** Routes that monitors poll: logged at debug and no span, since one every few seconds is noise. */
const POLLED_ROUTES: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics'])

/** Without the query. For an absolute target only the path: its authority can hold a name and a password. */
function loggedPath(url: string): string {
  const [target = ''] = url.split('?', 1)
  const path = target.startsWith('/') ? target : target.replace(/^[^/]*:\/\/[^/]*/, '')
  return path.slice(0, LOGGED_PATH_CHARS)
}

/** One log line and one measurement per request (S4, S6). Labels are the route's pattern, never a path, query or identity. */
function observeRequests(app: ServiceApp, registry: Registry): void {
  const metrics = createMetrics(registry, METRICS)
  let open = 0
  metrics.read('http_requests_in_flight', (show) => show(open))
  const noteClose = (): void => {
    open -= 1
  }
  const secretRoutes = new Set<string>()
  app.addHook('onRoute', ({ config, url }) => {
    if (config?.hasSecretPath === true) secretRoutes.add(url)
  })
  // Callbacks, because every request passes these hooks and async ones cost promises.
  app.addHook('onRequest', (request, reply, done) => {
    open += 1
    reply.raw.once('close', noteClose)
    void reply.header('x-request-id', request.id)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.is404 ? 'unmatched' : (request.routeOptions.url ?? 'unmatched')
    const { method } = request
    if (request.routeOptions.config.isUncounted !== true) {
      const status = String(reply.statusCode)
      metrics.count('http_requests_total', { method, route, status })
      const seconds = reply.elapsedTime / 1000
      metrics.observe('http_request_duration_seconds', seconds, { method, route })
    }
    const path = secretRoutes.has(route) ? route : loggedPath(request.url)
    const level = POLLED_ROUTES.has(route) ? 'debug' : 'info'
    const durationMs = Math.round(reply.elapsedTime)
    finishRequest(request, reply, request.is404 ? undefined : request.routeOptions.url)
    inTrace(request, () => {
      request.log[level]({ method, route, path, status: reply.statusCode, durationMs }, 'request')
    })
    done()
  })
}

export const makeRequestId = (): string => randomUUID()

/** Adds them, in the order in which a request passes them. */
export function addRequestHooks(
  app: ServiceApp,
  options: {
    readonly registry: Registry
    readonly allowOrigins: OriginsHook
    /** The answer to unknown paths. */
    readonly unknownPath: ErrorAnswer
  },
): void {
  traceRequests(
    app,
    ({ routeOptions: { config, url } }) =>
      config.isUncounted !== true && !POLLED_ROUTES.has(url ?? ''),
  )
  observeRequests(app, options.registry)
  guardConnections(app)
  endConnections(app)
  app.addHook('onSend', async (_request, reply) => {
    void reply.header('x-content-type-options', 'nosniff')
  })
  app.addHook('onRequest', options.allowOrigins)
  // Before the framework judges a body that nobody will read.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) void sendError(reply, options.unknownPath)
    else done()
  })
}

/**
 * CORS for the paid services (S9): what is allowed in any case, besides what a page asks for.
 * `Access-Control-Expose-Headers` is among it because the official client sends it as a request header.
 */
export const paidServiceCors: CorsPolicy = {
  methods: ['GET', 'POST', 'OPTIONS'],
  allowedHeaders: [
    'PAYMENT-SIGNATURE',
    'X-PAYMENT',
    'Access-Control-Expose-Headers',
    'content-type',
    'idempotency-key',
  ],
  exposedHeaders: ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'x-request-id', 'retry-after'],
}

/** Browsers from other origins may send and read this. */
export type CorsPolicy = {
  readonly methods: readonly string[]
  readonly allowedHeaders: readonly string[]
  readonly exposedHeaders: readonly string[]
  /** Answers name the page's origin instead of `*`, and allow none of the other headers that it asks for. */
  readonly isByOrigin?: boolean
}

export type OriginsHook = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

const CORS_MAX_AGE_SECONDS = 600
/** Longest list that is read: far more than pages send, and little enough that the answer's head stays small (S10). */
const REQUESTED_CHARS_MAX = 1_000
/** A scheme, the longest host name and a port: a longer one is no page’s. */
const ORIGIN_CHARS_MAX = 300
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

/** The policy's headers and those that the page asks for: tracing and caching add headers that no list foresees. */
function allowedHeaders({ allowedHeaders: allowed, isByOrigin }: CorsPolicy, requested = '') {
  if (isByOrigin === true || requested.length > REQUESTED_CHARS_MAX) return allowed
  const names = requested.split(',').map((name) => name.trim())
  const known = new Set(allowed.map((name) => name.toLowerCase()))
  return [
    ...allowed,
    ...names.filter((name) => HEADER_NAME.test(name) && !known.has(name.toLowerCase())),
  ]
}

/**
 * A hook that answers every `OPTIONS` with 204, and lets pages of other origins read the other answers. They send nothing here
 * unasked (no cookies), so an origin gains nothing that its user has not given it. The headers are set on Node's response, so
 * that a stream that a route writes itself carries them too.
 */
export function corsHook(policy: CorsPolicy | false): OriginsHook {
  if (policy === false) return (_request, _reply, done) => done()
  const exposed = policy.exposedHeaders.join(', ')
  // A callback, which saves a promise per request compared with an async hook.
  return ({ headers, method }, reply, done) => {
    const { origin = '', 'access-control-request-headers': requested } = headers
    const isEchoed =
      policy.isByOrigin === true && origin !== '' && origin.length <= ORIGIN_CHARS_MAX
    const { raw } = reply
    raw.setHeader('access-control-allow-origin', isEchoed ? origin : '*')
    raw.setHeader('access-control-expose-headers', exposed)
    if (policy.isByOrigin === true) raw.setHeader('vary', 'origin')
    if (method !== 'OPTIONS') return done()
    raw.setHeader('access-control-allow-methods', policy.methods.join(', '))
    raw.setHeader('access-control-allow-headers', allowedHeaders(policy, requested).join(', '))
    raw.setHeader('access-control-max-age', String(CORS_MAX_AGE_SECONDS))
    return void reply.code(204).send()
  }
}
