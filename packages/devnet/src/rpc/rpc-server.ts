// The JSON-RPC edge: weibar outside, tinybar inside. One POST route accepts single calls and batches; everything else is
// in the method files next to this one.

import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import fastify from 'fastify'
import type { Ledger } from '../ledger/ledger.ts'
import { isAnswerLost } from '../ledger/network-faults.ts'
import { callerOf, createRequestCounter, relayLimitOf, withoutCaller } from '../request-limits.ts'
import { blockMethods } from './block-methods.ts'
import { logMethods } from './log-methods.ts'
import { networkMethods } from './network-methods.ts'
import type { JsonObject } from './outer-view.ts'
import { checkArguments } from './rpc-arguments.ts'
import { httpStatusOf, RpcError, type RpcMethods, refusals, required } from './rpc-method.ts'
import { sendRawTransaction } from './send-raw-transaction.ts'
import { stateMethods } from './state-methods.ts'

/** Calls in one batch (the relay's BATCH_REQUESTS_MAX_SIZE). */
const BATCH_CALLS_MAX = 100

/** Largest request body, bytes (the relay's INPUT_SIZE_LIMIT of 1 MB). */
const BODY_BYTES_MAX = 1_048_576

/** The window of the relay's limits (LIMIT_DURATION), milliseconds. */
const LIMIT_MS = 60_000

/** Methods of a validator and of a pool, which the relay refuses as unsupported. */
const UNSUPPORTED_NAMES = /^(?:engine|txpool)_/

const HINT = `This is a JSON-RPC endpoint of a local Hedera. Try:
curl -s -X POST -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}' `

/** The edge, not yet listening. `controls` are the `devnet_*` methods. */
export function createRpcServer(ledger: Ledger, controls: RpcMethods): FastifyInstance {
  const methods = new Map(
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
  const counter = createRequestCounter(ledger.clock, LIMIT_MS)
  /** Throws the relay's refusal if the caller has used up its calls of that method. */
  const admit = (caller: string, method: string): void => {
    const limits = ledger.faults.requestLimits.relayPerMinute
    if (limits === undefined || method.startsWith('devnet_')) return
    if (!counter.take(caller, method, relayLimitOf(method, limits))) {
      throw refusals.rateLimited(method)
    }
  }
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    forceCloseConnections: true,
    genReqId: () => randomUUID(),
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
  app.get('/', (request, reply) =>
    reply.type('text/plain; charset=utf-8').send(`${HINT}http://${request.host}\n`),
  )
  app.options('*', (_request, reply) => reply.code(204).send())
  app.post('/', async (request, reply) => {
    if (ledger.faults.unavailable.rpc && !isControl(request.body)) {
      request.raw.socket.destroy()
      return reply.hijack()
    }
    const text = String(request.body)
    const caller = callerOf(request)
    const answer = await answerBody(text, {
      methods,
      admit: (method) => admit(caller, method),
      failure: ledger.faults.isOldRelay ? oldFailure : failureOf(request.id),
    })
    if (!isControl(text) && isAnswerLost(ledger.faults, 'rpc', text)) {
      request.raw.socket.destroy()
      return reply.hijack()
    }
    return reply.code(statusOf(answer)).type('application/json').send(JSON.stringify(answer))
  })
  return app
}

/** Calls to `devnet_*` reach an edge that is otherwise cut off, or nobody could restore it. */
function isControl(body: unknown): boolean {
  return typeof body === 'string' && /"method"\s*:\s*"devnet_/.test(body)
}

/** What answers calls; `admit` throws for a caller that has used up its limit. */
type Answering = {
  readonly methods: ReadonlyMap<string, RpcMethods[string]>
  readonly admit: (method: string) => void
  readonly failure: (id: unknown, error: RpcError) => JsonObject
}

/** A single call's HTTP status; a batch is always 200. */
function statusOf(answer: object): number {
  if (!('error' in answer)) return 200
  return httpStatusOf((answer.error as { code: number }).code)
}

async function answerBody(
  text: string,
  answering: Answering,
): Promise<JsonObject | readonly JsonObject[]> {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return answering.failure(null, refusals.parseError())
  }
  if (!Array.isArray(body)) return answerCall(answering, body)
  if (body.length > BATCH_CALLS_MAX) {
    return answering.failure(null, refusals.batchTooLarge(body.length, BATCH_CALLS_MAX))
  }
  return body.length === 0
    ? answering.failure(null, refusals.invalidRequest())
    : Promise.all(body.map((call) => answerCall(answering, call)))
}

async function answerCall(answering: Answering, call: unknown): Promise<JsonObject> {
  const { admit, methods } = answering
  const { id = null, method, params = [] } = toCall(call)
  // Controls are no methods of the relay, whose words have the request's id.
  const failure = String(method).startsWith('devnet_') ? oldFailure : answering.failure
  if (typeof method !== 'string' || !Array.isArray(params)) {
    return failure(id, refusals.invalidRequest())
  }
  const run = methods.get(method)
  if (run === undefined) {
    const isKnown = UNSUPPORTED_NAMES.test(method)
    return failure(id, isKnown ? refusals.unsupportedMethod() : refusals.methodNotFound(method))
  }
  try {
    admit(method)
    checkArguments(method, params)
    return { jsonrpc: '2.0', id, result: (await run(params)) ?? null }
  } catch (cause) {
    if (cause instanceof RpcError) return failure(id, cause)
    process.stderr.write(`devnet: ${method}: ${String(cause)}\n`)
    return failure(id, refusals.internalError())
  }
}

function toCall(call: unknown): { id?: unknown; method?: unknown; params?: unknown } {
  return typeof call === 'object' && call !== null ? call : {}
}

/** A refusal, with the id of its request. */
const failureOf =
  (requestId: string) =>
  (id: unknown, { code, message, data }: RpcError): JsonObject => ({
    jsonrpc: '2.0',
    id,
    error: { code, message: `[Request ID: ${requestId}] ${message}`, ...(data && { data }) },
  })

function oldFailure(id: unknown, { oldCode: code, message, data }: RpcError): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } }
}
