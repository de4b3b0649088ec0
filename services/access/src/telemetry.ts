/**
 * What the operator sees of the service: metrics, and a log line for each event. Domain code reports events; here they are
 * counted and logged, and nothing is decided.
 */
import { boundedLabel, Counter, Gauge, Histogram, type Registry } from '@tallystick/service-kit'
import type { GateEvent } from '@tallystick/x402'
import { logGateEvent } from '@tallystick/x402/fastify'
import type { FastifyBaseLogger } from 'fastify'
import {
  type AccessEvent,
  USAGE_FIGURES,
  type UsageEvent,
  type UsageFigure,
  type UsageFigures,
} from './domain/events.ts'
import { ContractAbsent } from './domain/ports.ts'

export type Telemetry = {
  readonly report: (event: AccessEvent) => void
  readonly observeGate: (event: GateEvent) => void
  readonly onUsageEvent: (event: UsageEvent) => void
  /** How long verifying one payment took, seconds. */
  readonly verified: (seconds: number) => void
  /** Counts since the start, for the page. */
  readonly counts: () => { readonly windowsOpened: number; readonly callsGranted: number }
  /** Registers what is read when metrics are scraped. */
  readonly measure: (figures: MeasuredFigures) => void
}

type MeasuredFigures = {
  readonly usage: () => UsageFigures
  readonly unresolvedCredits: () => number
  readonly sweepAgeSeconds: () => number | undefined
  readonly renewalsReserveCanArm: () => Promise<number>
}

/** Seconds: a verification is a millisecond of arithmetic and, for an unknown payer, a request to the mirror node. */
const VERIFICATION_BUCKETS_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** Seconds: the network makes a scheduled call within 2 s of its second, and after 30 s never (A7). */
const LATENESS_BUCKETS_SECONDS = [1, 2, 3, 5, 10, 20, 30, 60, 300]

function createInstruments(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  return {
    granted: counter('access_calls_granted_total', 'Calls answered 200.', ['paid']),
    payments: counter('access_payments_total', 'Requests with a payment, by what became of it.', [
      'outcome',
    ]),
    opened: counter('access_windows_opened_total', 'Purchases forwarded into the contract.', [
      'by',
      'kind',
    ]),
    troubles: counter('access_troubles_total', 'Things that somebody may have to look at.', [
      'kind',
    ]),
    settlements: counter('access_settlements_total', 'Settlements and what followed them.', [
      'event',
    ]),
    refusals: counter('access_refusals_total', 'Payments refused, by reason.', ['reason']),
    verification: new Histogram({
      name: 'access_payment_verification_seconds',
      help: 'Time that verifying one payment took.',
      buckets: VERIFICATION_BUCKETS_SECONDS,
      registers,
    }),
    lateness: new Histogram({
      name: 'access_renewal_lateness_seconds',
      help: 'How long the second of an armed renewal was past when a read found it not made yet.',
      buckets: LATENESS_BUCKETS_SECONDS,
      registers,
    }),
  }
}

export function createTelemetry(registry: Registry, logger?: FastifyBaseLogger): Telemetry {
  const instruments = createInstruments(registry)
  const reasonLabel = boundedLabel()
  let windowsOpened = 0
  let callsGranted = 0

  const count = (event: AccessEvent): void => {
    switch (event.kind) {
      case 'granted':
        callsGranted += 1
        return instruments.granted.inc({ paid: String(event.isPaid) })
      case 'payment':
        return instruments.payments.inc({ outcome: event.outcome })
      case 'payment-refused':
        return instruments.refusals.inc({ reason: reasonLabel(event.reason) })
      case 'renewal-late':
        return instruments.lateness.observe(event.lateSeconds)
      case 'opened':
        windowsOpened += 1
        return instruments.opened.inc({
          by: event.by,
          kind: event.isTopUp ? 'top-up' : 'opened',
        })
      case 'forward-refused':
      case 'open-refused':
      case 'reaped':
      case 'reap-failed':
      case 'sweep-failed':
        return instruments.troubles.inc({ kind: event.kind })
    }
  }

  return {
    report(event) {
      count(event)
      logAccessEvent(event, logger)
    },
    observeGate(event) {
      instruments.settlements.inc({ event: event.kind })
      logGateEvent(event, logger)
    },
    onUsageEvent(event) {
      instruments.troubles.inc({ kind: `usage-${event.kind}` })
      logUsageEvent(event, logger)
    },
    verified: (seconds) => instruments.verification.observe(seconds),
    counts: () => ({ windowsOpened, callsGranted }),
    measure: (figures) => registerFigures(registry, figures),
  }
}

/** Only what the line of the request does not say. The request's id has the name that it has on every other line. */
function logAccessEvent(event: AccessEvent, logger: FastifyBaseLogger | undefined): void {
  const { kind } = event
  switch (kind) {
    case 'granted':
    case 'payment':
    case 'payment-refused':
    case 'renewal-late':
      return
    case 'reaped': {
      const { kind: _kind, ...fields } = event
      logger?.info(fields, kind)
      return
    }
    case 'opened':
    case 'forward-refused':
    case 'open-refused': {
      const { kind: _kind, requestId: reqId, ...fields } = event
      if (kind === 'opened') logger?.info({ reqId, ...fields }, kind)
      else logger?.error({ reqId, ...fields }, REFUSALS[kind])
      return
    }
    case 'reap-failed':
    case 'sweep-failed': {
      const { error, ...rest } = event
      const level = error instanceof ContractAbsent ? 'debug' : 'warn'
      logger?.[level]({ err: error, ...rest }, kind)
    }
  }
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

/** The queue of metering, the sweep of payTo's credits and the reserve; a figure that is unknown at a scrape is NaN. */
function registerFigures(registry: Registry, figures: MeasuredFigures): void {
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
      gauge(name, help, () => figures.usage()[figure])
      continue
    }
    const total: Counter = new Counter({
      name,
      help,
      registers,
      collect() {
        total.reset()
        total.inc(figures.usage()[figure])
      },
    })
  }
  gauge('access_sweep_unresolved', 'Credits of payTo that are not opened yet.', () =>
    figures.unresolvedCredits(),
  )
  gauge(
    'access_sweep_age_seconds',
    'Age of the last whole read of payTo’s credits from the mirror node.',
    () => figures.sweepAgeSeconds() ?? Number.NaN,
  )
  gauge(
    'access_renewals_reserve_can_arm',
    'Further renewals that the seller’s gas reserve can arm.',
    () => figures.renewalsReserveCanArm().catch(() => Number.NaN),
  )
}
