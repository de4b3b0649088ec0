import type { ServiceApp } from '@tallystick/service-kit'
import type { StatusBody } from '../domain/access-answers.ts'
import type { Hex } from '../domain/access-window.ts'
import { neverStored } from './never-stored.ts'
import { agentQuery, statusErrorRows, statusSchema } from './schemas.ts'

export type StatusRouteDeps = {
  /** Path, e.g. `/api/svc/status`. */
  readonly path: string
  readonly readStatus: (agent: Hex) => Promise<StatusBody>
}

/** Serves `GET /api/svc/status`: free, without side effects, safe to poll, never 402. */
export function addStatusRoute(app: ServiceApp, deps: StatusRouteDeps): void {
  const schema = {
    summary: 'The state of a subscription, read from the contract. Free, and never 402.',
    tags: ['access'],
    querystring: agentQuery,
    response: { 200: statusSchema, ...statusErrorRows },
  }
  app.get(deps.path, { schema, onRequest: neverStored }, async (request, reply) =>
    reply.send(await deps.readStatus(request.query.agent)),
  )
}
