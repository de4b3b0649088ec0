/**
 * `POST /mcp/2026-07-28`, that revision (C21): one message a request, no session, nothing to resume. The order of checks is
 * host, origin, token, method, type, size, JSON, envelope and headers, scope; then the method. The same functions serve records
 * as in a session (dispatch.ts); this file has what only this revision has, and the form of its results.
 */

import type { Result } from '@modelcontextprotocol/sdk/types.js'
import type { IsRevoked } from '@tallystick/jwt-lite'
import { type ServiceApp, sendError } from '@tallystick/service-kit'
import {
  completeResult,
  isModern,
  MODERN_REVISION,
  modernFault,
  olderRevision,
  parseMessage,
  RPC_CODES,
  RpcFailure,
  type RpcRefusal,
  type RpcRequest,
} from '@tallystick/service-kit/mcp'
import { z } from 'zod'
import { placeBehind } from '../../domain/record-store.ts'
import { audienceScope, readReach } from '../../domain/scopes.ts'
import type { ListenRows } from '../../domain/session-store.ts'
import { insufficientScope } from '../../errors.ts'
import { MODERN_MCP_PATH } from '../../routes/service-routes.ts'
import { modernMcpMessage } from '../../wire/mcp.ts'
import { parseRecordUri } from '../../wire/record-uri.ts'
import { type McpMethod, RECORD_METHODS, runMethod } from '../methods/dispatch.ts'
import type { McpServices } from '../records/visible-records.ts'
import type { JournalFollower } from '../sessions/journal-follower.ts'
import type { StreamEnd } from '../sessions/open-stream.ts'
import { CAPABILITIES, INSTRUCTIONS } from '../sessions/session-server.ts'
import {
  type AdmissionDeps,
  type Admitted,
  addMcpPath,
  errorResponses,
  readHeader,
} from './admission.ts'
import {
  openEventStream,
  REFUSALS,
  sendAccepted,
  sendAnswer,
  sendRefusal,
  sendRpcError,
  takeBody,
} from './json-rpc.ts'
import { createListens, grantListen, type Listens } from './listens.ts'

/**
 * More methods and capabilities: each method gets the context of its request (the services, the principal's `sub` and
 * scopes) and its untouched `params`, and resolves with its result or throws an `RpcFailure`. `resultType` and the server's
 * name are added here. Envelope, headers and token are checked, and the token reads something, before any of them runs.
 */
export type ModernExtensions = {
  /** By name, such as `events/list`; a name already served is not allowed. */
  readonly methods: Readonly<Record<string, McpMethod>>
  /** Declared by `server/discover` beside those of records. */
  readonly capabilities: Readonly<Record<string, unknown>>
}

/** Results that change only with a new version of the service, and are the same for everyone. */
const KEPT_MS = 300_000
const SAME_FOR_ALL = { ttlMs: KEPT_MS, cacheScope: 'public' } as const
/** Results that must not be cached: ages grow with the clock, and a cached copy must not hide a retraction (C21). */
const NEVER_KEPT = { ttlMs: 0, cacheScope: 'private' } as const

/** How long a result may be kept, and by whom, for methods where this revision requires it. */
const CACHING: Readonly<Record<string, typeof SAME_FOR_ALL | typeof NEVER_KEPT>> = {
  'server/discover': SAME_FOR_ALL,
  'resources/templates/list': SAME_FOR_ALL,
  'prompts/list': SAME_FOR_ALL,
  'tools/list': SAME_FOR_ALL,
  'resources/list': NEVER_KEPT,
  'resources/read': NEVER_KEPT,
}

/** This revision has no log notices, and its own method for subscriptions: `subscriptions/listen`. */
const { logging: _logging, ...RECORD_CAPABILITIES } = CAPABILITIES

type ModernParts = AdmissionDeps & {
  /** The services of records; tests replace them with a suite's own. */
  readonly records?: Readonly<Record<string, McpMethod>>
  readonly extensions?: ModernExtensions | undefined
  readonly isRevoked: IsRevoked
  readonly onFailure: (error: unknown) => void
  readonly onEnd: (reason: StreamEnd) => void
  /** Listens of all processes. */
  readonly rows: ListenRows
  readonly follower: Pick<JournalFollower, 'join' | 'leave' | 'wake'> & {
    readonly looks: Pick<JournalFollower['looks'], 'again'>
  }
}

const JSON_TYPE = /^application\/json\s*(?:;|$)/i

/** The parts that serve this revision: its listens, and the route to them and to its methods. */
export function openModern(services: McpServices, parts: ModernParts) {
  const { limits, serviceName, version } = services
  const { extensions, records = RECORD_METHODS } = parts
  const serverInfo = { name: `tallystick-${serviceName}`, version }
  const discover = async (): Promise<Result> => ({
    supportedVersions: [MODERN_REVISION],
    capabilities: { ...RECORD_CAPABILITIES, ...extensions?.capabilities },
    instructions: INSTRUCTIONS,
  })
  const listens = createListens({
    ...parts,
    clock: services.clock,
    limits,
    lastResult: (_meta) => completeResult({ _meta }, serverInfo),
    onUpdate: services.unheard.heard,
    place: () => placeBehind(services.store.journals),
  })
  const methods = { ...extensions?.methods, ...records, 'server/discover': discover }
  const deps: ModernRouteDeps = { ...parts, services, methods, listens, serverInfo }
  const addModernRoute = (app: ServiceApp): void => {
    const path = { ...parts, url: MODERN_MCP_PATH, schemas: { POST: DOCUMENTATION } }
    addMcpPath(app, path, (admitted) => {
      const { reply, request } = admitted
      if (!JSON_TYPE.test(readHeader(request, 'content-type') ?? ''))
        return sendRefusal(reply, REFUSALS.wrongType)
      void takeBody(admitted, limits.bodyBytesMax, (body) => serve(deps, admitted, body))
    })
  }
  return { listens, addModernRoute }
}

type ModernRouteDeps = ModernParts & {
  readonly services: McpServices
  readonly methods: Readonly<Record<string, McpMethod>>
  readonly listens: Listens
  readonly serverInfo: { readonly name: string; readonly version: string }
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
    ...errorResponses(400, 401, 403, 404, 405, 413, 415),
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
  const run = method === 'subscriptions/listen' ? listen : answer
  try {
    const result = await runMethod(async () => {
      // What other processes have written until now.
      await deps.follower.looks.again()
      return run(deps, admitted, message)
    }, deps.onFailure)
    if (result !== undefined) sendAnswer({ request, reply }, { jsonrpc: '2.0', id, result })
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error
    sendRpcError(reply, modernRefusal(error), id)
  }
}

/**
 * The missing scope of a token that reads nothing at all (C21). A token that reads something never learns what else exists:
 * for it, unreadable records do not exist.
 */
function scopeNeeded(
  scopes: readonly string[],
  { method, params }: RpcRequest,
): string | undefined {
  if (method === 'server/discover' || readReach(scopes).length > 0) return undefined
  const uri = params?.['uri']
  const named = typeof uri === 'string' ? parseRecordUri(uri)?.slot.audience : undefined
  return audienceScope(named ?? 'user')
}

async function answer(
  { methods, serverInfo, services }: ModernRouteDeps,
  { claims }: Admitted,
  { method, params }: RpcRequest,
): Promise<object> {
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (handler === undefined) throw new RpcFailure(RPC_CODES.methodNotFound, 'Method not found')
  const result = await handler({ ...services, principal: claims, way: method }, params)
  return completeResult({ ...CACHING[method], ...result }, serverInfo)
}

/** Opens a listen. Faults are answered as JSON, before any stream. */
async function listen(
  { listens, services }: ModernRouteDeps,
  { claims, reply }: Admitted,
  { id, method, params }: RpcRequest,
): Promise<undefined> {
  const granted = await grantListen({ ...services, principal: claims, way: method }, params)
  const row = await listens.admit(claims.sub, granted)
  const response = openEventStream(reply)
  if (response === undefined) listens.dismiss(row)
  else listens.open({ id, row, claims, granted, response })
}

/** The refusals of a method that have a status of their own; all others are in-band. */
const STATUS_OF: Readonly<Record<number, number>> = {
  [RPC_CODES.methodNotFound]: 404,
  [RPC_CODES.missingCapability]: 400,
}

/** A refusal in this revision's form: an absent record is a wrong parameter. */
function modernRefusal({ code, data, message }: RpcFailure): RpcRefusal {
  const status = STATUS_OF[code] ?? 200
  const own = code === RPC_CODES.resourceNotFound ? RPC_CODES.invalidParams : code
  return { status, error: { code: own, message, ...(data && { data }) } }
}
