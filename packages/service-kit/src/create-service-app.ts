/**
 * The application that every service builds on: Fastify with zod types, OpenAPI 3.1, errors, CORS, metrics, health,
 * readiness, one log line per request. A service adds its routes; run-service.ts listens and stops.
 */

import {
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from '@fastify/type-provider-zod'
import fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import {
  answerConnectionError,
  type ConnectionLimits,
  DEFAULT_CONNECTION_LIMITS,
} from './connections.ts'
import type { ErrorAnswer } from './error-answer.ts'
import { errorHandler, type ServiceErrors, sendError } from './error-handler.ts'
import { addFrontDoor } from './front-door.ts'
import { addKitRoutes, type KitRouteOptions } from './kit-routes.ts'
import { createMetrics, Registry } from './metrics.ts'
import { registerDocumentation, type SecurityScheme } from './openapi.ts'
import type { Page } from './pages/page-frame.ts'
import { addLivePage } from './pages/page-routes.ts'
import {
  addRequestHooks,
  type CorsPolicy,
  corsHook,
  makeRequestId,
  type OriginsHook,
} from './request-hooks.ts'
import type { ServiceApp } from './service-app.ts'
import { inTrace } from './traces.ts'
import { watchMethods } from './watch-methods.ts'

export type ServiceAppOptions = KitRouteOptions & {
  /** Package or product name, e.g. `tallystick-access`. */
  readonly name: string
  readonly version: string
  /** One or two sentences, shown on `/`, in OpenAPI and in `/llms.txt`. */
  readonly description: string
  /** If absent, nothing is logged. */
  readonly logger?: FastifyBaseLogger | undefined
  /** Where the service's own metrics register; by default a new one. */
  readonly registry?: Registry | undefined
  /** `false`: no CORS headers, `OPTIONS` is 405. */
  readonly cors: CorsPolicy | false
  readonly errors?: ServiceErrors | undefined
  /** The page at `/`, unless the service's routes have one; by default it shows the description and links. */
  readonly home?: (() => Page | Promise<Page>) | undefined
  /** How callers prove who they are; routes name them in `security`. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>> | undefined
  /** Further descriptions that `/` names to programs, by name. */
  readonly links?: Readonly<Record<string, string>> | undefined
  /** Largest body in bytes; a route may set its own `bodyLimit`. */
  readonly bodyLimitBytes?: number | undefined
  /** Makes request ids; a client's `x-request-id` is ignored. */
  readonly newRequestId?: (() => string) | undefined
  /** The answer to unknown paths. */
  readonly unknownPath?: ErrorAnswer | undefined
  /** How many proxies are in front, whose entries at the end of `X-Forwarded-For` are believed; by default none. */
  readonly trustedProxyHops?: number | undefined
  /** How long a client may take to send; for tests. */
  readonly connectionLimits?: ConnectionLimits | undefined
  /** Adds the service's routes. HEAD is served only where a route sets `exposeHeadRoute: true`. */
  readonly routes: (app: ServiceApp) => void | Promise<void>
}

/** Requests to these services are small JSON documents. */
const BODY_LIMIT_BYTES = 65_536
/** Longer than the 60 s after which common load balancers close idle connections, so that they close first. */
const KEEP_ALIVE_MS = 65_000
/** Longest path parameter: enough for an `0x` transaction hash, an event key or a percent-encoded URI. */
const PARAM_LIMIT_CHARS = 512
/** How long plugins and routes may take to register. */
const PLUGIN_LIMIT_MS = 20_000

function newFastify(options: ServiceAppOptions, allowOrigins: OriginsHook): ServiceApp {
  const answerError = errorHandler(options.errors ?? {})
  const { connectionLimits: limits = DEFAULT_CONNECTION_LIMITS, trustedProxyHops = 0 } = options
  const app = fastify({
    ...(options.logger === undefined ? {} : { loggerInstance: options.logger }),
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: options.newRequestId ?? makeRequestId,
    bodyLimit: options.bodyLimitBytes ?? BODY_LIMIT_BYTES,
    requestTimeout: limits.requestMs,
    // Not even a function without proxies: with one, Fastify would take the host from a forwarded header.
    ...(trustedProxyHops > 0 && {
      trustProxy: (_address: string, hop: number) => hop < trustedProxyHops,
    }),
    http: {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      // Node would answer without a body; connections.ts sends one.
      requireHostHeader: false,
    },
    keepAliveTimeout: KEEP_ALIVE_MS,
    pluginTimeout: PLUGIN_LIMIT_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // HEAD must not run a paid GET: a route enables HEAD explicitly (S5).
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: PARAM_LIMIT_CHARS },
    clientErrorHandler: answerConnectionError,
    // Router refusals reach no hook, so the id and the log line are made here.
    frameworkErrors: (error, request, reply) => {
      void reply.header('x-request-id', request.id)
      const refuse = (): void => answerError(error, request, reply)
      allowOrigins(request, reply, refuse)
      inTrace(request, () =>
        request.log.info({ method: request.method, status: reply.statusCode }, 'request'),
      )
    },
  }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(answerError)
  return app
}

const METRICS_SCHEME = {
  type: 'http',
  scheme: 'bearer',
  description: 'METRICS_TOKEN of the service.',
} as const

/** Treats an empty body with a JSON content type as absent and leaves it to the route's schema. */
function acceptEmptyJson(app: ServiceApp): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    (request, body, done) => {
      if (body.length === 0) done(null, undefined)
      else void parseJson(request, body, done)
    },
  )
}

/**
 * Builds a service: its routes, the kit's routes, and 405s for wrong methods. It does not listen yet; `app.inject` and,
 * after `app.ready()`, `app.swagger()` work without a port.
 */
export async function createServiceApp(options: ServiceAppOptions): Promise<ServiceApp> {
  const { unknownPath = { status: 404, error: 'not_found' } } = options
  const allowOrigins = corsHook(options.cors)
  const app = newFastify(options, allowOrigins)
  const registry = options.registry ?? new Registry()
  const labels = ['service', 'version'] as const
  const help = 'Which build is running; always 1.'
  const metrics = createMetrics(registry, {
    tallystick_build_info: { kind: 'gauge', help, labels },
  })
  const { name: title, version, description } = options
  metrics.read('tallystick_build_info', (show) => show(1, { service: title, version }))
  acceptEmptyJson(app)
  addRequestHooks(app, { allowOrigins, registry, unknownPath })
  app.setNotFoundHandler((_request, reply) => sendError(reply, unknownPath))
  const answerOtherMethods = watchMethods(app, { isOptionsAnswered: options.cors !== false })
  const info = { title, version, description }
  await registerDocumentation(app, info, {
    metrics: METRICS_SCHEME,
    ...options.securitySchemes,
  })
  const links = options.forSale === undefined ? {} : { x402: '/.well-known/x402' }
  addFrontDoor(app, { name: title, version, description, links: { ...links, ...options.links } })
  addKitRoutes(app, options, registry)
  // A plugin of its own, so that routes which the service registers in plugins exist before the 405s are added.
  await app.register(async (scope) => {
    await options.routes(scope.withTypeProvider<ZodTypeProvider>())
  })
  if (!app.hasRoute({ method: 'GET', url: '/' }))
    addLivePage(app, '/', options.home ?? (() => ({ title, lead: description })))
  answerOtherMethods()
  return app
}
