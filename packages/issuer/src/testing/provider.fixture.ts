// An OpenID provider upstream that signs what a test says, with the key that a test says.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

export async function startProvider() {
  const [own, foreign] = await Promise.all([1, 2].map(() => generateKeyPair('RS256')))
  if (own === undefined || foreign === undefined) throw new Error('no keys')
  const state = {
    sub: 'ada',
    key: own.privateKey,
    foreign: foreign.privateKey,
    nonce: '',
  }
  const answers: Record<string, (query: URLSearchParams) => unknown> = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    }),
    '/jwks': async () => ({
      keys: [{ ...(await exportJWK(own.publicKey)), kid: 'own', alg: 'RS256', use: 'sig' }],
    }),
    '/token': async () => ({
      access_token: 'x',
      token_type: 'bearer',
      id_token: await new SignJWT({ nonce: state.nonce })
        .setProtectedHeader({ alg: 'RS256', kid: 'own' })
        .setIssuer(issuer)
        .setAudience('tallystick')
        .setSubject(state.sub)
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(state.key),
    }),
  }
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', issuer)
    if (pathname === '/auth') {
      state.nonce = searchParams.get('nonce') ?? ''
      const back = new URL(searchParams.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({
        code: 'c',
        state: searchParams.get('state') ?? '',
      }).toString()
      return response.writeHead(302, { location: back.href }).end()
    }
    const answer = await answers[pathname]?.(searchParams)
    response.setHeader('content-type', 'application/json')
    return response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(state, {
    issuer,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections()
        server.close(done)
      }),
  })
}
