/**
 * The operator sees this of the service: metrics, and a log line for each event. Domain code reports events; this file
 * counts and logs them, and decides nothing.
 */
import {
  boundedLabel,
  createMetrics,
  figureTable,
  type MetricTable,
  measureFigures,
  type Registry,
} from '@tallystick/service-kit'
import type { GateEvent } from '@tallystick/x402'
import { logGateEvent } from '@tallystick/x402/fastify'
import type { FastifyBaseLogger } from 'fastify'
import { ContractAbsent } from './domain/access-contract.ts'
import { type AccessEvent, SELLER_ALERTS } from './domain/access-events.ts'
import type { AccessPorts } from './domain/access-parts.ts'
import type { CreditSweep } from './domain/credit-sweep.ts'
import type { SellerAlerts } from './domain/seller-alerts.ts'
import { USAGE_FIGURES, type UsageEvent } from './metering/recorder-parts.ts'

/** Seconds: a verification is a millisecond of arithmetic and, for an unknown payer, a request to the mirror node. */
const VERIFICATION_BUCKETS_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** Seconds: the network makes a scheduled call within 2 s of its second, and after 30 s never (A7). */
const LATENESS_BUCKETS_SECONDS = [1, 2, 3, 5, 10, 20, 30, 60, 300]

const OWN_METRICS = {
  access_calls_granted_total: { kind: 'counter', help: 'Calls answered 200.', labels: ['paid'] },
  access_payments_total: {
    kind: 'counter',
    help: 'Requests with a payment, by what became of it.',
    labels: ['outcome'],
  },
  access_windows_opened_total: {
    kind: 'counter',
    help: 'Purchases forwarded into the contract.',
    labels: ['by', 'kind'],
  },
  access_troubles_total: {
    kind: 'counter',
    help: 'Things that somebody may have to look at.',
    labels: ['kind'],
  },
  access_settlements_total: {
    kind: 'counter',
    help: 'Settlements and what followed them.',
    labels: ['event'],
  },
  access_refusals_total: {
    kind: 'counter',
    help: 'Payments refused, by reason.',
    labels: ['reason'],
  },
  access_sign_ins_total: {
    kind: 'counter',
    help: 'Guarded calls without a token: proved, or why a proof was asked for.',
    labels: ['outcome'],
  },
  access_rate_limited_total: {
    kind: 'counter',
    help: 'Calls answered too_many_requests.',
    labels: ['by'],
  },
  access_payment_verification_seconds: {
    kind: 'histogram',
    help: 'Time that verifying one payment took.',
    bucketsSeconds: VERIFICATION_BUCKETS_SECONDS,
  },
  access_renewal_lateness_seconds: {
    kind: 'histogram',
    help: 'How long the second of an armed renewal was past when a read found it not made yet.',
    bucketsSeconds: LATENESS_BUCKETS_SECONDS,
  },
  access_alert: {
    kind: 'gauge',
    help: 'Whether an alert of the seller is raised, 0 or 1.',
    labels: ['alert'],
  },
  access_sweep_unresolved: { kind: 'gauge', help: 'Credits of payTo that are not opened yet.' },
  access_sweep_age_seconds: {
    kind: 'gauge',
    help: 'Age of the last whole read of payTo’s credits from the mirror node.',
  },
  access_renewals_reserve_can_arm: {
    kind: 'gauge',
    help: 'Further renewals that the seller’s gas reserve can arm.',
  },
} as const satisfies MetricTable

const USAGE = { prefix: 'access_usage', helps: USAGE_FIGURES } as const

/** Every metric of this service. */
export const METRICS: MetricTable = {
  ...OWN_METRICS,
  ...figureTable(USAGE.prefix, USAGE.helps),
}

type Metrics = ReturnType<typeof createOwnMetrics>
const createOwnMetrics = (registry: Registry) => createMetrics(registry, OWN_METRICS)

export type Telemetry = ReturnType<typeof createTelemetry>

export function createTelemetry(registry: Registry, logger?: FastifyBaseLogger) {
  const metrics = createOwnMetrics(registry)
  return {
    ...reportEvents(metrics, logger),
    observeGate: (event: GateEvent): void => {
      metrics.count('access_settlements_total', { event: event.kind })
      logGateEvent(event, logger)
    },
    onUsageEvent: (event: UsageEvent): void => {
      metrics.count('access_troubles_total', { kind: `usage-${event.kind}` })
      logUsageEvent(event, logger)
    },
    /** How long verifying one payment took. */
    verified: (seconds: number) => metrics.observe('access_payment_verification_seconds', seconds),
    /** Registers figures that are read when metrics are scraped. */
    measure: (measured: Measured): void => {
      readFigures(metrics, measured)
      measureFigures(registry, { ...USAGE, read: measured.usage.figures })
    },
  }
}

/**
 * Counts the domain's events and logs those that are not in the request's line. The request's id has the same name as on
 * every other line.
 */
function reportEvents(metrics: Metrics, logger: FastifyBaseLogger | undefined) {
  const { count, observe } = metrics
  const reasonLabel = boundedLabel()
  const trouble = (kind: AccessEvent['kind']): void => count('access_troubles_total', { kind })
  let windowsOpened = 0
  let callsGranted = 0

  const report = (event: AccessEvent): void => {
    switch (event.kind) {
      case 'granted':
        callsGranted += 1
        return count('access_calls_granted_total', { paid: String(event.isPaid) })
      case 'payment':
        return count('access_payments_total', { outcome: event.outcome })
      case 'payment-refused':
        return count('access_refusals_total', { reason: reasonLabel(event.reason) })
      case 'sign-in':
        return count('access_sign_ins_total', { outcome: event.outcome })
      case 'rate-limited':
        return count('access_rate_limited_total', { by: event.by })
      case 'renewal-late':
        return observe('access_renewal_lateness_seconds', event.lateSeconds)
      case 'opened': {
        const { kind, requestId: reqId, ...fields } = event
        windowsOpened += 1
        const opened = event.isTopUp ? 'top-up' : 'opened'
        count('access_windows_opened_total', { by: event.by, kind: opened })
        return logger?.info({ reqId, ...fields }, kind)
      }
      case 'forward-refused':
      case 'open-refused': {
        const { kind, requestId: reqId, ...fields } = event
        trouble(kind)
        return logger?.error({ reqId, ...fields }, REFUSALS[kind])
      }
      case 'rearmed':
      case 'not-armed': {
        const { kind, ...fields } = event
        trouble(kind)
        return logger?.info(fields, kind)
      }
      case 'alert':
      case 'alert-lost': {
        const { kind, ...fields } = event
        if (kind === 'alert-lost') trouble(kind)
        return logger?.[event.change === 'cleared' ? 'info' : 'warn'](fields, kind)
      }
      case 'rearm-failed':
      case 'alerts-unread':
      case 'sweep-failed': {
        const { error, ...fields } = event
        trouble(event.kind)
        const level = error instanceof ContractAbsent ? 'debug' : 'warn'
        return logger?.[level]({ err: error, ...fields }, event.kind)
      }
    }
  }

  /** `counts`: since the start, for the page. */
  return { report, counts: () => ({ windowsOpened, callsGranted }) }
}

const REFUSALS = {
  'forward-refused': 'the contract would refuse a purchase',
  'open-refused': 'a settled payment was refused by the contract',
} as const

const QUIET_USAGE_EVENTS: ReadonlySet<UsageEvent['kind']> = new Set(['resent', 'usage-refused'])

function logUsageEvent(event: UsageEvent, logger: FastifyBaseLogger | undefined): void {
  const { kind, ...fields } = event
  if (QUIET_USAGE_EVENTS.has(kind)) logger?.info(fields, kind)
  else logger?.warn('error' in fields ? { ...fields, err: fields.error } : fields, kind)
}

type Measured = Pick<AccessPorts, 'usage' | 'contract'> & {
  readonly sweep: CreditSweep
  readonly alerts: Pick<SellerAlerts, 'isRaised'>
}

/** The sweep of payTo's credits, the alerts and the reserve; a figure that is unknown at a scrape is NaN. */
function readFigures({ read }: Metrics, { sweep, contract, alerts }: Measured): void {
  read('access_alert', (show) => {
    for (const alert of SELLER_ALERTS) show(Number(alerts.isRaised(alert)), { alert })
  })
  read('access_sweep_unresolved', (show) => show(sweep.unresolvedCount()))
  read('access_sweep_age_seconds', (show) => show(sweep.ageSeconds() ?? Number.NaN))
  read('access_renewals_reserve_can_arm', async (show) =>
    show(await contract.renewalsReserveCanArm().catch(() => Number.NaN)),
  )
}
