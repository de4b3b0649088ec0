import type { Registry } from 'prom-client'
import { createMetrics, type MetricTable } from './metrics.ts'
import type { ServiceApp } from './service-app.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A path parameter is secret: the log shows the route's pattern instead, whatever the method. */
    readonly hasSecretPath?: boolean
    /** No metric counts it: how often it is called is confidential. */
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

/** Routes that monitors poll: logged at debug, since a line every few seconds is noise. */
const POLLED_ROUTES: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics'])

/** Without the query. For an absolute target only the path: its authority can hold a name and a password. */
function loggedPath(url: string): string {
  const [target = ''] = url.split('?', 1)
  const path = target.startsWith('/') ? target : target.replace(/^[^/]*:\/\/[^/]*/, '')
  return path.slice(0, LOGGED_PATH_CHARS)
}

/** One log line and one measurement per request (S4, S6). Labels are the route's pattern, never a path, query or identity. */
export function observeRequests(app: ServiceApp, registry: Registry): void {
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
    request.log[level](
      { method, route, path, status: reply.statusCode, durationMs: Math.round(reply.elapsedTime) },
      'request',
    )
    done()
  })
}
