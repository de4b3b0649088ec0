// What the operator sees of the service besides one log line per request. No label holds a payer, a receipt, a market or
// anything else that a client chose; no line holds a payment header.
import { boundedLabel, Counter, Gauge, Histogram, type Registry } from '@tallystick/service-kit'
import type { GateEvent, PaymentGate, PaymentOutcome, Resumed } from '@tallystick/x402'
import type { DomainCheck } from '@tallystick/x402/evm'
import { logGateEvent } from '@tallystick/x402/fastify'
import type { FastifyBaseLogger } from 'fastify'
import type { LedgerCounts } from './domain/grading-store.ts'
import type { PollOutcome } from './ingest/odds-poller.ts'
import type { SaleAnswer } from './routes/sale-job.ts'

/** Seconds: a verification is 60 µs of arithmetic and one or two network reads. */
const VERIFICATION_BUCKETS_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

function createMetrics(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter<Label>({ name: `grading_${name}_total`, help, labelNames, registers: [registry] })
  return {
    payments: counter('payments', 'Requests with a payment, by outcome.', 'outcome'),
    refusals: counter('refusals', 'Payments refused, by reason.', 'reason'),
    settlements: counter('settlements', 'Settlements and their aftermath.', 'event'),
    resumed: counter('resumed', 'Payments that an earlier process left open, by outcome.', 'end'),
    sold: counter('sold', 'Paid answers.', 'kind'),
    grades: counter(
      'grades',
      'Paid cards, by grade; an ungraded one by its reason.',
      ...(['kind', 'grade', 'reason'] as const),
    ),
    uploads: counter('uploads', 'Uploads, by outcome.', 'outcome'),
    polls: counter('polls', 'Rounds of the odds poller.', 'outcome'),
    verification: new Histogram({
      name: 'grading_payment_verification_seconds',
      help: 'Time to verify one payment.',
      buckets: VERIFICATION_BUCKETS_SECONDS,
      registers: [registry],
    }),
  }
}

export type Telemetry = ReturnType<typeof createTelemetry>

/** Counts and logs what happens; decides nothing. */
export function createTelemetry(registry: Registry, logger?: FastifyBaseLogger) {
  const metrics = createMetrics(registry)
  const reasonLabel = boundedLabel()
  return {
    sold: (answer: SaleAnswer): void => {
      const [kind, cards] = 'picks' in answer ? ['audit', answer.picks] : ['grade', [answer]]
      metrics.sold.inc({ kind })
      for (const card of cards) {
        const reason = card.outcome === 'UNGRADED' ? card.reason.code : ''
        metrics.grades.inc({ kind, grade: card.grade, reason })
      }
    },
    gate: (event: GateEvent): void => {
      metrics.settlements.inc({ event: event.kind })
      logGateEvent(event, logger)
    },
    outcome: (outcome: PaymentOutcome<unknown, unknown>): void => {
      metrics.payments.inc({ outcome: outcome.kind })
      if (outcome.kind === 'challenged')
        metrics.refusals.inc({ reason: reasonLabel(outcome.error) })
      if (outcome.kind === 'unavailable')
        metrics.refusals.inc({ reason: `${outcome.dependency}_unavailable` })
    },
    resumed: ({ cause, end, reservation }: Resumed): void => {
      metrics.resumed.inc({ end })
      const fields = { paymentId: reservation.paymentId, outcome: end }
      if (end === 'left_open' || end === 'failed')
        logger?.error({ ...fields, err: cause }, 'not resumed')
      else logger?.info(fields, 'resumed')
    },
    wrongToken: (found: DomainCheck): void => {
      logger?.error({ found }, 'the network’s token is not the configured one: nothing is sold')
    },
    verified: (seconds: number): void => {
      metrics.verification.observe(seconds)
    },
    uploaded: (outcome: 'taken' | 'repeated' | 'refused'): void => {
      metrics.uploads.inc({ outcome })
    },
    polled: (outcome: PollOutcome): void => {
      metrics.polls.inc({ outcome: 'done' })
      const { account, finalised, stale } = outcome
      const { closes, observations, refused } = account
      logger?.info({ observations, closes, refused, finalised, stale }, 'odds polled')
    },
    pollFailed: (error: unknown): void => {
      metrics.polls.inc({ outcome: 'failed' })
      logger?.warn({ err: error }, 'odds could not be polled')
    },
  }
}

/** The same gate, which also reports the outcome of each request with a payment. */
export function observedGate(
  gate: PaymentGate,
  hear: (outcome: PaymentOutcome<unknown, unknown>) => void,
): PaymentGate {
  const pay: PaymentGate['pay'] = async (headers, terms, job) => {
    const outcome = await gate.pay(headers, terms, job)
    if (headers.paymentSignature !== undefined || headers.xPayment !== undefined) hear(outcome)
    return outcome
  }
  return { ...gate, pay }
}

/** Registers the ledger's figures, read on each scrape; NaN while the ledger cannot be read. */
export function registerLedgerFigures(
  registry: Registry,
  counts: () => Promise<LedgerCounts>,
): void {
  const figures = {
    entries: 'Entries in the ledger.',
    events: 'Events that the ledger knows.',
    picks: 'Paid picks.',
  } as const
  for (const [name, help] of Object.entries(figures) as [keyof LedgerCounts, string][]) {
    const gauge = new Gauge({
      name: `grading_ledger_${name}`,
      help,
      registers: [],
      async collect() {
        const found = await counts().catch(() => undefined)
        this.set(found?.[name] ?? Number.NaN)
      },
    })
    registry.registerMetric(gauge)
  }
}
