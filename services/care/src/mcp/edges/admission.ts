/**
 * Who may speak to MCP, whichever revision: first the Host, then the Origin, then the token (C2). What follows is the
 * route's own.
 */
import { METHODS } from 'node:http'
import type { TokenClaims } from '@tallystick/jwt-lite'
import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { BEARER, type BearerCheckDeps, checkBearer } from '../../routes/bearer.ts'
import { REFUSALS, sendRefusal } from './json-rpc.ts'

export type AdmissionDeps = {
  readonly bearer: BearerCheckDeps
  readonly isOwnHost: (host: string | undefined) => boolean
  readonly isOwnOrigin: (origin: string | undefined) => boolean
}

export type Admitted = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly claims: TokenClaims
}

export const readHeader = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

export const errorResponses = (...codes: readonly number[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(codes.map((code) => [code, errorBody]))

/**
 * Adds a path, also with a slash at its end (C41), with the methods that have a schema; others are refused with 405. A request is taken over in its `onRequest`
 * hook: bytes in and finished text out need nothing that Fastify does with bodies and replies. Refusals go out through
 * Fastify like those of every other route.
 */
export function addMcpPath(
  app: ServiceApp,
  path: AdmissionDeps & {
    readonly url: string
    readonly schemas: Readonly<Record<string, FastifySchema>>
  },
  takeOver: (admitted: Admitted) => void,
): void {
  const { schemas, url } = path
  const allowed = [...Object.keys(schemas), 'OPTIONS'].toSorted()
  const go = (admitted: Admitted): void =>
    Object.hasOwn(schemas, admitted.request.method)
      ? takeOver(admitted)
      : sendRefusal(admitted.reply.header('allow', allowed.join(', ')), REFUSALS.wrongMethod)
  const onRequest = (request: FastifyRequest, reply: FastifyReply): void => {
    if (!path.isOwnHost(request.headers.host)) return sendRefusal(reply, REFUSALS.foreignHost)
    if (!path.isOwnOrigin(request.headers.origin)) return sendRefusal(reply, REFUSALS.foreignOrigin)
    checkBearer(request.headers.authorization, path.bearer)
      .then((check) =>
        check.kind === 'refused'
          ? void sendError(reply, check.answer)
          : go({ request, reply, claims: check.claims }),
      )
      .catch((error: unknown) => void reply.send(error))
  }
  const config = { takesOverBody: true }
  const options = { onRequest, config, handler: () => undefined, exposeHeadRoute: false }
  for (const [method, schema] of Object.entries(schemas))
    app.route({
      ...options,
      url,
      method,
      schema: { security: BEARER, ...schema },
      ...(method === 'GET' && { config: { ...config, answersAs: 'text/event-stream' } }),
    })
  const isHidden = { schema: { hide: true } }
  app.route({ ...options, ...isHidden, url: `${url}/`, method: Object.keys(schemas) })
  // OPTIONS is answered before any route (S9); CONNECT never reaches one.
  const refused = METHODS.filter((method) => ![...allowed, 'CONNECT'].includes(method))
  for (const place of [url, `${url}/`])
    app.route({ ...options, ...isHidden, url: place, method: refused })
}

/**
 * Whether an Origin header is one that may call: none, which programs send, the service's own, or one of the list. Without a
 * list any may, since a page sends only what its user gave it (C2).
 */
export function createOriginGuard(options: {
  readonly baseUrl: string
  readonly allowedOrigins: readonly string[] | undefined
}): (origin: string | undefined) => boolean {
  const { allowedOrigins, baseUrl } = options
  if (allowedOrigins === undefined) return () => true
  const allowed = new Set([new URL(baseUrl).origin, ...allowedOrigins])
  return (origin) => origin === undefined || allowed.has(origin.toLowerCase())
}

/** Names under which the machine itself is reached. */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'] as const

/** The name in a Host header, without its port; undefined for an invalid one. */
function hostName(hostHeader: string): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[^:/@[\]\s]+)(?::\d{1,5})?$/i.exec(hostHeader)
  return match?.[1]?.toLowerCase()
}

/**
 * Whether a Host header names this service: a browser that was rebound to its address sends a different name (C2). Names
 * are compared without ports, since a proxy or a container may listen on another port.
 */
export function createHostGuard(options: {
  readonly baseUrl: string
  /** Additional names or `name:port`, e.g. those of a reverse proxy. */
  readonly allowedHosts: readonly string[]
}): (host: string | undefined) => boolean {
  const names = [new URL(options.baseUrl).host, ...options.allowedHosts, ...LOOPBACK]
  const allowed = new Set(names.map((host) => hostName(host)).filter((name) => name !== undefined))
  return (host) => {
    const name = hostName(host ?? '')
    return name !== undefined && allowed.has(name)
  }
}
