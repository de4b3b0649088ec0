/** Composes the authorization server. */
import {
  type Clock,
  clientNetwork,
  createMetrics,
  createServiceApp,
  type Environment,
  type ErrorAnswer,
  type ListeningService,
  type MetricTable,
  type ReadinessCheck,
  Registry,
  requireConfig,
  type Service,
  startListening,
  systemClock,
} from '@tallystick/service-kit'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Provider } from 'oidc-provider'
import { GrantStoreUnavailable } from './adapters/grant-database.ts'
import { createGrantStore, sweepGrants } from './adapters/grant-store.ts'
import { type OpenGrants, openGrants } from './adapters/open-grants.ts'
import type { PostgresGrants } from './adapters/postgres-grants.ts'
import type { SigningKeys } from './adapters/signing-keys.ts'
import { createUpstreamSignIn } from './adapters/upstream-sign-in.ts'
import { openUsersFile } from './adapters/users-file.ts'
import { type IssuerConfig, issuerConfigSchema } from './config.ts'
import { type Accounts, UPSTREAM_PREFIX } from './domain/account.ts'
import {
  createBeginningLimit,
  createRegistrationLimit,
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
  const users = config.USERS_PATH === undefined ? undefined : openUsersFile(config.USERS_PATH)
  const onProblem = (error: unknown): void => logger?.warn({ err: error }, 'grants_unreached')
  const { database, followKeys, keys, postgres } = await openGrants(config, { clock, onProblem })
  const store = createGrantStore(database, clock)
  const endSweeps = sweepGrants(database, { clock, onProblem })
  const upstream = createUpstreamSignIn(config, store)
  const accounts: Accounts = {
    find: async (id) => (id.startsWith(UPSTREAM_PREFIX) ? upstream?.find(id) : users?.find(id)),
  }
  const count = (where: string): void => metrics.count('issuer_refusals_total', { where })
  const parts = { config, clock, store, accounts, fetch }
  const { provider, endFollowing } = keepProvider({ keys, followKeys }, (current) =>
    watchRefusals(createProvider({ ...parts, keys: current }), { count, logger }),
  )
  const countedNetwork = countNetworks(config, logger)
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
    errors: { answer: answerFailure },
    readiness: postgres && { grants: checkReadiness(postgres, onProblem) },
    routes(scope) {
      const { BASE_URL: baseUrl, DEFAULT_SCOPE: ofNone } = config
      addProviderRoutes(scope, {
        provider,
        baseUrl,
        scopes: { known: [...SIGN_IN_SCOPES, ...config.SCOPES], ofNone },
        hasRegistration: config.REGISTRATION !== 'off',
        pageOrigins: new Set(config.RESOURCES.map((resource) => new URL(resource).origin)),
        countedNetwork,
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
        countedNetwork,
        baseUrl,
        observe,
      })
    },
  })
  return {
    app,
    registry,
    stopping: () => postgres?.stopping(onProblem),
    async close() {
      endFollowing()
      endSweeps()
      await database.close()
    },
  }
}

/** The provider with the keys of now. It takes keys only when it is made, and holds nothing else that another would lack. */
function keepProvider(
  { keys, followKeys }: Pick<OpenGrants, 'keys' | 'followKeys'>,
  make: (keys: SigningKeys) => Provider,
) {
  let current = make(keys)
  const endFollowing = followKeys((changed) => {
    current = make(changed)
  })
  return { provider: (): Provider => current, endFollowing }
}

/** Counts and logs what the provider refuses. */
function watchRefusals(
  provider: Provider,
  { count, logger }: { readonly count: (where: string) => void } & Pick<IssuerOptions, 'logger'>,
): Provider {
  const note = (where: string) => (_context: unknown, error: Error) => {
    count(where)
    logger?.warn({ err: error }, `${where} refused`)
  }
  provider.on('authorization.error', note('authorization'))
  provider.on('grant.error', note('token'))
  provider.on('registration_create.error', note('registration'))
  provider.on('server_error', (_context: unknown, error: Error) =>
    logger?.error({ err: error }, 'server error'),
  )
  return provider
}

const answerFailure = (error: unknown): ErrorAnswer | undefined =>
  error instanceof GrantStoreUnavailable ? { status: 503, error: 'store_unavailable' } : undefined

/** Would a write be committed (S13). */
function checkReadiness(
  postgres: PostgresGrants,
  onProblem: (error: unknown) => void,
): ReadinessCheck {
  const findTrouble = postgres.openProbe(onProblem)
  return async () => {
    const trouble = await findTrouble()
    return trouble === undefined
      ? { kind: 'ready' }
      : { kind: 'not-ready', reason: trouble.reason, details: { sentence: trouble.sentence } }
  }
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
  if (hops > 0 || !baseUrl.startsWith('https:')) return ({ ip }) => clientNetwork(ip)
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
