import type { ServiceApp } from '@tallystick/service-kit'
import { healthAnswer } from '../wire/service.ts'

/** Serves `GET /health`, whose body care.md fixes. */
export function addHealthRoute(app: ServiceApp, deps: { readonly sessions: () => number }): void {
  const schema = {
    tags: ['operations'],
    summary: 'Liveness, and how many MCP sessions are open.',
    response: { 200: healthAnswer },
  }
  app.get('/health', { schema, exposeHeadRoute: true }, async (_request, reply) => {
    void reply.header('cache-control', 'no-store')
    return { ok: true as const, sessions: deps.sessions() }
  })
}
