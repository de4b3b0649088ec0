/**
 * What the operator sees of the service: metrics, and a log line for each event. Domain code reports events; this file
 * counts and logs them, and decides nothing.
 */
import { boundedLabel, Counter, Gauge, Histogram, type Registry } from '@tallystick/service-kit'
import type { GateEvent } from '@tallystick/x402'
import { logGateEvent } from '@tallystick/x402/fastify'
import type { FastifyBaseLogger } from 'fastify'
import type { CreditSweep } from './domain/credit-sweep.ts'
import {
  type AccessEvent,
  USAGE_FIGURES,
  type UsageEvent,
  type UsageFigure,
} from './domain/events.ts'
import { type AccessPorts, ContractAbsent } from './domain/ports.ts'
import { SELLER_ALERTS, type SellerAlerts } from './domain/seller-alerts.ts'

/** Seconds: a verification is a millisecond of arithmetic and, for an unknown payer, a request to the mirror node. */
const VERIFICATION_BUCKETS_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** Seconds: the network makes a scheduled call within 2 s of its second, and after 30 s never (A7). */
const LATENESS_BUCKETS_SECONDS = [1, 2, 3, 5, 10, 20, 30, 60, 300]

/** Each counter with its help and its labels. */
const COUNTERS = {
  access_calls_granted_total: ['Calls answered 200.', 'paid'],
  access_payments_total: ['Requests with a payment, by what became of it.', 'outcome'],
  access_windows_opened_total: ['Purchases forwarded into the contract.', 'by', 'kind'],
  access_troubles_total: ['Things that somebody may have to look at.', 'kind'],
  access_settlements_total: ['Settlements and what followed them.', 'event'],
  access_refusals_total: ['Payments refused, by reason.', 'reason'],
  access_sign_ins_total: [
    'Guarded calls without a token: proved, or why a proof was asked for.',
    'outcome',
  ],
  access_rate_limited_total: ['Calls answered too_many_requests.', 'by'],
} as const

/** Registers a counter for each row, and returns a function that counts one. */
function createCounters(registry: Registry) {
  const registers = [registry]
  const counters = new Map(
    Object.entries(COUNTERS).map(([name, [help, ...labelNames]]) => [
      name,
      new Counter({ name, help, labelNames, registers }),
    ]),
  )
  return (name: keyof typeof COUNTERS, labels: Readonly<Record<string, string>>): void =>
    counters.get(name)?.inc(labels)
}

export type Telemetry = ReturnType<typeof createTelemetry>

export function createTelemetry(registry: Registry, logger?: FastifyBaseLogger) {
  const count = createCounters(registry)
  const verification = new Histogram({
    name: 'access_payment_verification_seconds',
    help: 'Time that verifying one payment took.',
    buckets: VERIFICATION_BUCKETS_SECONDS,
    registers: [registry],
  })
  return {
    ...reportEvents(registry, count, logger),
    observeGate: (event: GateEvent): void => {
      count('access_settlements_total', { event: event.kind })
      logGateEvent(event, logger)
    },
    onUsageEvent: (event: UsageEvent): void => {
      count('access_troubles_total', { kind: `usage-${event.kind}` })
      logUsageEvent(event, logger)
    },
    /** How long verifying one payment took. */
    verified: (seconds: number) => verification.observe(seconds),
    /** Registers figures that are read when metrics are scraped. */
    measure: (measured: Measured) => registerFigures(registry, measured),
  }
}

/**
 * Counts the domain's events and logs those that are not in the request's line. The request's id has the same name as on
 * every other line.
 */
function reportEvents(
  registry: Registry,
  count: ReturnType<typeof createCounters>,
  logger: FastifyBaseLogger | undefined,
) {
  const lateness = new Histogram({
    name: 'access_renewal_lateness_seconds',
    help: 'How long the second of an armed renewal was past when a read found it not made yet.',
    buckets: LATENESS_BUCKETS_SECONDS,
    registers: [registry],
  })
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
        return lateness.observe(event.lateSeconds)
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

/** The queue of metering, the sweep of payTo's credits and the reserve; a figure that is unknown at a scrape is NaN. */
function registerFigures(registry: Registry, { usage, sweep, contract, alerts }: Measured): void {
  const registers = [registry]
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void => {
    const made: Gauge = new Gauge({
      name,
      help,
      registers,
      async collect() {
        made.set(await read())
      },
    })
  }
  for (const [figure, help] of Object.entries(USAGE_FIGURES) as [UsageFigure, string][]) {
    const name = `access_usage_${figure.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`
    if (!figure.endsWith('Total')) {
      gauge(name, help, () => usage.figures()[figure])
      continue
    }
    const total: Counter = new Counter({
      name,
      help,
      registers,
      collect() {
        total.reset()
        total.inc(usage.figures()[figure])
      },
    })
  }
  const raised: Gauge = new Gauge({
    name: 'access_alert',
    help: 'Whether an alert of the seller is raised, 0 or 1.',
    labelNames: ['alert'],
    registers,
    collect() {
      for (const alert of SELLER_ALERTS) raised.set({ alert }, Number(alerts.isRaised(alert)))
    },
  })
  gauge('access_sweep_unresolved', 'Credits of payTo that are not opened yet.', () =>
    sweep.unresolvedCount(),
  )
  gauge(
    'access_sweep_age_seconds',
    'Age of the last whole read of payTo’s credits from the mirror node.',
    () => sweep.ageSeconds() ?? Number.NaN,
  )
  gauge(
    'access_renewals_reserve_can_arm',
    'Further renewals that the seller’s gas reserve can arm.',
    () => contract.renewalsReserveCanArm().catch(() => Number.NaN),
  )
}
