import { parse as parseQuery } from 'node:querystring'
import type { FastifyInstance } from 'fastify'
import fastify from 'fastify'
import type { Ledger } from '../ledger/ledger.ts'
import type { Scheduler } from '../ledger/scheduler.ts'
import { addAccountRoutes } from './account-routes.ts'
import { addBlockRoutes } from './block-routes.ts'
import { addContractRoutes } from './contract-routes.ts'
import { addLogRoutes } from './log-routes.ts'
import { MirrorRefusal } from './mirror-query.ts'
import { addNetworkRoutes } from './network-routes.ts'
import { addScheduleRoutes } from './schedule-routes.ts'
import { addTransactionRoutes } from './transaction-routes.ts'

/** The mirror edge, not yet listening. `consensus` is where the gRPC edge listens. */
export function createMirrorServer(
  ledger: Ledger,
  parts: { scheduler: Scheduler; consensus: { host: string; port: number } },
): FastifyInstance {
  const app = fastify({
    forceCloseConnections: true,
    routerOptions: { querystringParser: (text) => parseQuery(text) },
  })
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('access-control-allow-origin', '*')
    if (!ledger.faults.unavailable.mirror) return
    request.raw.socket.destroy()
    reply.hijack()
  })
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(body('Not found')))
  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof MirrorRefusal) {
      return reply.code(error.statusCode).send(body(error.message))
    }
    process.stderr.write(`devnet: mirror: ${String(error)}\n`)
    return reply.code(500).send(body('Internal error'))
  })
  addTransactionRoutes(app, ledger)
  addAccountRoutes(app, ledger)
  addBlockRoutes(app, ledger)
  addContractRoutes(app, ledger)
  addLogRoutes(app, ledger)
  addScheduleRoutes(app, ledger, parts.scheduler)
  addNetworkRoutes(app, ledger, parts.consensus)
  return app
}

function body(message: string): { _status: { messages: { message: string }[] } } {
  return { _status: { messages: [{ message }] } }
}
