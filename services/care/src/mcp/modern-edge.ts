/**
 * The edge of MCP 2026-07-28: which function serves which method without a session. Records are served by the same functions
 * as in a session (dispatch.ts); here stand what only this revision has and the form of its results.
 *
 * More methods and capabilities come in at composition, as `ModernExtensions`: each method gets the context of its request
 * (the services, the principal's `sub` and scopes) and its untouched `params`, and resolves with its result or throws an
 * `RpcFailure`. `resultType` and the server's name are added here. Modern-route.ts has checked envelope, headers and token,
 * and that the token reads something, before any of them runs.
 */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import {
  completeResult,
  MODERN_REVISION,
  RPC_CODES,
  RpcFailure,
  type RpcRefusal,
} from '@tallystick/service-kit/mcp'
import { type McpMethod, RECORD_METHODS, runMethod } from './dispatch.ts'
import { CAPABILITIES, INSTRUCTIONS } from './session-server.ts'
import type { McpServices, Principal } from './visible-records.ts'

export type ModernExtensions = {
  /** By name, such as `events/list`; a name that is served already may not be taken. */
  readonly methods: Readonly<Record<string, McpMethod>>
  /** Declared by `server/discover` beside those of records. */
  readonly capabilities: Readonly<Record<string, unknown>>
}

/** What changes only with a new version of the service, and is the same for everyone. */
const KEPT_MS = 300_000
const SAME_FOR_ALL = { ttlMs: KEPT_MS, cacheScope: 'public' } as const
/** What must be asked again each time: ages grow with the clock, and a retraction must not hide behind a copy (C21). */
const NEVER_KEPT = { ttlMs: 0, cacheScope: 'private' } as const

/** How long a result may be kept, and by whom, where this revision asks for it. */
const CACHING: Readonly<Record<string, typeof SAME_FOR_ALL | typeof NEVER_KEPT>> = {
  'server/discover': SAME_FOR_ALL,
  'resources/templates/list': SAME_FOR_ALL,
  'prompts/list': SAME_FOR_ALL,
  'tools/list': SAME_FOR_ALL,
  'resources/list': NEVER_KEPT,
  'resources/read': NEVER_KEPT,
}

/** Log notices have no place in this revision, and subscriptions one of their own: `subscriptions/listen`. */
const { logging: _logging, ...RECORD_CAPABILITIES } = CAPABILITIES

const NO_EXTENSIONS: ModernExtensions = { methods: {}, capabilities: {} }

type ModernAnswer = { readonly result: object } | RpcRefusal

export type ModernEdge = ReturnType<typeof createModernEdge>

export function createModernEdge(deps: {
  readonly services: McpServices
  readonly onFailure: (error: unknown) => void
  readonly extensions?: ModernExtensions | undefined
  /** What is served of records; tests put a suite's own things in their place. */
  readonly records?: Readonly<Record<string, McpMethod>> | undefined
}) {
  const { services, onFailure, extensions = NO_EXTENSIONS, records = RECORD_METHODS } = deps
  const { serviceName, version } = services
  const serverInfo = { name: `tallystick-${serviceName}`, version }
  const discover = async (): Promise<Result> => ({
    supportedVersions: [MODERN_REVISION],
    capabilities: { ...RECORD_CAPABILITIES, ...extensions.capabilities },
    instructions: INSTRUCTIONS,
  })
  const methods: Readonly<Record<string, McpMethod>> = {
    ...extensions.methods,
    ...records,
    'server/discover': discover,
  }

  return {
    /** A result in the form of this revision. */
    complete: (result: object): object => completeResult(result, serverInfo),
    contextOf: (principal: Principal, way: string) => ({ ...services, principal, way }),
    async answer(
      principal: Principal,
      { method, params }: { readonly method: string; readonly params?: unknown },
    ): Promise<ModernAnswer> {
      const handler = Object.hasOwn(methods, method) ? methods[method] : undefined
      const run = async (): Promise<Result> => {
        if (handler === undefined)
          throw new RpcFailure(RPC_CODES.methodNotFound, 'Method not found')
        return await handler({ ...services, principal, way: method }, params)
      }
      try {
        const result = await runMethod(run, onFailure)
        return { result: completeResult({ ...CACHING[method], ...result }, serverInfo) }
      } catch (error) {
        if (error instanceof RpcFailure) return modernRefusal(error)
        throw error
      }
    },
  }
}

/** The refusals of a method that have a status of their own; all others are in-band. */
const STATUS_OF: Readonly<Record<number, number>> = {
  [RPC_CODES.methodNotFound]: 404,
  [RPC_CODES.missingCapability]: 400,
}

/** A refusal as this revision has it: what is not there is a wrong parameter. */
export function modernRefusal({ code, data, message }: RpcFailure): RpcRefusal {
  const status = STATUS_OF[code] ?? 200
  const own = code === RPC_CODES.resourceNotFound ? RPC_CODES.invalidParams : code
  return { status, error: { code: own, message, ...(data && { data }) } }
}
