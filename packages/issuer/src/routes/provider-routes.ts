/** The provider's own routes, passed on unparsed, under this server's one address. */
import { type ServiceApp, sendError } from '@tallystick/service-kit'
import { pagePolicy } from '@tallystick/service-kit/pages'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Provider } from 'oidc-provider'
import type { NetworkLimit } from '../domain/sign-in-limits.ts'

const PATHS = [
  '/auth',
  '/auth/:uid',
  '/token',
  '/token/revocation',
  '/jwks',
  '/reg',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
] as const

const TOO_MANY = {
  '/reg': { status: 429, error: 'too_many_registrations', headers: { 'retry-after': '3600' } },
  '/auth': { status: 429, error: 'too_many_sign_ins', headers: { 'retry-after': '900' } },
}
const TOO_LARGE = { status: 413, error: 'body_too_large' }
/** Longest authorization request, characters: it is stored until its person has answered. Hosts send some hundreds. */
const REQUEST_CHARACTERS_MAX = 4_096
/** Longest metadata of a program that registers, bytes: strangers fill the store with it. */
const REGISTRATION_BYTES_MAX = 8_192

/** The provider sets such headers for all that pages call but this. */
const REGISTRATION_CORS = {
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'content-type',
  vary: 'origin',
}

/** A request without a scope gets the configured one (`DEFAULT_SCOPE`): some hosts forget theirs when they reconnect. */
export function addProviderRoutes(
  app: ServiceApp,
  deps: {
    readonly provider: Provider
    readonly baseUrl: string
    readonly defaultScope: string
    /** Origins of pages that may register themselves: those of the resources. */
    readonly pageOrigins: ReadonlySet<string>
    readonly networkOf: (request: FastifyRequest) => string | undefined
    readonly mayRegister: NetworkLimit
    readonly mayBegin: NetworkLimit
  },
): void {
  const handle = deps.provider.callback()
  const { host, protocol } = new URL(deps.baseUrl)
  const onRequest = (request: FastifyRequest, reply: FastifyReply): void => {
    const { raw } = request
    const { url: route } = request.routeOptions
    if (route === '/reg' && deps.pageOrigins.has(request.headers.origin ?? '')) {
      void reply.headers({
        ...REGISTRATION_CORS,
        'access-control-allow-origin': raw.headers.origin,
      })
      if (request.method === 'OPTIONS') return void reply.code(204).send()
    }
    const refusal = refuseTooMuch(request, deps)
    if (refusal !== undefined) return void sendError(reply, refusal)
    // Addresses in answers are those of BASE_URL, whatever a caller or a proxy says.
    raw.headers.host = host
    raw.headers['x-forwarded-proto'] = protocol.slice(0, -1)
    delete raw.headers['x-forwarded-host']
    if (request.method === 'GET' && route === '/auth')
      raw.url = withScope(raw.url ?? '', deps.defaultScope)
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value)
    reply.raw.setHeader('x-content-type-options', 'nosniff')
    reply.raw.setHeader('referrer-policy', 'no-referrer')
    reply.raw.setHeader('content-security-policy', pagePolicy())
    reply.hijack()
    void handle(raw, reply.raw)
  }
  const config = { takesOverBody: true, hasSecretPath: true }
  for (const url of PATHS)
    app.route({
      url,
      method: ['GET', 'HEAD', 'POST', 'OPTIONS'],
      config,
      schema: { hide: true },
      onRequest,
      // Never reached: onRequest has already answered.
      handler: () => undefined,
    })
}

/** Why a request is not passed on: it is too long to be stored, or its network has sent too many. */
function refuseTooMuch(
  request: FastifyRequest,
  {
    networkOf,
    mayRegister,
    mayBegin,
  }: Pick<Parameters<typeof addProviderRoutes>[1], 'networkOf' | 'mayRegister' | 'mayBegin'>,
) {
  const { method, url, headers, routeOptions } = request
  const isPost = method === 'POST'
  // Without its length, a body may be anything.
  const isLongerThan = (max: number) => isPost && !(Number(headers['content-length']) <= max)
  if (routeOptions.url === '/reg') {
    if (isLongerThan(REGISTRATION_BYTES_MAX)) return TOO_LARGE
    return isPost && !mayRegister(networkOf(request)) ? TOO_MANY['/reg'] : undefined
  }
  if (routeOptions.url !== '/auth') return undefined
  if (url.length > REQUEST_CHARACTERS_MAX) return { status: 414, error: 'uri_too_long' }
  if (isLongerThan(REQUEST_CHARACTERS_MAX)) return TOO_LARGE
  return mayBegin(networkOf(request)) ? undefined : TOO_MANY['/auth']
}

function withScope(url: string, scope: string): string {
  const [path = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  if (parameters.get('scope')?.trim()) return url
  parameters.set('scope', scope)
  return `${path}?${parameters.toString()}`
}
