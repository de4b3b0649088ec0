import type { Registry } from 'prom-client'
import { z } from 'zod'
import { isBearer } from './bearer-token.ts'
import type { Clock } from './clock.ts'
import { errorBody } from './error-answer.ts'
import { llmsText } from './llms-text.ts'
import { type Page, sendPage } from './page.ts'
import { type ReadinessCheck, readinessReporter } from './readiness.ts'
import type { Secret } from './secret.ts'
import { sendError } from './send-error.ts'
import type { ServiceApp } from './service-app.ts'

export type KitRoutes = {
  readonly clock: Clock
  readonly registry: Registry
  readonly metricsToken: Secret | undefined
  readonly readiness: Readonly<Record<string, ReadinessCheck>>
  readonly home: () => Page | Promise<Page>
  /** False where the service serves `/health` itself. */
  readonly health: boolean
  /** Ends `/llms.txt`. */
  readonly llmsNotes: string
}

const TAG = ['operations']
const readinessBody = z.looseObject({
  ready: z.boolean(),
  checks: z.record(z.string(), z.looseObject({ kind: z.enum(['ready', 'not-ready']) })),
})

/** Serves what every service has besides its own routes (S4): `/`, `/health`, `/ready`, `/metrics`, `/openapi.json`, `/llms.txt`. */
export function addKitRoutes(app: ServiceApp, options: KitRoutes): void {
  app.get('/', { exposeHeadRoute: true, schema: { hide: true } }, async (_request, reply) =>
    sendPage(reply, await options.home()),
  )
  app.get('/openapi.json', { exposeHeadRoute: true, schema: { hide: true } }, async () =>
    app.swagger(),
  )
  app.get('/llms.txt', { exposeHeadRoute: true, schema: { hide: true } }, async (_, reply) =>
    reply.type('text/plain; charset=utf-8').send(llmsText(app.swagger(), options.llmsNotes)),
  )
  if (options.health) addHealth(app)
  addReadiness(app, options)
  addMetrics(app, options)
}

function addHealth(app: ServiceApp): void {
  const schema = {
    tags: TAG,
    summary: 'Liveness: the process answers.',
    response: { 200: z.object({ status: z.literal('ok') }) },
  }
  app.get('/health', { exposeHeadRoute: true, schema }, async () => ({ status: 'ok' as const }))
}

function addReadiness(app: ServiceApp, options: KitRoutes): void {
  const report = readinessReporter(options.readiness, options.clock)
  const schema = {
    tags: TAG,
    summary: 'Readiness: what the service depends on, by name.',
    response: { 200: readinessBody, 503: errorBody },
  }
  app.get('/ready', { exposeHeadRoute: true, schema }, async (_request, reply) => {
    const current = await report()
    void reply.header('cache-control', 'no-store')
    return current.ready
      ? reply.send(current)
      : sendError(reply, { status: 503, error: 'not_ready', details: current })
  })
}

function addMetrics(app: ServiceApp, options: KitRoutes): void {
  const { metricsToken } = options
  const schema = {
    tags: TAG,
    summary: 'Prometheus metrics; asks for a bearer token where METRICS_TOKEN is set.',
    response: { 200: z.string(), 401: errorBody },
  }
  app.get('/metrics', { exposeHeadRoute: true, schema }, async (request, reply) => {
    if (metricsToken !== undefined && !isBearer(request.headers.authorization, metricsToken))
      return sendError(reply, {
        status: 401,
        error: 'unauthorized',
        headers: { 'www-authenticate': 'Bearer realm="metrics"' },
      })
    const text = await options.registry.metrics()
    return reply
      .serializer((body) => String(body))
      .type(options.registry.contentType)
      .send(text)
  })
}
