// An issuer on loopback: its keys, its discovery document, its tokens, and its outages.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

/** `RESOURCE` of care.fixture.ts. */
export const ISSUER_AUDIENCE = 'https://care.test/mcp'

export type IssuerKey = {
  readonly alg: string
  readonly kid: string
  readonly jwk: JWK
  readonly secret: CryptoKey
}

export async function issuerKey(alg: string, kid: string): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return {
    alg,
    kid,
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    secret: privateKey,
  }
}

export type IssuerFixture = Awaited<ReturnType<typeof startIssuer>>

export async function startIssuer(keys: readonly IssuerKey[]) {
  const state = {
    keys,
    /** Requested paths. */
    asked: [] as string[],
    /** What it answers instead: a status, or a text with 200. */
    fault: undefined as number | string | undefined,
    discovery: {} as Record<string, unknown>,
  }
  const server = createServer((request, response) => {
    const requested = request.url ?? ''
    const path = requested.replace(/^\/moved/, '')
    state.asked.push(requested)
    const { fault } = state
    // A client that follows finds the answer there.
    if (fault === 302 && path === requested)
      return response.writeHead(fault, { location: `/moved${path}` }).end()
    if (typeof fault === 'number' && fault !== 302) return response.writeHead(fault).end()
    if (typeof fault === 'string') return response.end(fault)
    if (path === '/jwks')
      return response.end(JSON.stringify({ keys: state.keys.map(({ jwk }) => jwk) }))
    if (path === '/.well-known/openid-configuration')
      return response.end(
        JSON.stringify({ issuer, jwks_uri: `${issuer}/jwks`, ...state.discovery }),
      )
    return response.writeHead(404).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(state, {
    issuer,
    /** A token that care accepts, with changes; a claim of undefined is left out. */
    token: async (
      nowMs: number,
      changes: {
        readonly claims?: Readonly<Record<string, unknown>> | undefined
        readonly header?: Readonly<Record<string, unknown>> | undefined
        readonly key?: IssuerKey
      } = {},
    ): Promise<string> => {
      const key = changes.key ?? state.keys[0]
      if (key === undefined) throw new Error('an issuer without keys')
      const iat = Math.floor(nowMs / 1_000)
      const claims = {
        iss: issuer,
        sub: 'ada',
        aud: ISSUER_AUDIENCE,
        iat,
        exp: iat + 600,
        jti: 'one',
        scope: 'openid care.read.user',
        ...changes.claims,
      }
      const header = { alg: key.alg, kid: key.kid, typ: 'at+jwt', ...changes.header }
      return new SignJWT(claims).setProtectedHeader(header).sign(key.secret)
    },
    close: () =>
      new Promise<void>((done) => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  })
}
