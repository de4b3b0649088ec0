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
const REGISTRATION_OFF = {
  status: 404,
  error: 'registration_off',
  details: {
    error_description:
      'Programs do not register themselves at this server (REGISTRATION): the operator names them in CLIENTS',
  },
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

export function addProviderRoutes(
  app: ServiceApp,
  deps: {
    /** As it is now. */
    readonly provider: () => Provider
    readonly baseUrl: string
    /** Origins of pages that may register themselves: those of the resources. */
    readonly pageOrigins: ReadonlySet<string>
    /** Scopes that it knows, and those of a request that names none. */
    readonly scopes: { readonly known: readonly string[]; readonly ofNone: string }
    readonly hasRegistration: boolean
    readonly countedNetwork: (request: FastifyRequest) => string | undefined
    readonly mayRegister: NetworkLimit
    readonly mayBegin: NetworkLimit
  },
): void {
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
      raw.url = withKnownScopes(raw.url ?? '', deps.scopes)
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value)
    reply.raw.setHeader('x-content-type-options', 'nosniff')
    reply.raw.setHeader('referrer-policy', 'no-referrer')
    reply.raw.setHeader('content-security-policy', pagePolicy())
    reply.hijack()
    void deps.provider().callback()(raw, reply.raw)
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
    hasRegistration,
    countedNetwork,
    mayRegister,
    mayBegin,
  }: Pick<
    Parameters<typeof addProviderRoutes>[1],
    'hasRegistration' | 'countedNetwork' | 'mayRegister' | 'mayBegin'
  >,
) {
  const { method, url, headers, routeOptions } = request
  const isPost = method === 'POST'
  // Without its length, a body may be anything.
  const isLongerThan = (max: number) => isPost && !(Number(headers['content-length']) <= max)
  if (routeOptions.url === '/reg') {
    if (isPost && !hasRegistration) return REGISTRATION_OFF
    if (isLongerThan(REGISTRATION_BYTES_MAX)) return TOO_LARGE
    return isPost && !mayRegister(countedNetwork(request)) ? TOO_MANY['/reg'] : undefined
  }
  if (routeOptions.url !== '/auth') return undefined
  if (url.length > REQUEST_CHARACTERS_MAX) return { status: 414, error: 'uri_too_long' }
  if (isLongerThan(REQUEST_CHARACTERS_MAX)) return TOO_LARGE
  return mayBegin(countedNetwork(request)) ? undefined : TOO_MANY['/auth']
}

/**
 * The request with the scopes that this server knows (C41): hosts leave stray spaces, and ask for all that they have ever heard of.
 * Without one for a resource it gets the configured ones, since some hosts forget theirs when they reconnect; not where a scope is
 * narrower than a known one, whose person would grant more than was asked.
 */
function withKnownScopes(
  url: string,
  { known, ofNone }: Parameters<typeof addProviderRoutes>[1]['scopes'],
): string {
  const [path = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  const [scope = '', ...repeated] = parameters.getAll('scope')
  if (repeated.length > 0) return url
  const scopes = scope
    .split(/\s+/)
    .filter((name) => known.some((start) => name === start || name.startsWith(`${start}:`)))
  if (!scopes.some((name) => name !== 'offline_access')) scopes.unshift(ofNone)
  parameters.set('scope', scopes.join(' '))
  return `${path}?${parameters.toString()}`
}
