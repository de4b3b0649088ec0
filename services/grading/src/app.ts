/** The table of contents: what the service serves, and from what. Nothing here reads the environment or opens a store. */
import {
  type Clock,
  createServiceApp,
  paidServiceCors,
  type ReadinessCheck,
  type Registry,
  type Secret,
  type ServiceApp,
} from '@tallystick/service-kit'
import { addPageRoutes, homeHook } from '@tallystick/service-kit/pages'
import type { FastifyBaseLogger } from 'fastify'
import type { Grader } from './domain/grader.ts'
import { dependencyAnswer } from './errors.ts'
import { PAGE_POLICY, readPageFiles } from './pages/page-files.ts'
import type { PagesOptions } from './pages/page-options.ts'
import { addAuditRoute } from './routes/audit-route.ts'
import { addFreeRoutes } from './routes/free-routes.ts'
import { addGradeRoute } from './routes/grade-route.ts'
import { acceptProbes } from './routes/read-body.ts'
import type { SaleRouteDeps } from './routes/sale-route.ts'
import { addUploadRoute, type UploadRouteDeps } from './routes/upload-route.ts'
import type { MethodsAnswer } from './wire/methods.ts'

export const GRADING_VERSION = '0.1.0'

export type GradingAppDeps = Omit<SaleRouteDeps, 'grader'> &
  UploadRouteDeps & {
    readonly grader: Grader
    readonly methods: MethodsAnswer
    readonly clock: Clock
    readonly logger?: FastifyBaseLogger
    readonly registry?: Registry
    readonly metricsToken?: Secret | undefined
    readonly readiness?: Readonly<Record<string, ReadinessCheck>>
    /** What the pages are told; without it `/` is the kit's own. */
    readonly pages?: PagesOptions
    readonly llmsNotes?: string
  }

/** Builds the application; it listens nowhere yet. */
export async function buildGradingApp(deps: GradingAppDeps): Promise<ServiceApp> {
  const { clock, llmsNotes, logger, metricsToken, readiness, registry } = deps
  const pages =
    deps.pages === undefined ? undefined : { files: readPageFiles(deps.pages), policy: PAGE_POLICY }
  const app = await createServiceApp({
    name: 'tallystick-grading',
    version: GRADING_VERSION,
    description:
      'Grades bets against the closing line instead of the score, paid per call; the evidence behind every grade is public and free.',
    clock,
    cors: paidServiceCors,
    errors: { answer: dependencyAnswer },
    ...(logger === undefined ? {} : { logger }),
    ...(registry === undefined ? {} : { registry }),
    ...(readiness === undefined ? {} : { readiness }),
    ...(llmsNotes === undefined ? {} : { llmsNotes }),
    metricsToken,
    async routes(scope) {
      acceptProbes(scope)
      addGradeRoute(scope, deps)
      addAuditRoute(scope, deps)
      addFreeRoutes(scope, deps)
      await addUploadRoute(scope, deps)
      if (pages !== undefined) addPageRoutes(scope, pages)
    },
  })
  if (pages !== undefined) app.addHook('onRequest', homeHook(pages))
  return app
}
