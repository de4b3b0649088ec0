// The JSON-RPC edge: weibar outside, tinybar inside. One POST route accepts single calls and batches; everything else is
// in the method files next to this one.

import { randomUUID } from 'node:crypto'
import type { Clock } from '@tallystick/service-kit'
import type { FastifyInstance } from 'fastify'
import fastify from 'fastify'
import type { Ledger } from '../ledger/ledger.ts'
import { isAnswerLost } from '../ledger/network-faults.ts'
import { createRequestCounter, findCaller, relayLimit, withoutCaller } from '../request-limits.ts'
import { answerMessage, describeFailure, isControl, oldFailure } from './answer-message.ts'
import { blockMethods } from './block-methods.ts'
import { logMethods } from './log-methods.ts'
import { networkMethods } from './network-methods.ts'
import { type RpcMethods, refusals, required, toHttpStatus } from './rpc-method.ts'
import { sendRawTransaction } from './send-raw-transaction.ts'
import { attachSocketServer } from './socket-server.ts'
import { stateMethods } from './state-methods.ts'

/** Calls in one batch (the relay's BATCH_REQUESTS_MAX_SIZE). */
const BATCH_CALLS_MAX = 100

/** Largest request body, bytes (the relay's INPUT_SIZE_LIMIT of 1 MB). */
const BODY_BYTES_MAX = 1_048_576

/** The window of the relay's limits (LIMIT_DURATION), milliseconds. */
const LIMIT_MS = 60_000

const HINT = `This is a JSON-RPC endpoint of a local Hedera. Try:
curl -s -X POST -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}' `

/**
 * The edge, not yet listening. `controls` are the `devnet_*` methods; `timers` wait for what sockets are told, and for their end;
 * `pageUrl` is where a browser sees the ledger.
 */
export function createRpcServer(
  ledger: Ledger,
  controls: RpcMethods,
  { timers, pageUrl }: { timers: Pick<Clock, 'after'>; pageUrl: string },
): FastifyInstance {
  const methods = allMethods(ledger, controls)
  const counter = createRequestCounter(ledger.clock, LIMIT_MS)
  /** Throws the relay's refusal if the caller has used up its calls of that method. */
  const admit = (caller: string, method: string): void => {
    const limits = ledger.faults.requestLimits.relayPerMinute
    if (limits === undefined || method.startsWith('devnet_')) return
    if (!counter.take(caller, method, relayLimit(method, limits))) {
      throw refusals.rateLimited(method)
    }
  }
  const answeringFor = (caller: string) => ({
    methods,
    admit: (method: string) => admit(caller, method),
    failure: ledger.faults.isOldRelay ? oldFailure : describeFailure(randomUUID()),
  })
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    forceCloseConnections: true,
    rewriteUrl: withoutCaller,
  })
  app.addHook('onRequest', async (request, reply) => {
    // Anything that may carry a control stays open: a message must be read first, and a browser sends OPTIONS before its
    // own.
    const mayCarryControl =
      request.method === 'OPTIONS' || (request.method === 'POST' && !request.is404)
    if (ledger.faults.unavailable.rpc && !mayCarryControl) {
      request.raw.socket.destroy()
      reply.hijack()
      return
    }
    // Browser applications may talk to a local ledger from any origin.
    void reply.header('access-control-allow-origin', '*')
    if (request.method === 'OPTIONS') {
      void reply
        .header('access-control-allow-headers', '*')
        .header('access-control-allow-methods', 'POST, GET, OPTIONS')
      await reply.code(204).send()
    }
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    done(null, body)
  })
  app.get('/', (request, reply) => {
    if (request.headers.accept?.includes('text/html') === true) return reply.redirect(pageUrl)
    return reply.type('text/plain; charset=utf-8').send(`${HINT}http://${request.host}\n`)
  })
  app.options('*', (_request, reply) => reply.code(204).send())
  app.post('/', async (request, reply) => {
    if (ledger.faults.unavailable.rpc && !isControl(request.body)) {
      request.raw.socket.destroy()
      return reply.hijack()
    }
    const text = String(request.body)
    const caller = findCaller(request)
    const answer = await answerMessage(text, {
      ...answeringFor(caller),
      batchCallsMax: BATCH_CALLS_MAX,
      unreadable: refusals.parseError(),
    })
    if (!isControl(text) && isAnswerLost(ledger.faults, 'rpc', text)) {
      request.raw.socket.destroy()
      return reply.hijack()
    }
    return reply.code(answerStatus(answer)).type('application/json').send(JSON.stringify(answer))
  })
  attachSocketServer(app, { ledger, timers, answeringFor, messageBytesMax: BODY_BYTES_MAX })
  return app
}

/** A single call's HTTP status; a batch is always 200. */
function answerStatus(answer: object): number {
  if (!('error' in answer)) return 200
  return toHttpStatus((answer.error as { code: number }).code)
}

function allMethods(ledger: Ledger, controls: RpcMethods): Map<string, RpcMethods[string]> {
  return new Map(
    Object.entries({
      ...networkMethods(ledger),
      ...stateMethods(ledger),
      ...blockMethods(ledger),
      ...logMethods(ledger),
      eth_sendRawTransaction: (p: readonly unknown[]) =>
        sendRawTransaction(ledger, String(required(p, 0))),
      ...controls,
    }),
  )
}
