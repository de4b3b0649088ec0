/**
 * oidc-provider as this server runs it: code flow with PKCE S256 alone, one resource per access token (RFC 8707), ES256,
 * rotating refresh tokens, and no scope that its person lacks. Pages and sign-in are in routes/.
 */
import { narrowScopes } from '@tallystick/jwt-lite'
import { type Clock, DAY_SECONDS } from '@tallystick/service-kit'
import { html, pageFrame } from '@tallystick/service-kit/pages'
import {
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider'
import type { GrantStore } from './adapters/grant-store.ts'
import type { SigningKeys } from './adapters/signing-keys.ts'
import {
  type IssuerConfig,
  isLocalRedirect,
  isProgramName,
  isRedirect,
  type KnownClient,
} from './config.ts'
import { type Account, type Accounts, type Begun, findBegunBy } from './domain/account.ts'

const CODE_SECONDS = 60
/** From the first page to the last: long enough to look up a password. */
const INTERACTION_SECONDS = 1_800

/** Scopes of this server itself; all others are a resource's. */
export const SIGN_IN_SCOPES: readonly string[] = ['openid', 'offline_access']

/** Why the password is asked again. */
export const SESSION_OVER = 'session_over'

type ProviderParts = {
  readonly config: IssuerConfig
  readonly store: GrantStore
  readonly keys: SigningKeys
  readonly accounts: Accounts
  readonly clock: Clock
  /** Fetches clients' documents; by default Node's own. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** Builds the provider; it serves nothing yet. */
export function createProvider(parts: ProviderParts): Provider {
  const { config, keys, store, accounts } = parts
  const provider = new Provider(config.BASE_URL, {
    adapter: (model) => store.adapter(model),
    jwks: { keys: [...keys.keys] },
    cookies: { keys: [...keys.cookieKeys] },
    clients: config.CLIENTS.map(clientMetadata),
    clientDefaults: {
      id_token_signed_response_alg: 'ES256',
      grant_types: ['authorization_code', 'refresh_token'],
      // Documents of programs without a secret omit it.
      token_endpoint_auth_method: 'none',
    },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    responseTypes: ['code'],
    // Programs list all scopes they know in their metadata.
    scopes: [...SIGN_IN_SCOPES, ...config.SCOPES],
    claims: { openid: ['sub', 'name', 'roles'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: chooseFeatures(parts),
    extraClientMetadata: { properties: ['registered_by'], validator: metadataGuard(config) },
    findAccount: async ({ oidc }, accountId, source: Begun | undefined = oidc.session) => {
      const account = await findBegunBy(accounts, { accountId, acr: source?.acr })
      return account && { ...account, accountId, claims: async () => idClaims(account) }
    },
    // Each sign-in asks, so that its person sees everything that is granted.
    loadExistingGrant: async ({ oidc }) => {
      const id = oidc.result?.consent?.grantId
      return id === undefined ? undefined : oidc.provider.Grant.find(id)
    },
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: async ({ oidc }) => {
      const { RefreshToken: token } = oidc.entities
      // Asked before the library uses the token up: a wrong address must not end the sign-in.
      requireResource(oidc.params?.['resource'] ?? token?.resource, { token, config })
      return (await store.findSuccessor(token?.jti ?? '')) === undefined
    },
    expiresWithSession: async () => false,
    formats: {
      customizers: {
        jwt: async (_context, token, jwt) => {
          const account = await accounts.find(String(jwt.payload['sub']))
          jwt.payload['scope'] = scopesFor(account, token.scope).join(' ')
          // Care shows and speaks it under what the person writes (C46).
          jwt.payload['name'] = account?.label
        },
      },
    },
    ttl: lifetimes(config),
    interactions: {
      url: (_context, { uid }) => `/interaction/${uid}`,
      policy: buildPrompts(parts),
    },
    renderError,
    // Programs that register themselves name no address that is fetched (C50).
    sectorIdentifierUriValidate: () => false,
    fetch: parts.fetch ?? globalThis.fetch,
  })
  // Addresses come from BASE_URL, through headers that the route sets.
  provider.proxy = true
  provider.use(async (context, next) => {
    await next()
    if (context.path === '/token') await completeTokens(context.body, store)
  })
  return provider
}

/** The password is asked again when a session is over, or when its person's credentials have ended. */
function buildPrompts({ config, clock }: ProviderParts): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base()
  const isOver = new interactionPolicy.Check(
    SESSION_OVER,
    'the person signs in again',
    ({ oidc: { session, account, result } }) => {
      if (session?.accountId === undefined) return false
      const ageSeconds = clock.unixMs() / 1_000 - (session.loginTs ?? 0)
      const isOld = ageSeconds >= config.SESSION_SECONDS && result?.login === undefined
      return account === undefined || isOld
    },
  )
  policy.get('login')?.checks.add(isOver)
  return policy
}

const idClaims = ({ id, label, roles }: Account) => ({ sub: id, name: label, roles: [...roles] })

/** A token's scopes that its person still has. Throws `invalid_grant` if there are none. */
function scopesFor(account: Account | undefined, granted: string | undefined): readonly string[] {
  const scopes = narrowScopes(account?.scopes ?? [], (granted ?? '').split(' '))
  if (scopes.length === 0) throw new errors.InvalidGrant('the account has none of these rights')
  return scopes
}

/** The address that a program means: `/mcp/` answers as `/mcp` (C41). */
const servedResource = ({ RESOURCES }: IssuerConfig, named: string): string | undefined =>
  RESOURCES.find((own) => own.replace(/\/$/, '') === named.replace(/\/$/, ''))

/** Throws `invalid_target` unless exactly one address is asked for, which the sign-in was for and which is still served. */
function requireResource(
  resources: unknown,
  request: {
    readonly token: KoaContextWithOIDC['oidc']['entities']['RefreshToken']
    readonly config: IssuerConfig
  },
): void {
  if (resources === undefined) return
  const [resource, ...others] = [resources].flat()
  const isText = typeof resource === 'string' && others.length === 0
  if (
    !isText ||
    !request.token?.resourceIndicators.has(resource) ||
    servedResource(request.config, resource) === undefined
  )
    throw new errors.InvalidTarget()
}

/** Of every refused address the library says that it "is missing, or unknown". */
const OTHER_RESOURCE =
  'resource must be the address that the sign-in was asked for, to the letter, with or without its last slash'

/**
 * Tells the client the scope that its token holds, which may be narrower than what it asked for; where it repeats a used refresh
 * token since an answer was lost, the one that came after it; and why an address is refused (C41).
 */
async function completeTokens(body: unknown, store: GrantStore): Promise<void> {
  const tokens = body as Partial<
    Record<'access_token' | 'refresh_token' | 'scope' | 'error' | 'error_description', unknown>
  >
  if (tokens?.error === 'invalid_target') tokens.error_description = OTHER_RESOURCE
  if (typeof tokens?.access_token !== 'string') return
  if (typeof tokens.refresh_token === 'string')
    tokens.refresh_token = (await store.findSuccessor(tokens.refresh_token)) ?? tokens.refresh_token
  const [, claims, signature] = tokens.access_token.split('.')
  if (claims === undefined || signature === undefined) return
  tokens.scope = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')).scope
}

/** Whether a client's metadata document may be fetched: it is listed, or below a listed one ending in `/`. */
export const isListedDocument = (listed: readonly string[], id: string): boolean =>
  listed.some((prefix) =>
    prefix.endsWith('/') ? id.startsWith(prefix) && id !== prefix : id === prefix,
  )

function chooseFeatures({ config }: ProviderParts): Configuration['features'] {
  const { CLIENT_DOCUMENTS: documents, RESOURCES: resources, SCOPES: scopes } = config
  const features = {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    revocation: {
      enabled: true,
      allowedPolicy: async (
        _context: unknown,
        client: { readonly clientId: string },
        token: { readonly clientId?: string | undefined },
      ) => token.clientId === client.clientId,
    },
    registration: { enabled: config.REGISTRATION !== 'off', issueRegistrationAccessToken: false },
    clientIdMetadataDocument: {
      enabled: documents.length > 0,
      ack: 'draft-02',
      allowFetch: async (_context: unknown, id: string) => isListedDocument(documents, id),
    },
    resourceIndicators: {
      enabled: true,
      // A mere sign-in gets no token for a resource.
      defaultResource: async (
        { oidc }: KoaContextWithOIDC,
        _client: unknown,
        eitherOf?: string[],
      ) => {
        if (eitherOf !== undefined) return eitherOf
        const requested = oidc.requestParamScopes
        return scopes.some((scope) => requested.has(scope)) ? resources[0] : undefined
      },
      useGrantedResource: async () => true,
      getResourceServerInfo: async (_context: unknown, resource: string) => {
        const audience = servedResource(config, resource)
        if (audience === undefined) throw new errors.InvalidTarget()
        return {
          audience,
          scope: scopes.join(' '),
          accessTokenFormat: 'jwt',
          accessTokenTTL: config.ACCESS_TOKEN_SECONDS,
          jwt: { sign: { alg: 'ES256' } },
        }
      },
    },
  }
  return features as unknown as Configuration['features']
}

function lifetimes(config: IssuerConfig): Configuration['ttl'] {
  const refreshSeconds = config.REFRESH_DAYS * DAY_SECONDS
  return {
    AccessToken: config.ACCESS_TOKEN_SECONDS,
    AuthorizationCode: CODE_SECONDS,
    IdToken: config.ACCESS_TOKEN_SECONDS,
    Interaction: INTERACTION_SECONDS,
    // The prompt below ends it; a sign-in that has begun is not cut short.
    Session: Math.max(config.SESSION_SECONDS, INTERACTION_SECONDS),
    Grant: refreshSeconds,
    // Renewing does not prolong a sign-in.
    RefreshToken: ({ oidc }) => oidc.entities.RotatedRefreshToken?.remainingTTL ?? refreshSeconds,
  }
}

function clientMetadata(client: KnownClient) {
  return {
    ...client,
    token_endpoint_auth_method: client.client_secret === undefined ? 'none' : 'client_secret_basic',
    response_types: ['code'],
  } as const
}

/** Addresses in metadata that some authorization servers fetch. */
const FETCHED = [
  'sector_identifier_uri',
  'jwks_uri',
  'request_uris',
  'backchannel_logout_uri',
] as const

type Metadata = {
  client_id?: unknown
  grant_types?: unknown
  redirect_uris?: unknown
  client_name?: unknown
  scope?: unknown
  application_type?: unknown
}

/** In one line (C41): `what` is the program's, and may be anything. */
const refuseMetadata = (what: string, why: string): never => {
  const shown = what
    .toWellFormed()
    .slice(0, SHOWN_CHARACTERS_MAX)
    .toWellFormed()
    .replace(/[^\x20-\x7e]/gu, encodeURIComponent)
  throw new errors.InvalidClientMetadata(`${shown}: ${why}`)
}
/** Of what a refusal names: enough to find it. */
const SHOWN_CHARACTERS_MAX = 100
const GRANT_TYPES = ['authorization_code', 'refresh_token']

/** Refuses programs that register themselves, unless `REGISTRATION` allows them, and metadata that a page cannot show. */
function metadataGuard({ REGISTRATION: allowed }: IssuerConfig) {
  return (
    context: KoaContextWithOIDC | undefined,
    ...[, , metadata]: readonly [string, unknown, Metadata]
  ): void => {
    // The person decides what a program gets; a list in its metadata would bar it from asking for more later.
    delete metadata.scope
    const { client_name: name, grant_types: grantTypes, redirect_uris: redirectUris } = metadata
    // It is told what it got (RFC 7591 §3.2.1): programs list every grant that they know.
    if (Array.isArray(grantTypes))
      metadata.grant_types = grantTypes.filter((type) => GRANT_TYPES.includes(type))
    const uris = [redirectUris].flat().filter((uri) => typeof uri === 'string')
    // A native program's loopback may have any port (RFC 8252 §7.3), also beside a page of its maker.
    metadata.application_type = uris.every((uri) => uri.startsWith('https:')) ? 'web' : 'native'
    if (name !== undefined && !(typeof name === 'string' && isProgramName(name)))
      refuseMetadata('client_name', 'at most 64 visible characters on one line')
    const unusable = uris.find((uri) => !isRedirect(uri))
    if (unusable !== undefined)
      refuseMetadata(
        `redirect_uris: ${unusable}`,
        'must be https, loopback, or a scheme of the program itself',
      )
    const isRegistration = context?.oidc?.route === 'registration'
    const stated = isRegistration ? (context.oidc.body ?? {}) : metadata
    const named = FETCHED.find((field) => field in stated)
    // The keys of a listed document are fetched, as the document is.
    const isDocument = String(metadata.client_id).startsWith('https:')
    if (named !== undefined && !isDocument)
      refuseMetadata(named, 'this server fetches nothing for a program')
    const foreign = uris.find((uri) => !isLocalRedirect(uri))
    if (isRegistration && allowed !== 'any' && foreign !== undefined)
      refuseMetadata(
        `redirect_uris: ${foreign}`,
        'only programs on the person’s own machine may register here (REGISTRATION); the operator can name others in CLIENTS',
      )
  }
}

/** The page for an error that cannot be sent back to the program, such as an unknown program. */
async function renderError(context: KoaContextWithOIDC, out: { readonly error?: string }) {
  const { error = 'server_error', error_description: description } = out as Record<string, string>
  context.type = 'html'
  context.body = pageFrame({
    title: 'Sign-in',
    heading: 'This sign-in cannot go on',
    lead: 'Go back to the program that sent you here and start again.',
    body: html`<p class="note bad"><code>${error}</code>${description === undefined ? '' : `: ${description}`}</p>`,
    links: [],
  }).toString()
}
