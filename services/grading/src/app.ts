/** The table of contents: what the service serves, and from which parts. Nothing here reads the environment or opens a store. */
import {
  addServerCard,
  createServiceApp,
  paidServiceCors,
  type ReadinessCheck,
  type ReadinessFinding,
  type Registry,
  SERVER_CARD_PATH,
  type Secret,
  type ServiceApp,
} from '@tallystick/service-kit'
import { LEGACY_REVISIONS, MODERN_REVISION } from '@tallystick/service-kit/mcp'
import { addPageRoutes } from '@tallystick/service-kit/pages'
import type { FeePayerDirectory } from '@tallystick/x402'
import type { DomainCheck } from '@tallystick/x402/evm'
import { secp256k1Facts } from '@tallystick/x402/secp256k1'
import type { FastifyBaseLogger } from 'fastify'
import type { GradingStore } from './domain/closes/grading-store.ts'
import type { LongWork } from './domain/grading/long-work.ts'
import { dependencyAnswer, invalidRequest } from './errors.ts'
import { addMcpRoute } from './mcp/mcp-route.ts'
import { type PagesOptions, priceText, readPageFiles } from './pages/page-files.ts'
import { addAuditRoutes } from './routes/audit-routes.ts'
import { addCoverageRoute, type CoverageDeps, createCoverageLook } from './routes/coverage-route.ts'
import { addFreeRoutes, type FreeRouteDeps } from './routes/free-routes.ts'
import { acceptProbes } from './routes/read-body.ts'
import type { SaleDoorDeps } from './routes/sale-job.ts'
import { addSaleRoutes } from './routes/sale-route.ts'
import { describeSales } from './routes/sale-terms.ts'
import { addUploadRoute, type UploadRouteDeps } from './routes/upload-route.ts'

export const GRADING_VERSION = '0.1.0'

const DESCRIPTION =
  'Grades bets against the closing line instead of the score, paid per call; the evidence behind every grade is public and free.'

type GradingAppDeps = FreeRouteDeps &
  CoverageDeps &
  SaleDoorDeps &
  UploadRouteDeps &
  ReadinessDeps & {
    readonly longWork: LongWork
    readonly logger?: FastifyBaseLogger | undefined
    readonly registry: Registry
    readonly metricsToken: Secret | undefined
    readonly pages: PagesOptions
    readonly trustedProxyHops?: number | undefined
  }

/** Builds the application without listening. */
export function createGradingApp(deps: GradingAppDeps): Promise<ServiceApp> {
  const { clock, logger, metricsToken, registry, trustedProxyHops } = deps
  const { baseUrl } = deps.pages
  const coverage = createCoverageLook(deps)
  return createServiceApp({
    name: 'tallystick-grading',
    version: GRADING_VERSION,
    description: DESCRIPTION,
    links: { mcp: SERVER_CARD_PATH },
    clock,
    cors: paidServiceCors,
    errors: { answer: dependencyAnswer, invalidRequest },
    logger,
    registry,
    readiness: gradingReadiness(deps),
    llmsNotes: llmsNotes(deps.pages),
    metricsToken,
    trustedProxyHops,
    securitySchemes: {
      operator: { type: 'http', scheme: 'bearer', description: 'A token with `grading.write`.' },
    },
    forSale: async () => describeSales(deps),
    async routes(scope) {
      acceptProbes(scope)
      addSaleRoutes(scope, deps)
      addFreeRoutes(scope, deps)
      addCoverageRoute(scope, { ...deps, coverage })
      addAuditRoutes(scope, deps)
      await addMcpRoute(scope, { ...deps, coverage, baseUrl, version: GRADING_VERSION })
      await addUploadRoute(scope, deps)
      addServerCard(scope, {
        baseUrl,
        name: 'grading',
        title: 'Tallystick grading',
        version: GRADING_VERSION,
        description: DESCRIPTION,
        remotes: [
          { path: '/mcp', supportedProtocolVersions: [...LEGACY_REVISIONS, MODERN_REVISION] },
        ],
      })
      const hasAudit = async (receipt: string): Promise<boolean> =>
        (await deps.grader.auditText(receipt)) !== undefined
      addPageRoutes(scope, readPageFiles(deps.pages, hasAudit))
    },
  })
}

type ReadinessDeps = {
  readonly store: Pick<GradingStore, 'counts'>
  /** Why a write would fail or wait now; undefined if it would not. */
  readonly writeTrouble: () => Promise<
    { readonly reason: string; readonly sentence: string } | undefined
  >
  /** Whether the configured token is the one on the network, asked now. */
  readonly token: { check(): Promise<Pick<DomainCheck, 'kind'>> }
  readonly facilitators: Pick<FeePayerDirectory, 'firstAttempt' | 'state'>
}

const ready: ReadinessFinding = { kind: 'ready' }
const notReady = (
  reason: string,
  details?: Readonly<Record<string, unknown>>,
): ReadinessFinding => ({ kind: 'not-ready', reason, details })

/** What the service needs to grade and sell, by name. */
function gradingReadiness({
  facilitators,
  store,
  token,
  writeTrouble,
}: ReadinessDeps): Readonly<Record<string, ReadinessCheck>> {
  return {
    secp256k1: async () => ({ ...ready, details: secp256k1Facts }),
    async ledger() {
      // Payments are kept beside it.
      const trouble = await writeTrouble()
      if (trouble !== undefined) return notReady(trouble.reason, { sentence: trouble.sentence })
      const { entries, events } = await store.counts()
      return { ...ready, details: { entries, events } }
    },
    async token() {
      const { kind } = await token.check()
      if (kind === 'right') return ready
      return notReady(kind === 'unreachable' ? 'chain_unavailable' : kind)
    },
    async facilitator() {
      await facilitators.firstAttempt
      const { failure, turningAway: sentence } = facilitators.state()
      if (sentence !== undefined) return notReady('facilitator_turns_away', { sentence })
      return failure === undefined ? ready : notReady('facilitator_down')
    },
  }
}

/** The end of `/llms.txt`: how a program checks coverage, pays, and reads the evidence. */
function llmsNotes({ asset, baseUrl }: PagesOptions): string {
  return `## How to use it

1. \`POST ${baseUrl}/api/coverage\` \`{"sport":"soccer","date":"2026-06-01","text":"Arsenal Chelsea"}\` is free: it names market keys and says \`final\`, \`pending\` or \`none\`. Only \`final\` can be graded; anything else is the paid outcome UNGRADED. With \`{"picks":[…]}\`, or a tracker’s file as text/csv, it says what would become of each pick, and \`send\` is the pick by its key.
2. \`POST ${baseUrl}/api/grade\` \`{"pick":{"market":"<key>","selection":"home","odds":"2.10"}}\` costs ${priceText('grade', asset)}, \`POST ${baseUrl}/api/audit\` \`{"picks":[…]}\` with up to 1,000 picks ${priceText('audit', asset)}. Malformed input is a 400 with each field and costs nothing.
3. Without a payment the answer is 402. The challenge (x402 version 2, scheme \`exact\`, ${asset.name} on ${asset.network}) is the body and, base64, the header PAYMENT-REQUIRED. Sign a transfer (EIP-3009) of \`accepts[0].amount\` to \`payTo\` and repeat the call, body unchanged, with the payload in PAYMENT-SIGNATURE. You pay no gas.
4. On 502 \`payment_pending\` repeat the same call and do not sign another payment. An \`Idempotency-Key\` of your own makes that safe also across signatures.
5. The same over MCP at \`${baseUrl}/mcp\`: tools \`coverage\`, \`calibration\`, \`read_pick\` (free), \`grade_pick\`, \`audit_picks\` (the challenge is the result, the payment goes into \`_meta["x402/payment"]\` of the same call).
6. Every paid answer comes with a signed receipt and a signed SHA-256 of its body in PAYMENT-RESPONSE; the key is in \`${baseUrl}/.well-known/did.json\`.
7. \`POST ${baseUrl}/api/calibration\` gives the returns of each grade so far, \`GET ${baseUrl}/api/ledger/{seq}\` shows the close behind a card, \`GET ${baseUrl}/api/picks/{receipt}\` reads a card again. All free.

The page at \`/\` is a complete client. Grades judge prices; they are not betting advice.`
}
