/** The table of contents: what the service serves, and from what. Nothing here reads the environment or opens a store. */
import {
  type Clock,
  createServiceApp,
  type Page,
  paidServiceCors,
  type ReadinessCheck,
  type Secret,
  type ServiceApp,
} from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import type { Grader } from './domain/grader.ts'
import { dependencyAnswer } from './errors.ts'
import { acceptProbes } from './routes/accept-probes.ts'
import { addAuditRoute } from './routes/audit-route.ts'
import { addCalibrationRoute } from './routes/calibration-route.ts'
import { addCoverageRoute } from './routes/coverage-route.ts'
import { addGradeRoute } from './routes/grade-route.ts'
import { addLedgerRoutes, type LedgerRouteDeps } from './routes/ledger-routes.ts'
import { addPickRoute } from './routes/pick-route.ts'
import type { SaleRouteDeps } from './routes/sale-route.ts'

export const GRADING_VERSION = '0.1.0'

export type GradingAppDeps = Omit<SaleRouteDeps, 'grader'> &
  Omit<LedgerRouteDeps, 'grader'> & {
    readonly grader: Grader
    readonly clock: Clock
    readonly logger?: FastifyBaseLogger
    readonly registry?: Registry
    readonly metricsToken?: Secret | undefined
    readonly readiness?: Readonly<Record<string, ReadinessCheck>>
    readonly home?: () => Promise<Page>
    readonly llmsNotes?: string
  }

/** Builds the application; it listens nowhere yet. */
export async function buildGradingApp(deps: GradingAppDeps): Promise<ServiceApp> {
  const { clock, home, llmsNotes, logger, metricsToken, readiness, registry } = deps
  return createServiceApp({
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
    ...(home === undefined ? {} : { home }),
    ...(llmsNotes === undefined ? {} : { llmsNotes }),
    metricsToken,
    routes(scope) {
      acceptProbes(scope)
      addGradeRoute(scope, deps)
      addAuditRoute(scope, deps)
      addCalibrationRoute(scope, deps)
      addCoverageRoute(scope, deps)
      addLedgerRoutes(scope, deps)
      addPickRoute(scope, deps)
    },
  })
}
