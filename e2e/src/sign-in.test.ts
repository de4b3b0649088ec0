// `npm start -- --sign-in`: the official client logs in at care by discovery alone, on both paths.
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { openBrowser } from '../../packages/issuer/src/testing/browser.fixture.ts'

const { care, signIn } = inject('stack').description
const CALLBACK = 'http://127.0.0.1:9/callback'

const open: Client[] = []
afterEach(async () => {
  for (const client of open.splice(0)) await client.close()
})

/** What a host keeps, in memory; `sentTo` is where it opened the browser. */
function hostProvider() {
  const storage: Record<string, unknown> = {}
  let sentTo: URL | undefined
  const provider = {
    redirectUrl: CALLBACK,
    clientMetadata: {
      client_name: 'Test host',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => storage['client'],
    saveClientInformation: (client: unknown) => void (storage['client'] = client),
    tokens: () => storage['tokens'],
    saveTokens: (tokens: unknown) => void (storage['tokens'] = tokens),
    redirectToAuthorization: (url: URL) => void (sentTo = url),
    saveCodeVerifier: (verifier: string) => void (storage['verifier'] = verifier),
    codeVerifier: () => storage['verifier'],
    saveDiscoveryState: (state: unknown) => void (storage['discovery'] = state),
    discoveryState: () => storage['discovery'],
  }
  return {
    provider: provider as unknown as OAuthClientProvider,
    kept: storage,
    sentTo: () => sentTo,
  }
}

const readClaims = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

describe.each([
  ['/mcp', '', { mode: 'legacy' as const }],
  ['/mcp/2026-07-28', '/2026-07-28', { mode: { pin: '2026-07-28' } }],
])('C27: signing in at %s with nothing but its URL', (_, path, versionNegotiation) => {
  it('the host registers, its person signs in and allows, and it reads with a token for that address alone', async () => {
    if (signIn === undefined) throw new Error('the stack has no sign-in')
    const url = new URL(`${care.mcpUrl}${path}`)
    const host = hostProvider()
    const connect = async () => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation })
      const transport = new StreamableHTTPClientTransport(url, { authProvider: host.provider })
      open.push(client)
      return { client, transport, connected: client.connect(transport) }
    }
    const first = await connect()
    await expect(first.connected).rejects.toThrow(UnauthorizedError)
    const destination = host.sentTo()
    expect(destination?.origin).toBe(signIn.url)
    expect(destination?.searchParams.get('resource')).toBe(url.href)
    const { name, password } = signIn
    const browser = openBrowser()
    const end = await browser.allow(destination?.href ?? '', { name, password, until: CALLBACK })
    await first.transport.finishAuth(new URL(end.url).searchParams)
    const second = await connect()
    await second.connected
    const { resources } = await second.client.listResources()
    expect(resources.length).toBeGreaterThan(0)
    const { access_token: token } = host.kept['tokens'] as { access_token: string }
    expect(readClaims(token)).toMatchObject({ iss: signIn.url, sub: name, aud: url.href })
    const elsewhere = path === '' ? `${care.mcpUrl}/2026-07-28` : care.mcpUrl
    const refused = await fetch(elsewhere, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    expect(refused.status).toBe(401)
    expect(await refused.json()).toMatchObject({ error_description: 'wrong_audience' })
  })
})
