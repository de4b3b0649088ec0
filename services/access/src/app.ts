/** The table of contents: what the service serves, and from what. Nothing here reads the environment or opens a connection. */
import {
  type CorsPolicy,
  createServiceApp,
  paidServiceCors,
  type ReadinessCheck,
  type ReadinessFinding,
  type ServiceApp,
  type ServiceAppOptions,
} from '@tallystick/service-kit'
import { secp256k1Facts } from '@tallystick/x402/secp256k1'
import type { AccessParts, AccessPorts } from './domain/access-parts.ts'
import type { CreditSweep } from './domain/credit-sweep.ts'
import type { RecorderCount } from './domain/recorder-count.ts'
import type { SalesStops } from './domain/sales-stops.ts'
import { describeSale, purchaseTinybar, type SalesTerms } from './domain/sales-terms.ts'
import { dependencyAnswer, errorAnswer } from './errors.ts'
import { type AccessPageDeps, addAccessPages } from './pages/access-pages.ts'
import {
  type AccessRouteDeps,
  addAccessRoute,
  addDidRoute,
  addStatusRoute,
  TOKEN_HEADER,
} from './routes/access-routes.ts'

/** A guarded agent in a browser sends a proof or token, and reads the token that it gets (S9). */
const accessCors: CorsPolicy = {
  ...paidServiceCors,
  allowedHeaders: [...paidServiceCors.allowedHeaders, 'SIGN-IN-WITH-X', 'authorization'],
  exposedHeaders: [...paidServiceCors.exposedHeaders, TOKEN_HEADER],
}

type AccessAppDeps = AccessRouteDeps &
  Pick<AccessPageDeps, 'readEvents' | 'readSellerWindows'> &
  ReadinessDeps &
  Pick<
    ServiceAppOptions,
    'clock' | 'logger' | 'registry' | 'metricsToken' | 'home' | 'trustedProxyHops'
  > & {
    /** The segment in `/api/<name>/…`. */
    readonly serviceName: string
    readonly terms: Pick<SalesTerms, 'challenged'>
    readonly accessUrl: string
    readonly statusUrl: string
  }

/** Builds the application without listening. */
export function createAccessApp(deps: AccessAppDeps): Promise<ServiceApp> {
  const { serviceName, clock, logger, registry, metricsToken, home } = deps
  return createServiceApp({
    name: 'tallystick-access',
    // Of the interface, not of this program.
    version: '1.0.10',
    description:
      'A metered data feed that is paid for once: the payment opens a window on the ledger, and the network itself renews it.',
    clock,
    cors: accessCors,
    trustedProxyHops: deps.trustedProxyHops,
    errors: {
      answer: dependencyAnswer,
      // The query is the only thing that these routes take.
      invalidRequest: () => errorAnswer('invalid_agent'),
    },
    logger,
    registry,
    readiness: accessReadiness(deps),
    home,
    llmsNotes: llmsNotes(deps),
    metricsToken,
    securitySchemes: SECURITY_SCHEMES,
    forSale: async () => describeSale(await deps.terms.challenged(), `/api/${serviceName}/access`),
    routes(scope) {
      addAccessRoute(scope, `/api/${serviceName}/access`, deps)
      addStatusRoute(scope, `/api/${serviceName}/status`, deps)
      addDidRoute(scope, deps)
      addAccessPages(scope, { ...deps, mirrorBehindSeconds: () => mirrorBehindSeconds(deps.sweep) })
    },
  })
}

/** A guarded agent proves that it is itself, by a signature or the token that it got for one (A18). */
const SECURITY_SCHEMES = {
  signIn: {
    type: 'apiKey',
    in: 'header',
    name: 'SIGN-IN-WITH-X',
    description: 'An EIP-4361 text, signed with the key of a guarded agent.',
    // By which discovery clients know a wallet's identity from an API key.
    'x-agentcash-auth-kind': 'siwx',
  },
  session: {
    type: 'http',
    scheme: 'bearer',
    description: `What ${TOKEN_HEADER} said after a sign-in.`,
  },
} as const

type ReadinessDeps = AccessPorts &
  Pick<AccessParts, 'network' | 'periodsPerPurchase'> & {
    readonly sweep: CreditSweep
    readonly stops: SalesStops
    readonly recorders: RecorderCount
  }

/** The sweep reads every 10 s and the mirror lags by up to 10 s: after three times that the mirror node has stopped. */
const MIRROR_BEHIND_SECONDS = 60

/** How far the mirror node is behind, where that is more than usual. */
function mirrorBehindSeconds(sweep: Pick<CreditSweep, 'ageSeconds'>): number | undefined {
  const ageSeconds = sweep.ageSeconds()
  return ageSeconds !== undefined && ageSeconds > MIRROR_BEHIND_SECONDS ? ageSeconds : undefined
}

const ready: ReadinessFinding = { kind: 'ready' }
const notReady = (reason: string, details?: Readonly<Record<string, unknown>>) =>
  ({ kind: 'not-ready', reason, details }) as const

/** Names a ledger that is down, rather than the check that failed because of it. */
const onLedger =
  (check: ReadinessCheck): ReadinessCheck =>
  async () => {
    try {
      return await check()
    } catch (error) {
      return notReady(dependencyAnswer(error)?.error ?? 'chain_unavailable')
    }
  }

/** Checks what the service cannot sell or serve without, by name. */
function accessReadiness(deps: ReadinessDeps): Readonly<Record<string, ReadinessCheck>> {
  const { contract, sender, sweep, feePayers } = deps
  return {
    secp256k1: async () => ({ ...ready, details: secp256k1Facts }),
    contract: onLedger(async () => {
      await contract.ensureDeployed()
      return ready
    }),
    async facilitator() {
      if (feePayers.feePayer(deps.network) === undefined) return notReady('no_fee_payer')
      const { failure, turningAway: sentence } = feePayers.state()
      if (sentence !== undefined) return notReady('facilitator_turns_away', { sentence })
      return failure === undefined ? ready : notReady('facilitator_down')
    },
    async mirror() {
      const ageSeconds = sweep.ageSeconds()
      if (!sweep.hasReadPastStart()) return notReady('payments_unread')
      return ageSeconds === undefined || mirrorBehindSeconds(sweep) !== undefined
        ? notReady('mirror_behind', { ageSeconds })
        : ready
    },
    recorders: onLedger(async () => {
      const sentence = await deps.recorders.findSurplus()
      return sentence === undefined ? ready : notReady('recorders_uncounted', { sentence })
    }),
    float: onLedger(async () => {
      const [offers, floatTinybar, gas] = await Promise.all([
        contract.offers(),
        sender.floatTinybar(),
        sender.forwardGasTinybar(),
      ])
      const current = offers.at(-1)
      const purchase =
        current === undefined ? 0n : purchaseTinybar(current, deps.periodsPerPurchase)
      const needed = purchase + gas
      return floatTinybar >= needed
        ? ready
        : notReady('payto_float_low', {
            heldTinybar: `${floatTinybar}`,
            neededTinybar: `${needed}`,
          })
    }),
    ...Object.fromEntries(
      deps.stops.checks.map(([name, check]) => [
        name,
        onLedger(async () => {
          const stop = await check()
          return stop === undefined ? ready : notReady(stop.reason, { sentence: stop.sentence })
        }),
      ]),
    ),
  }
}

/** The end of `/llms.txt`: how a program gets in, and how it pays. */
function llmsNotes(deps: Pick<AccessAppDeps, 'accessUrl' | 'statusUrl' | 'network'>): string {
  return `## How to get in

1. \`GET ${deps.statusUrl}?agent=<your EVM address>\` is free: \`hasAccess\` says whether a window is open, \`ended\` why yours is not any more.
2. \`GET ${deps.accessUrl}?agent=<your EVM address>\` inside a window answers 200 and costs nothing.
3. Without a window it answers 402. The challenge (x402 version 2, scheme \`exact\`, HBAR on ${deps.network}) is the body and, base64, the header PAYMENT-REQUIRED. Sign a transfer of \`accepts[0].amount\` tinybar to \`payTo\` with \`extra.feePayer\` as fee payer, and repeat the call with the payload in PAYMENT-SIGNATURE.
4. Put \`x402:<your EVM address>\` into the transfer's memo: it ties the payment to you, whatever fails afterwards.
5. A 402 with empty \`accepts\` means that the agent is guarded: sign the text of its extension \`sign-in-with-x\` and repeat the call with SIGN-IN-WITH-X; later calls send what ACCESS-TOKEN says as \`Authorization: Bearer\`. To guard your own window, call \`setGuard\` on the contract.
6. On 429 wait for \`Retry-After\`: the quota resets when the window renews. On 502 \`payment_pending\` repeat the call and do not sign another payment.

A whole client is on the page at \`/\`.`
}
