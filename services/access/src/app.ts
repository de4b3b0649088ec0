/** The table of contents: what the service serves, and from what. Nothing here reads the environment or opens a connection. */

import {
  type Clock,
  createServiceApp,
  type Page,
  paidServiceCors,
  type ReadinessCheck,
  type Registry,
  type Secret,
  type ServiceApp,
} from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import { dependencyAnswer, errorAnswer } from './errors.ts'
import { type AccessRouteDeps, addAccessRoute, addStatusRoute } from './routes/access-routes.ts'

export const ACCESS_VERSION = '0.1.0'

export type AccessAppDeps = AccessRouteDeps & {
  /** The segment in `/api/<name>/…`. */
  readonly serviceName: string
  readonly clock: Clock
  readonly logger?: FastifyBaseLogger
  readonly registry?: Registry
  readonly metricsToken?: Secret | undefined
  readonly readiness?: Readonly<Record<string, ReadinessCheck>>
  readonly home?: () => Promise<Page>
  readonly llmsNotes?: string
}

/** Builds the application; it listens nowhere yet. */
export async function buildAccessApp(deps: AccessAppDeps): Promise<ServiceApp> {
  const { serviceName, clock, logger, registry, metricsToken, readiness, home, llmsNotes } = deps
  return createServiceApp({
    name: 'tallystick-access',
    version: ACCESS_VERSION,
    description:
      'A metered data feed that is paid for once: the payment opens a window on the ledger, and the network itself renews it.',
    clock,
    cors: paidServiceCors,
    errors: {
      answer: dependencyAnswer,
      // The query is the only thing that these routes take.
      invalidRequest: () => errorAnswer('invalid_agent'),
    },
    ...(logger === undefined ? {} : { logger }),
    ...(registry === undefined ? {} : { registry }),
    ...(readiness === undefined ? {} : { readiness }),
    ...(home === undefined ? {} : { home }),
    ...(llmsNotes === undefined ? {} : { llmsNotes }),
    metricsToken,
    routes(app) {
      addAccessRoute(app, `/api/${serviceName}/access`, deps)
      addStatusRoute(app, `/api/${serviceName}/status`, deps)
    },
  })
}
