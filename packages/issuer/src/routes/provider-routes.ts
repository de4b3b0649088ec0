/** The provider's own routes, passed on unparsed, under this server's one address. */
import { type ServiceApp, sendError } from '@tallystick/service-kit'
import { pagePolicy } from '@tallystick/service-kit/pages'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Provider } from 'oidc-provider'

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
  status: 429,
  error: 'too_many_registrations',
  headers: { 'retry-after': '3600' },
}

/** A request without a scope gets the configured one (`DEFAULT_SCOPE`): some hosts forget theirs when they reconnect. */
export function addProviderRoutes(
  app: ServiceApp,
  deps: {
    readonly provider: Provider
    readonly baseUrl: string
    readonly defaultScope: string
    /** Whether a program at an address may register now. */
    readonly mayRegister: (address: string) => boolean
  },
): void {
  const handle = deps.provider.callback()
  const { host, protocol } = new URL(deps.baseUrl)
  const onRequest = (request: FastifyRequest, reply: FastifyReply): void => {
    const { raw } = request
    const { url: route } = request.routeOptions
    if (request.method === 'POST' && route === '/reg' && !deps.mayRegister(request.ip))
      return void sendError(reply, TOO_MANY)
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

function withScope(url: string, scope: string): string {
  const [path = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  if (parameters.get('scope')?.trim()) return url
  parameters.set('scope', scope)
  return `${path}?${parameters.toString()}`
}
