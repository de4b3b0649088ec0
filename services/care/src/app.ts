/**
 * The table of contents: what the service serves, and what each part is built from. Nothing here reads the environment or
 * opens a store.
 */
import type { WitnessPush } from '@tallystick/journal-store'
import {
  addServerCard,
  type Clock,
  createServiceApp,
  type ReadinessFinding,
  type Registry,
  SERVER_CARD_PATH,
  type ServiceApp,
} from '@tallystick/service-kit'
import { LEGACY_REVISIONS, MODERN_REVISION } from '@tallystick/service-kit/mcp'
import { addPageRoutes } from '@tallystick/service-kit/pages'
import type { FastifyBaseLogger } from 'fastify'
import type { CareConfig } from './config.ts'
import { createOwnLabels } from './domain/author-labels.ts'
import type { ReadRow } from './domain/care-record.ts'
import type { AuditTrail, PublishRecord } from './domain/publish-record.ts'
import type { RecordStore } from './domain/record-store.ts'
import { describeSignIn, type TrustedIssuer } from './domain/trusted-issuer.ts'
import type { ChainVerifier } from './domain/verification.ts'
import { dependencyAnswer } from './errors.ts'
import type { McpEndpoint } from './mcp/mcp-endpoint.ts'
import { pagesPolicy, readPageFiles } from './pages/page-files.ts'
import { type BearerCheckDeps, describeSecurity, type TokenCheck } from './routes/bearer.ts'
import { addClinicianRoutes } from './routes/clinician-routes.ts'
import { addProofRoute, addWitnessesRoute } from './routes/proof-routes.ts'
import { addReadsRoute, type ReadLog } from './routes/reads-route.ts'
import {
  addHealthRoute,
  addMetadataRoutes,
  careCors,
  METADATA_PATH,
  MODERN_MCP_PATH,
} from './routes/service-routes.ts'
import { addVerifyRoutes } from './routes/verify-routes.ts'
import { addWriteRoute, createSignatureCheck } from './routes/write-route.ts'

export const CARE_VERSION = '0.1.0'

const DESCRIPTION =
  'Care records as hash chains, read by assistants over MCP, corrected by clinicians with a signed write, and verifiable by anyone.'

type CareAppDeps = {
  readonly config: CareConfig
  readonly clock: Clock
  readonly logger?: FastifyBaseLogger | undefined
  readonly registry: Registry
  readonly store: RecordStore
  /** Why a write would fail or wait now; undefined if it would not. */
  readonly writeTrouble: () => Promise<
    { readonly reason: string; readonly sentence: string } | undefined
  >
  readonly audit: AuditTrail
  readonly tokens: TokenCheck
  readonly publish: PublishRecord
  readonly verifier: ChainVerifier
  readonly mcp: McpEndpoint
  readonly witnesses: WitnessPush
  /** Why nothing of the store may be served: it was put back (C42). */
  readonly behind: () => Error | undefined
  /** Called for each export: it holds records. */
  readonly noteRead: (row: ReadRow) => void
  readonly readLog: ReadLog
}

/** Reads, and would a write be committed (S13). */
async function storeReadiness({
  behind,
  store,
  writeTrouble,
}: Pick<CareAppDeps, 'behind' | 'store' | 'writeTrouble'>): Promise<ReadinessFinding> {
  const missing = behind()
  if (missing !== undefined)
    return { kind: 'not-ready', reason: 'store_behind', details: { sentence: missing.message } }
  const trouble = await writeTrouble()
  if (trouble !== undefined) {
    const { reason, sentence } = trouble
    return { kind: 'not-ready', reason, details: { sentence } }
  }
  await store.heads({ reach: [{ audience: 'user' }], limit: 1 })
  return { kind: 'ready', details: { sealed: store.sealKeyId !== undefined } }
}

/** Builds the application without listening. */
export async function createCareApp(deps: CareAppDeps): Promise<ServiceApp> {
  const { config, clock, logger, registry, tokens, mcp } = deps
  const { BASE_URL: baseUrl, SERVICE_NAME: serviceName } = config
  const resource = `${baseUrl}/mcp`
  const metadataUrl = `${baseUrl}${METADATA_PATH}`
  const { AUTHORIZATION_SERVERS: servers, TRUSTED_ISSUERS: issuers } = config
  const hosts = describeSignIn({ servers, issuers })
  const bearer = { tokens, metadataUrl, serviceName, scopes: hosts.scopes.all }
  const isPrivate = config.VERIFY_NAMES === 'private'
  return createServiceApp({
    name: 'tallystick-care',
    version: CARE_VERSION,
    description: DESCRIPTION,
    links: { mcp: SERVER_CARD_PATH },
    clock,
    cors: careCors(serviceName),
    health: false,
    errors: { answer: dependencyAnswer },
    logger,
    registry,
    readiness: { store: () => storeReadiness(deps) },
    llmsNotes: llmsNotes({ baseUrl, resource, metadataUrl }),
    metricsToken: config.METRICS_TOKEN,
    securitySchemes: describeSecurity(serviceName),
    async routes(scope) {
      await scope.register(async (records: ServiceApp) => addRecordRoutes(records, deps, bearer))
      addWitnessesRoute(scope, deps)
      addMetadataRoutes(scope, { baseUrl, ...hosts })
      addHealthRoute(scope, mcp.hub)
      addServerCard(scope, {
        baseUrl,
        name: 'care',
        title: 'Tallystick care',
        version: CARE_VERSION,
        description: DESCRIPTION,
        remotes: [
          { path: '/mcp', supportedProtocolVersions: LEGACY_REVISIONS },
          { path: MODERN_MCP_PATH, supportedProtocolVersions: [MODERN_REVISION] },
        ],
      })
      const signIn = { resource, issuers: config.TRUSTED_ISSUERS.map(signInPlace) }
      const { CLINIC_NAME: clinic = '', LANGUAGE: language } = config
      const { TIME_ZONE: timeZone } = config
      const places = { baseUrl, serviceName, clinic, isPrivate, language, timeZone, signIn }
      const files = readPageFiles(places)
      addPageRoutes(scope, files, pagesPolicy(signIn))
    },
  })
}

/** Adds what reads and writes records: nothing of it is served of a store that was put back (C42). */
function addRecordRoutes(app: ServiceApp, deps: CareAppDeps, bearer: BearerCheckDeps): void {
  const { audit, behind, clock, config, mcp, publish, store, tokens, verifier, witnesses } = deps
  const { BASE_URL: baseUrl, SERVICE_NAME: serviceName } = config
  const ownLabel =
    config.BEARER_AUTHOR === 'sub' ? createOwnLabels(config.AUTHOR_LABELS) : undefined
  // Without witnesses nobody can tell.
  if (config.WITNESSES.length > 0)
    app.addHook('onRequest', async () => {
      const trouble = behind()
      if (trouble !== undefined) throw trouble
    })
  mcp.addRoutes(app)
  addWriteRoute(app, {
    serviceName,
    verifySignature: createSignatureCheck({ keys: config.WRITE_SECRET, clock }),
    tokens,
    ownLabel,
    language: config.LANGUAGE,
    publish,
    audit,
    clock,
  })
  addClinicianRoutes(app, { ...bearer, ownLabel, ...unheardParts(deps) })
  addReadsRoute(app, { ...bearer, ownLabel, log: deps.readLog })
  addProofRoute(app, { ...bearer, store })
  addVerifyRoutes(app, {
    ...bearer,
    verifier,
    resource: `${baseUrl}/mcp`,
    store,
    isPrivate: config.VERIFY_NAMES === 'private',
    noteRead: deps.noteRead,
    witnesses,
  })
}
/** Where the pages sign people in. */
const signInPlace = ({ audience, client_id: clientId, issuer, scopes }: TrustedIssuer) => ({
  issuer,
  clientId,
  scopes,
  hasOwnAudience: audience !== undefined,
})

/** What the clinician's page asks about hearing. */
const unheardParts = ({ config, mcp }: Pick<CareAppDeps, 'config' | 'mcp'>) => ({
  minutes: config.UNHEARD_MINUTES,
  corrections: () => mcp.unheard(),
  silentSeconds: config.SILENT_SECONDS,
  silent: () => mcp.silent(),
})

/** The end of `/llms.txt`: how a program reads, follows and checks records. */
function llmsNotes(places: {
  readonly baseUrl: string
  readonly resource: string
  readonly metadataUrl: string
}): string {
  return `## How to use it

1. MCP (Streamable HTTP) is at ${places.resource}. Every request carries \`Authorization: Bearer <token>\`; ${places.metadataUrl} names the issuers and scopes.
2. \`care://<patient>/<domain>\` may be spoken to the person. \`care-internal://…\` must never be spoken; reading it needs \`care.read.assistant\`.
3. Subscribe to the URIs that you speak from, or call the tool \`changes_since\` with the cursor of your last call. On \`notifications/resources/updated\` read again; if the answer's \`_meta\` carries a retraction, say it.
4. Say a record's age if its text tells you to: \`[STALE — …; say this age aloud]\`.
5. \`GET ${places.baseUrl}/verify\` replays every chain, without a token. /doc/verify has the hashed bytes.`
}
