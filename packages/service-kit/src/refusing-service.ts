import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from './clock.ts'
import { createServiceApp } from './create-service-app.ts'
import type { ErrorAnswer } from './error-answer.ts'
import { sendError } from './error-handler.ts'
import { Registry } from './metrics.ts'
import type { CorsPolicy } from './request-hooks.ts'
import type { ServiceApp } from './service-app.ts'

/** Why a service must not serve, and what it says in the meantime. */
export type RefusedStart = {
  /** Package or product name, e.g. `tallystick-care`. */
  readonly name: string
  readonly version: string
  /** `/ready` shows these as red. */
  readonly check: string
  /** For the operator, who reads it there: what is wrong, and what to do. */
  readonly sentence: string
  /** On every path that is not the kit's. Its code is the reason in `/ready`. */
  readonly answer: ErrorAnswer
  /** By default pages of other origins read nothing. */
  readonly cors?: CorsPolicy | false | undefined
  /** Paths that the service answers all the same. */
  readonly routes?: ((app: ServiceApp) => void) | undefined
  /** `/health` is among `routes`. */
  readonly hasHealth?: boolean | undefined
}

/**
 * A service that could not start, for a reason that a restart does not cure and an operator must judge: it listens, so that
 * `/ready` says why, and refuses everything else. It holds nothing open.
 *
 * @example
 * const service = await createRefusingService(refusal, { clock })
 * // GET /ready → 503 {"error":"not_ready","ready":false,"checks":{"store":{"kind":"not-ready","reason":"store_behind",…}}}
 */
export async function createRefusingService(
  { answer, check, cors = false, hasHealth = false, name, routes, sentence, version }: RefusedStart,
  { clock, logger }: { readonly clock: Clock; readonly logger?: FastifyBaseLogger | undefined },
) {
  const registry = new Registry()
  const finding = { kind: 'not-ready', reason: answer.error, details: { sentence } } as const
  const app = await createServiceApp({
    name,
    version,
    description: `It serves nothing now: ${sentence}`,
    clock,
    logger,
    registry,
    cors,
    health: !hasHealth,
    readiness: { [check]: async () => finding },
    unknownPath: answer,
    routes: (scope) => {
      routes?.(scope)
      // A page there would look as if something were served.
      const schema = { hide: true } as const
      scope.get('/', { schema }, async (_request, reply) => sendError(reply, answer))
    },
  })
  return { app, registry, close: async (): Promise<void> => undefined }
}
