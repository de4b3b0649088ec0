/** What the operator sees of the service: every event becomes a log line and a count. Nothing is decided here. */
import { boundedLabel, Counter, Histogram, type Registry } from '@tallystick/service-kit'
import type { GateEvent } from '@tallystick/x402'
import { logGateEvent } from '@tallystick/x402/fastify'
import type { FastifyBaseLogger } from 'fastify'
import type { AccessEvent, ReportAccessEvent } from './domain/access-event.ts'
import { ContractAbsent } from './domain/ports.ts'
import type { UsageEvent, UsageEventListener } from './domain/usage-recorder.ts'

export type Telemetry = {
  readonly report: ReportAccessEvent
  readonly observeGate: (event: GateEvent) => void
  readonly onUsageEvent: UsageEventListener
  /** How long verifying one payment took, seconds. */
  readonly verified: (seconds: number) => void
  /** Counts since the start, for the page. */
  readonly counts: () => { readonly windowsOpened: number; readonly callsGranted: number }
}

/** Seconds: a verification is a millisecond of arithmetic and, for a payer unknown so far, a question to the mirror node. */
const VERIFICATION_BUCKETS_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** Seconds: the network makes a scheduled call within 2 s of its second, and after 30 s never (A7). */
const LATENESS_BUCKETS_SECONDS = [1, 2, 3, 5, 10, 20, 30, 60, 300]

function createInstruments(registry: Registry) {
  const registers = [registry]
  const granted = new Counter({
    name: 'access_calls_granted_total',
    help: 'Calls answered 200.',
    labelNames: ['paid'] as const,
    registers,
  })
  const payments = new Counter({
    name: 'access_payments_total',
    help: 'Requests with a payment, by what became of it.',
    labelNames: ['outcome'] as const,
    registers,
  })
  const opened = new Counter({
    name: 'access_windows_opened_total',
    help: 'Purchases forwarded into the contract.',
    labelNames: ['by', 'kind'] as const,
    registers,
  })
  const troubles = new Counter({
    name: 'access_troubles_total',
    help: 'Things that somebody may have to look at.',
    labelNames: ['kind'] as const,
    registers,
  })
  const settlements = new Counter({
    name: 'access_settlements_total',
    help: 'Settlements and what followed them.',
    labelNames: ['event'] as const,
    registers,
  })
  const refusals = new Counter({
    name: 'access_refusals_total',
    help: 'Payments refused, by reason.',
    labelNames: ['reason'] as const,
    registers,
  })
  const verification = new Histogram({
    name: 'access_payment_verification_seconds',
    help: 'Time that verifying one payment took.',
    buckets: VERIFICATION_BUCKETS_SECONDS,
    registers,
  })
  const lateness = new Histogram({
    name: 'access_renewal_lateness_seconds',
    help: 'How long the second of an armed renewal was past when a read found it not made yet.',
    buckets: LATENESS_BUCKETS_SECONDS,
    registers,
  })
  return {
    granted,
    payments,
    opened,
    troubles,
    settlements,
    refusals,
    verification,
    lateness,
  }
}

/** Counts and logs what happens; decides nothing. */
export function createTelemetry(registry: Registry, logger?: FastifyBaseLogger): Telemetry {
  const { granted, lateness, opened, payments, refusals, settlements, troubles, verification } =
    createInstruments(registry)
  const reasonLabel = boundedLabel()
  let windowsOpened = 0
  let callsGranted = 0

  const count = (event: AccessEvent): void => {
    switch (event.kind) {
      case 'granted':
        callsGranted += 1
        granted.inc({ paid: String(event.isPaid) })
        return
      case 'payment':
        payments.inc({ outcome: event.outcome })
        return
      case 'payment-refused':
        refusals.inc({ reason: reasonLabel(event.reason) })
        return
      case 'renewal-late':
        lateness.observe(event.lateSeconds)
        return
      case 'opened':
        windowsOpened += 1
        opened.inc({ by: event.by, kind: event.isTopUp ? 'top-up' : 'opened' })
        return
      case 'forward-refused':
      case 'open-refused':
      case 'reaped':
      case 'reap-failed':
      case 'sweep-failed':
        troubles.inc({ kind: event.kind })
    }
  }

  return {
    report(event) {
      count(event)
      logAccessEvent(event, logger)
    },
    observeGate(event) {
      settlements.inc({ event: event.kind })
      logGateEvent(event, logger)
    },
    onUsageEvent(event) {
      troubles.inc({ kind: `usage-${event.kind}` })
      logUsageEvent(event, logger)
    },
    verified: (seconds) => verification.observe(seconds),
    counts: () => ({ windowsOpened, callsGranted }),
  }
}

function logAccessEvent(event: AccessEvent, logger: FastifyBaseLogger | undefined): void {
  const { kind } = event
  switch (kind) {
    case 'granted':
    case 'payment':
    case 'payment-refused':
    case 'renewal-late':
      // One line per request is written already.
      return
    case 'opened':
    case 'reaped':
      logger?.info(fieldsOf(event), kind)
      return
    case 'forward-refused':
      logger?.error(fieldsOf(event), 'the contract would refuse a purchase')
      return
    case 'open-refused':
      logger?.error(fieldsOf(event), 'a settled payment was refused by the contract')
      return
    case 'reap-failed':
    case 'sweep-failed': {
      const { error, ...rest } = event
      const level = error instanceof ContractAbsent ? 'debug' : 'warn'
      logger?.[level]({ err: error, ...rest }, kind)
    }
  }
}

/** As they are logged: the request's id under the name that it has on every other line. */
function fieldsOf(
  event: Extract<AccessEvent, { kind: 'opened' | 'open-refused' | 'forward-refused' | 'reaped' }>,
) {
  if (event.kind === 'reaped') {
    const { kind: _kind, ...fields } = event
    return fields
  }
  const { kind: _kind, requestId: reqId, ...fields } = event
  return { reqId, ...fields }
}

const QUIET_USAGE_EVENTS: ReadonlySet<UsageEvent['kind']> = new Set(['resent', 'usage-refused'])

function logUsageEvent(event: UsageEvent, logger: FastifyBaseLogger | undefined): void {
  const { kind, ...fields } = event
  if (QUIET_USAGE_EVENTS.has(kind)) logger?.info(fields, kind)
  else logger?.warn('error' in fields ? { ...fields, err: fields.error } : fields, kind)
}
