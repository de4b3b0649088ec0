/** Composes the authorization server. */
import {
  type Clock,
  createMetrics,
  createServiceApp,
  type Environment,
  type ListeningService,
  type MetricTable,
  Registry,
  requireConfig,
  type Service,
  startListening,
  systemClock,
} from '@tallystick/service-kit'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { openGrantStore } from './adapters/grant-store.ts'
import { openSigningKeys } from './adapters/signing-keys.ts'
import { createUpstreamSignIn } from './adapters/upstream-sign-in.ts'
import { openUsersFile } from './adapters/users-file.ts'
import { type IssuerConfig, issuerConfigSchema } from './config.ts'
import { type Accounts, UPSTREAM_PREFIX } from './domain/account.ts'
import {
  createBeginningLimit,
  createRegistrationLimit,
  readNetwork,
  SignInLimits,
} from './domain/sign-in-limits.ts'
import { createProvider, SIGN_IN_SCOPES } from './provider.ts'
import { addInteractionRoutes } from './routes/interaction-routes.ts'
import { addProviderRoutes } from './routes/provider-routes.ts'

const METRICS = {
  issuer_sign_ins_total: { kind: 'counter', help: 'Sign-ins, by outcome.', labels: ['outcome'] },
  issuer_refusals_total: {
    kind: 'counter',
    help: 'Refused requests, by where.',
    labels: ['where'],
  },
} as const satisfies MetricTable

type IssuerOptions = {
  readonly config: IssuerConfig
  readonly clock: Clock
  readonly logger?: FastifyBaseLogger | undefined
  /** Fetches clients' metadata documents; by default Node's own. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** Rejects with `PrivateFileUnusable` or `GrantStoreUnavailable`; their messages are for the operator. */
export async function createIssuer(options: IssuerOptions): Promise<Service> {
  const { config, clock, logger, fetch } = options
  const registry = new Registry()
  const metrics = createMetrics(registry, METRICS)
  const keys = openSigningKeys(config.KEYS_PATH)
  const users = config.USERS_PATH === undefined ? undefined : openUsersFile(config.USERS_PATH)
  const store = openGrantStore(config.DATABASE_PATH, clock)
  const upstream = createUpstreamSignIn(config, store)
  const accounts: Accounts = {
    find: async (id) => (id.startsWith(UPSTREAM_PREFIX) ? upstream?.find(id) : users?.find(id)),
  }
  const provider = createProvider({ config, clock, store, keys, accounts, fetch })
  const note = (where: string) => (_context: unknown, error: Error) => {
    metrics.count('issuer_refusals_total', { where })
    logger?.warn({ err: error }, `${where} refused`)
  }
  provider.on('authorization.error', note('authorization'))
  provider.on('grant.error', note('token'))
  provider.on('registration_create.error', note('registration'))
  provider.on('server_error', (_context: unknown, error: Error) =>
    logger?.error({ err: error }, 'server error'),
  )
  const networkOf = countNetworks(config, logger)
  const observe = (outcome: string): void => metrics.count('issuer_sign_ins_total', { outcome })
  const app = await createServiceApp({
    name: 'tallystick-issuer',
    version: '0.1.0',
    description: 'Signs people in for MCP hosts and issues the tokens that care accepts.',
    clock,
    // The provider sets these headers for the routes that pages may call.
    cors: false,
    logger,
    registry,
    metricsToken: config.METRICS_TOKEN,
    trustedProxyHops: config.TRUST_PROXY_HOPS,
    routes(scope) {
      const { BASE_URL: baseUrl, DEFAULT_SCOPE: ofNone } = config
      addProviderRoutes(scope, {
        provider,
        baseUrl,
        scopes: { known: [...SIGN_IN_SCOPES, ...config.SCOPES], ofNone },
        hasRegistration: config.REGISTRATION !== 'off',
        pageOrigins: new Set(config.RESOURCES.map((resource) => new URL(resource).origin)),
        networkOf,
        mayRegister: createRegistrationLimit(clock),
        mayBegin: createBeginningLimit(clock),
      })
      const limits = new SignInLimits(clock)
      addInteractionRoutes(scope, {
        provider,
        accounts,
        users,
        upstream,
        limits,
        networkOf,
        baseUrl,
        observe,
      })
    },
  })
  return { app, registry, close: async () => store.close() }
}

/**
 * The network of a request; undefined behind proxies whose number is not configured, where every request seems to come from the
 * same address, and one guesser would keep everybody out.
 */
function countNetworks(
  { BASE_URL: baseUrl, TRUST_PROXY_HOPS: hops }: IssuerConfig,
  logger: FastifyBaseLogger | undefined,
): (request: FastifyRequest) => string | undefined {
  // This server speaks plain http: with an https origin there is a proxy in front.
  if (hops > 0 || !baseUrl.startsWith('https:')) return ({ ip }) => readNetwork(ip)
  logger?.warn(
    'TRUST_PROXY_HOPS is 0 and BASE_URL is https: addresses behind the proxy are unknown, so no limit counts by address',
  )
  return () => undefined
}

/** Starts a server from an environment, for tests and local stacks. Rejects with its problems. */
export async function startIssuer(
  environment: Environment,
  options: Pick<IssuerOptions, 'fetch' | 'logger'> = {},
): Promise<ListeningService> {
  const config = requireConfig(issuerConfigSchema, environment)
  const service = await createIssuer({ config, clock: systemClock, ...options })
  return startListening(service, { host: config.HOST, port: config.PORT })
}
