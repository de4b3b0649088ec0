import { z } from 'zod'
import { isBearer } from './bearer-token.ts'
import type { Clock } from './clock.ts'
import { errorBody } from './error-answer.ts'
import { sendError } from './error-handler.ts'
import { addWellKnownX402, priceDocument, type ReadForSale } from './for-sale.ts'
import type { Registry } from './metrics.ts'
import { llmsText } from './openapi.ts'
import { addLivePage } from './pages/page-routes.ts'
import { referencePage } from './pages/reference-page.ts'
import { addSharedFiles } from './pages/shared-files.ts'
import { type ReadinessCheck, readinessReporter } from './readiness.ts'
import type { Secret } from './secret.ts'
import type { ServiceApp } from './service-app.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Sentences about the start that `/ready` repeats as `warnings`; they are public. */
    readonly startWarnings: string[]
  }
}

export type KitRouteOptions = {
  readonly clock: Clock
  readonly metricsToken?: Secret | undefined
  readonly readiness?: Readonly<Record<string, ReadinessCheck>> | undefined
  /** False if the service serves `/health` itself. */
  readonly health?: boolean | undefined
  /** Reads what is sold, at the prices that hold now: shown to machines (X24). Must answer from memory or within its own deadline. */
  readonly forSale?: ReadForSale | undefined
  /** Markdown at the end of `/llms.txt`. */
  readonly llmsNotes?: string | undefined
}

const TAG = ['operations']
const readinessBody = z.looseObject({
  ready: z.boolean(),
  checks: z.record(z.string(), z.looseObject({ kind: z.enum(['ready', 'not-ready']) })),
})

/** Serves the routes that every service shares (S4): page style, `/health`, `/ready`, `/metrics`, `/openapi.json`, `/docs`, `/llms.txt`. */
export function addKitRoutes(app: ServiceApp, options: KitRouteOptions, registry: Registry): void {
  const { forSale = async () => [], llmsNotes = '' } = options
  addSharedFiles(app)
  app.get('/openapi.json', { exposeHeadRoute: true, schema: { hide: true } }, async () =>
    // A ledger that is down keeps nobody from the reference.
    priceDocument(app.swagger(), await forSale().catch(() => [])),
  )
  if (options.forSale !== undefined) addWellKnownX402(app, forSale)
  for (const url of ['/docs', '/docs/'])
    addLivePage(app, url, ({ host, protocol }) =>
      referencePage(app.swagger(), `${protocol}://${host}`),
    )
  app.get('/llms.txt', { exposeHeadRoute: true, schema: { hide: true } }, async (_, reply) =>
    reply.type('text/plain; charset=utf-8').send(llmsText(app.swagger(), llmsNotes)),
  )
  if (options.health !== false) addHealth(app)
  addReadiness(app, options)
  addMetrics(app, options, registry)
}

function addHealth(app: ServiceApp): void {
  const schema = {
    tags: TAG,
    summary: 'Liveness: the process is up.',
    response: { 200: z.object({ status: z.literal('ok') }) },
  }
  app.get('/health', { exposeHeadRoute: true, schema }, async () => ({ status: 'ok' as const }))
}

function addReadiness(app: ServiceApp, { clock, readiness }: KitRouteOptions): void {
  const report = readinessReporter(readiness ?? {}, clock)
  const warnings: string[] = []
  app.decorate('startWarnings', warnings)
  const schema = {
    tags: TAG,
    summary: 'Readiness: what the service depends on, by name.',
    response: { 200: readinessBody, 503: errorBody },
  }
  app.get('/ready', { exposeHeadRoute: true, schema }, async (_request, reply) => {
    const current = { ...(await report()), ...(warnings.length > 0 && { warnings }) }
    void reply.header('cache-control', 'no-store')
    return current.ready
      ? reply.send(current)
      : sendError(reply, { status: 503, error: 'not_ready', details: current })
  })
}

function addMetrics(app: ServiceApp, options: KitRouteOptions, registry: Registry): void {
  const { metricsToken } = options
  const schema = {
    tags: TAG,
    summary: 'Prometheus metrics; requires a bearer token if METRICS_TOKEN is set.',
    security: [{}, { metrics: [] }],
    response: { 200: z.string(), 401: errorBody },
  }
  const config = { answersAs: 'text/plain' } as const
  app.get('/metrics', { exposeHeadRoute: true, schema, config }, async (request, reply) => {
    if (metricsToken !== undefined && !isBearer(request.headers.authorization, metricsToken))
      return sendError(reply, {
        status: 401,
        error: 'unauthorized',
        headers: { 'www-authenticate': 'Bearer realm="metrics"' },
      })
    return reply
      .serializer(String)
      .type(registry.contentType)
      .send(await registry.metrics())
  })
}
