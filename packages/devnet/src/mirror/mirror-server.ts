import { parse as parseQuery } from 'node:querystring'
import { addPageRoutes, addSharedFiles } from '@tallystick/service-kit/pages'
import type { FastifyInstance } from 'fastify'
import fastify from 'fastify'
import type { Ledger } from '../ledger/ledger.ts'
import { isAnswerLost } from '../ledger/network-faults.ts'
import type { Scheduler } from '../ledger/scheduler.ts'
import { ledgerPage } from '../pages/ledger-page.ts'
import { createRequestCounter, findCaller, withoutCaller } from '../request-limits.ts'
import { addAccountRoutes } from './account-routes.ts'
import { addBlockRoutes } from './block-routes.ts'
import { addCallRoutes } from './call-routes.ts'
import { addContractRoutes } from './contract-routes.ts'
import { addLogRoutes } from './log-routes.ts'
import { isMissingRoute } from './mirror-node-names.ts'
import { MirrorRefusal } from './mirror-query.ts'
import { addNetworkRoutes } from './network-routes.ts'
import { addScheduleRoutes } from './schedule-routes.ts'
import { addTokenRoutes } from './token-routes.ts'
import { addTopicRoutes } from './topic-routes.ts'
import { addTransactionRoutes } from './transaction-routes.ts'

/** The window of the public mirror node's limit, milliseconds. */
const LIMIT_MS = 1_000

/** The mirror edge, not yet listening. `consensus` is where the gRPC edge listens. */
export function createMirrorServer(
  ledger: Ledger,
  parts: { scheduler: Scheduler; consensus: { host: string; port: number } },
): FastifyInstance {
  const counter = createRequestCounter(ledger.clock, LIMIT_MS)
  const app = fastify({
    forceCloseConnections: true,
    rewriteUrl: withoutCaller,
    routerOptions: { querystringParser: (text) => parseQuery(text) },
  })
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('access-control-allow-origin', '*')
    if (request.method === 'OPTIONS') {
      void reply
        .header('access-control-allow-headers', '*')
        .header('access-control-allow-methods', 'GET, POST, OPTIONS')
      await reply.code(204).send()
      return
    }
    if (ledger.faults.unavailable.mirror) {
      request.raw.socket.destroy()
      reply.hijack()
      return
    }
    const limit = ledger.faults.requestLimits.mirrorPerSecond
    if (limit !== undefined && !counter.take(findCaller(request), '', limit)) {
      await reply.code(429).send(body('Too many requests'))
    }
  })
  app.addHook('onSend', async (request) => {
    if (isAnswerLost(ledger.faults, 'mirror', request.url)) request.raw.socket.destroy()
  })
  app.setNotFoundHandler(({ url }, reply) =>
    isMissingRoute(url)
      ? reply.code(501).send(body(`Not implemented by this local mirror node: ${url}`))
      : reply.code(404).send(body('Not found')),
  )
  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof MirrorRefusal) {
      return reply.code(error.statusCode).send({ _status: { messages: error.messages } })
    }
    // What Fastify refuses by itself: a body that is no JSON, or too large.
    const { statusCode = 500 } = error as { statusCode?: number }
    if (statusCode < 500) return reply.code(statusCode).send(body('Invalid request'))
    process.stderr.write(`devnet: mirror: ${String(error)}\n`)
    return reply.code(500).send(body('Internal error'))
  })
  addSharedFiles(app)
  addPageRoutes(app, ledgerPage())
  addTransactionRoutes(app, ledger)
  addAccountRoutes(app, ledger)
  addBlockRoutes(app, ledger)
  addContractRoutes(app, ledger)
  addLogRoutes(app, ledger)
  addCallRoutes(app, ledger)
  addScheduleRoutes(app, ledger, parts.scheduler)
  addTokenRoutes(app, ledger)
  addTopicRoutes(app, ledger)
  addNetworkRoutes(app, ledger, parts.consensus)
  return app
}

function body(message: string): { _status: { messages: { message: string }[] } } {
  return { _status: { messages: [{ message }] } }
}
