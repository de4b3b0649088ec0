/** What the operator sees of the service: every event becomes a log line and a count. Nothing is decided here. */
import type { GateEvent } from '@tallystick/x402'
import type { FastifyBaseLogger } from 'fastify'
import { Counter, Gauge, type Registry } from 'prom-client'
import { ContractAbsent } from './domain/access-contract.ts'
import type { AccessEvent, ReportAccessEvent } from './domain/access-event.ts'
import type { UsageEvent, UsageEventListener, UsageFigures } from './domain/usage-recorder.ts'

export type Telemetry = {
  readonly report: ReportAccessEvent
  readonly observeGate: (event: GateEvent) => void
  readonly onUsageEvent: UsageEventListener
  /** Counts since the start, for the page. */
  readonly counts: () => { readonly windowsOpened: number; readonly callsGranted: number }
}

/** Figures that are read when metrics are asked for; what is not known is NaN. */
export type MeasuredFigures = {
  readonly usage: () => UsageFigures
  readonly unresolvedCredits: () => number
  readonly sweepAgeSeconds: () => number | undefined
  readonly renewalsReserveCanArm: () => Promise<number>
}

export function createTelemetry(registry: Registry, logger?: FastifyBaseLogger): Telemetry {
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
  const gateEvents = new Counter({
    name: 'access_gate_events_total',
    help: 'Settlements and what followed them.',
    labelNames: ['kind'] as const,
    registers,
  })
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
      case 'opened':
        windowsOpened += 1
        opened.inc({ by: event.by, kind: event.isTopUp ? 'top-up' : 'opened' })
        return
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
      gateEvents.inc({ kind: event.kind })
      logGateEvent(event, logger)
    },
    onUsageEvent(event) {
      troubles.inc({ kind: `usage-${event.kind}` })
      logUsageEvent(event, logger)
    },
    counts: () => ({ windowsOpened, callsGranted }),
  }
}

function logAccessEvent(event: AccessEvent, logger: FastifyBaseLogger | undefined): void {
  const { kind, ...fields } = event
  switch (kind) {
    case 'granted':
    case 'payment':
      // One line per request is written already.
      return
    case 'opened':
    case 'reaped':
      logger?.info(fields, kind)
      return
    case 'open-refused':
      logger?.error(fields, 'a settled payment was refused by the contract')
      return
    case 'reap-failed':
    case 'sweep-failed': {
      const { error, ...rest } = event
      const level = error instanceof ContractAbsent ? 'debug' : 'warn'
      logger?.[level]({ err: error, ...rest }, kind)
    }
  }
}

function logGateEvent(event: GateEvent, logger: FastifyBaseLogger | undefined): void {
  const { id, payer, amount } = event.payment
  const fields = { paymentId: id, payer, amountTinybar: amount.toString() }
  switch (event.kind) {
    case 'settled':
    case 'fulfilled':
      logger?.info(fields, event.kind)
      return
    case 'found':
      logger?.info({ ...fields, finding: event.finding.kind }, event.kind)
      return
    case 'refused':
      logger?.warn({ ...fields, reason: event.reason }, event.kind)
      return
    case 'in_doubt':
    case 'retrying':
    case 'store_failed':
      logger?.warn({ ...fields, err: event.cause }, event.kind)
  }
}

const QUIET_USAGE_EVENTS: ReadonlySet<UsageEvent['kind']> = new Set(['resent', 'usage-refused'])

function logUsageEvent(event: UsageEvent, logger: FastifyBaseLogger | undefined): void {
  const { kind, ...fields } = event
  if (QUIET_USAGE_EVENTS.has(kind)) logger?.info(fields, kind)
  else logger?.warn('error' in fields ? { ...fields, err: fields.error } : fields, kind)
}

/** Registers what is measured at the moment of asking. */
export function registerMeasuredFigures(registry: Registry, figures: MeasuredFigures): void {
  const registers = [registry]
  const gauge = (name: string, help: string, read: () => number | undefined): void => {
    const measured: Gauge = new Gauge({
      name,
      help,
      registers,
      collect() {
        measured.set(read() ?? Number.NaN)
      },
    })
  }
  for (const name of Object.keys(figures.usage()) as (keyof UsageFigures)[]) {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    gauge(`access_usage_${snake}`, 'See usage-figures.ts.', () => figures.usage()[name])
  }
  gauge('access_sweep_unresolved', 'Credits that are not opened yet.', figures.unresolvedCredits)
  gauge('access_sweep_age_seconds', 'Age of the last whole read of the mirror node.', () =>
    figures.sweepAgeSeconds(),
  )
  const reserve: Gauge = new Gauge({
    name: 'access_renewals_reserve_can_arm',
    help: 'Further renewals that the seller’s gas reserve can arm.',
    registers,
    async collect() {
      reserve.set(await figures.renewalsReserveCanArm().catch(() => Number.NaN))
    },
  })
}
