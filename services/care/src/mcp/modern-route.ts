/**
 * `POST /mcp/2026-07-28`, the HTTP part of that revision (C21): one message a request, no session, nothing to resume. The
 * checks come in the order host, origin, token, method, type, size, JSON, envelope and headers, scope; then the method.
 */
import { METHODS } from 'node:http'
import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import {
  isModern,
  modernFault,
  olderRevision,
  parseMessage,
  RPC_CODES,
  RpcFailure,
  type RpcRequest,
  rpcRefusal,
} from '@tallystick/service-kit/mcp'
import { z } from 'zod'
import { reachOf, scopeOf } from '../domain/care-record.ts'
import { insufficientScope } from '../errors.ts'
import { MODERN_MCP_PATH } from '../routes/service-routes.ts'
import { modernMcpMessage } from '../wire/mcp.ts'
import { parseRecordUri } from '../wire/record-uri.ts'
import {
  type AdmissionDeps,
  type Admitted,
  createAdmission,
  headerOf,
  TAKEN_OVER,
} from './admission.ts'
import type { StreamEnd } from './event-streams.ts'
import {
  openEventStream,
  REFUSALS,
  sendAccepted,
  sendAnswer,
  sendRefusal,
  sendRpcError,
  takeBody,
} from './json-rpc.ts'
import type { McpLimits } from './limits.ts'
import { createListens, grantListen, type Listens } from './listens.ts'
import {
  createModernEdge,
  type ModernEdge,
  type ModernExtensions,
  modernRefusal,
} from './modern-edge.ts'
import type { McpServices } from './visible-records.ts'

type ModernParts = AdmissionDeps & {
  readonly records?: Parameters<typeof createModernEdge>[0]['records']
  readonly extensions?: ModernExtensions | undefined
  readonly isRevoked: (jti: string) => boolean
  readonly onFailure: (error: unknown) => void
  /** Called when a listen has ended. */
  readonly onEnd: (reason: StreamEnd) => void
}

type ModernRouteDeps = ModernParts & {
  readonly edge: ModernEdge
  readonly listens: Listens
  readonly limits: McpLimits
}

/** What serves this revision: its methods, its listens, and the route that leads to both. */
export function openModern(services: McpServices, parts: ModernParts) {
  const { clock, limits, unheard } = services
  const edge = createModernEdge({ services, ...parts })
  const lastResult = (_meta: object): object => edge.complete({ _meta })
  const listens = createListens({ ...parts, clock, limits, lastResult, onUpdate: unheard.heard })
  return {
    listens,
    addModernRoute: (app: ServiceApp): void => addRoute(app, { ...parts, edge, listens, limits }),
  }
}

/** OPTIONS is answered before any route (S9); CONNECT never reaches one. */
const REFUSED = METHODS.filter((method) => !['POST', 'OPTIONS', 'CONNECT'].includes(method))

const JSON_TYPE = /^application\/json\s*(?:;|$)/i

/** Adds the path; its requests are taken over as those of `/mcp` are. */
function addRoute(app: ServiceApp, deps: ModernRouteDeps): void {
  const onRequest = createAdmission(deps, (admitted) => {
    const { reply, request } = admitted
    if (request.method !== 'POST')
      return sendRefusal(reply.header('allow', 'OPTIONS, POST'), REFUSALS.wrongMethod)
    if (!JSON_TYPE.test(headerOf(request, 'content-type') ?? ''))
      return sendRefusal(reply, REFUSALS.wrongType)
    return takeBody(admitted, deps.limits.bodyBytesMax, (body) => serve(deps, admitted, body))
  })
  const options = { ...TAKEN_OVER, url: MODERN_MCP_PATH, onRequest }
  app.route({ ...options, method: 'POST', schema: DOCUMENTATION })
  app.route({ ...options, method: REFUSED, schema: { hide: true } })
}

const DOCUMENTATION = {
  tags: ['mcp'],
  summary: 'MCP 2026-07-28, without sessions',
  description:
    'One JSON-RPC message a request, with the envelope in `params._meta` and the headers `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` that agree with it. `subscriptions/listen` is answered with an event stream. The token is for this path: its `aud` is this URL.',
  body: modernMcpMessage,
  response: {
    200: z.unknown().describe('A JSON-RPC response, or an event stream for a listen.'),
    202: z.unknown().describe('A notification was accepted.'),
    ...Object.fromEntries([400, 401, 403, 404, 405, 413, 415].map((code) => [code, errorBody])),
  },
}

async function serve(deps: ModernRouteDeps, admitted: Admitted, body: Uint8Array): Promise<void> {
  const { claims, reply, request } = admitted
  const posted = parseMessage(body)
  if (posted.kind === 'not-json') return sendRefusal(reply, REFUSALS.notJson)
  if (posted.kind === 'notification') return sendAccepted({ request, reply })
  if (posted.kind !== 'request') return sendRefusal(reply, REFUSALS.invalidMessage)
  const { id, message, method } = posted
  const { headers } = request
  const fault = isModern(message, headers)
    ? modernFault(message, headers)
    : olderRevision(message, headers)
  if (fault !== undefined) return sendRpcError(reply, fault, id)
  const needed = scopeNeeded(claims.scopes, message)
  if (needed !== undefined) return sendError(reply, insufficientScope(needed, deps.bearer))
  if (method === 'subscriptions/listen') return await listen(deps, admitted, message)
  const answer = await deps.edge.answer(claims, message)
  if ('result' in answer)
    return sendAnswer({ request, reply }, { jsonrpc: '2.0', id, result: answer.result })
  return sendRpcError(reply, answer, id)
}

/**
 * The scope that a token lacks which reads nothing at all (C21). One that reads something is never told what else there is:
 * to it, what it may not read is not there.
 */
function scopeNeeded(
  scopes: readonly string[],
  { method, params }: RpcRequest,
): string | undefined {
  if (method === 'server/discover' || reachOf(scopes).length > 0) return undefined
  const uri = params?.['uri']
  const named = typeof uri === 'string' ? parseRecordUri(uri)?.slot.audience : undefined
  return scopeOf(named ?? 'user')
}

/** Opens a listen. What is wrong with one is said as JSON, before any stream. */
async function listen(
  deps: ModernRouteDeps,
  { claims, reply }: Admitted,
  { id, method, params }: RpcRequest,
): Promise<void> {
  const { edge, listens, onFailure } = deps
  try {
    listens.admit(claims.sub)
    const granted = await grantListen(edge.contextOf(claims, method), params)
    const response = openEventStream(reply)
    if (response !== undefined) listens.open({ id, claims, granted, response })
  } catch (error) {
    if (error instanceof RpcFailure) return sendRpcError(reply, modernRefusal(error), id)
    onFailure(error)
    const internal = rpcRefusal(200, RPC_CODES.internalError, { message: 'Internal error' })
    return sendRpcError(reply, internal, id)
  }
}
