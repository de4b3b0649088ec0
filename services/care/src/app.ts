/** The table of contents: what the service serves, and from what. Nothing here reads the environment or opens a store. */
import {
  type Clock,
  createServiceApp,
  type ReadinessCheck,
  type Registry,
  type Secret,
  type ServiceApp,
  sendError,
} from '@tallystick/service-kit'
import { addPageRoutes, type PageFile } from '@tallystick/service-kit/pages'
import type { FastifyBaseLogger } from 'fastify'
import { dependencyAnswer, errorAnswer } from './errors.ts'
import { PAGE_POLICY } from './pages/page-files.ts'
import { corsHook } from './routes/cors.ts'
import { addHealthRoute } from './routes/health-route.ts'
import { addMetadataRoutes, type MetadataRouteDeps } from './routes/metadata-routes.ts'
import { addCheckpointRoute, type CheckpointRouteDeps } from './routes/verify-checkpoint-route.ts'
import { addExportRoute, type ExportRouteDeps } from './routes/verify-export-route.ts'
import { addVerifyRoute, type VerifyRouteDeps } from './routes/verify-route.ts'
import { addWriteRoute, type WriteRouteDeps } from './routes/write-route.ts'

export const CARE_VERSION = '0.1.0'

export type CareAppDeps = Omit<WriteRouteDeps, 'serviceName'> &
  VerifyRouteDeps &
  ExportRouteDeps &
  CheckpointRouteDeps &
  MetadataRouteDeps & {
    readonly clock: Clock
    /** Adds `/mcp`. */
    readonly addMcpRoutes: (app: ServiceApp) => void | Promise<void>
    /** Open MCP sessions. */
    readonly sessions: () => number
    readonly pages: readonly PageFile[]
    readonly logger?: FastifyBaseLogger
    readonly registry?: Registry
    readonly metricsToken?: Secret | undefined
    readonly readiness?: Readonly<Record<string, ReadinessCheck>>
    readonly llmsNotes?: string
  }

/** Builds the application; it listens nowhere yet. */
export async function buildCareApp(deps: CareAppDeps): Promise<ServiceApp> {
  const { clock, logger, registry, metricsToken, readiness, llmsNotes } = deps
  const cors = corsHook(deps.serviceName)
  const app = await createServiceApp({
    name: 'tallystick-care',
    version: CARE_VERSION,
    description:
      'Care records as hash chains, read by assistants over MCP, corrected by clinicians with a signed write, and verifiable by anyone.',
    clock,
    // The document fixes every header of its own policy: routes/cors.ts.
    cors: false,
    health: false,
    errors: { answer: dependencyAnswer },
    ...(logger === undefined ? {} : { logger }),
    ...(registry === undefined ? {} : { registry }),
    ...(readiness === undefined ? {} : { readiness }),
    ...(llmsNotes === undefined ? {} : { llmsNotes }),
    metricsToken,
    unroutedHook: cors,
    async routes(scope) {
      scope.addHook('onRequest', cors)
      await deps.addMcpRoutes(scope)
      addWriteRoute(scope, deps)
      addVerifyRoute(scope, deps)
      addExportRoute(scope, deps)
      addCheckpointRoute(scope, deps)
      addMetadataRoutes(scope, deps)
      addHealthRoute(scope, deps)
      addPageRoutes(scope, deps.pages, PAGE_POLICY)
    },
  })
  // For what is not in the scope above: the kit's own routes, wrong methods and unknown paths.
  app.addHook('onRequest', cors)
  // Before the framework judges a body that nobody is going to read.
  app.addHook('onRequest', async (request, reply) =>
    request.is404 ? sendError(reply, errorAnswer('not_found')) : undefined,
  )
  return app
}
