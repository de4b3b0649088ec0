// What the operator sees of the service besides one log line per request. No label holds a payer, a receipt, a market or
// anything else that a client chose; no line holds a payment header.
import { POSTGRES_FIGURES, type PostgresFigures } from '@tallystick/journal-store'
import {
  boundedLabel,
  createMetrics,
  type MetricTable,
  measureFigures,
  type Registry,
} from '@tallystick/service-kit'
import type { GateEvent, PaymentGate, PaymentOutcome, Resumed } from '@tallystick/x402'
import type { DomainCheck } from '@tallystick/x402/evm'
import { logGateEvent } from '@tallystick/x402/fastify'
import type { FastifyBaseLogger } from 'fastify'
import type { LedgerCounts } from './domain/closes/grading-store.ts'
import type { PollOutcome } from './ingest/odds-poller.ts'
import type { Sold } from './routes/sale-job.ts'

/** Seconds: a verification is 60 µs of arithmetic and one or two network reads. */
const VERIFICATION_BUCKETS_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** Every metric of this service. */
export const METRICS = {
  grading_payments_total: {
    kind: 'counter',
    help: 'Requests with a payment, by outcome.',
    labels: ['outcome'],
  },
  grading_refusals_total: {
    kind: 'counter',
    help: 'Payments refused, by reason.',
    labels: ['reason'],
  },
  grading_settlements_total: {
    kind: 'counter',
    help: 'Settlements and their aftermath.',
    labels: ['event'],
  },
  grading_resumed_total: {
    kind: 'counter',
    help: 'Payments that an earlier process left open, by outcome.',
    labels: ['end'],
  },
  grading_sold_total: { kind: 'counter', help: 'Paid answers.', labels: ['kind'] },
  grading_grades_total: {
    kind: 'counter',
    help: 'Paid cards, by grade; an ungraded one by its reason.',
    labels: ['kind', 'grade', 'reason'],
  },
  grading_uploads_total: { kind: 'counter', help: 'Uploads, by outcome.', labels: ['outcome'] },
  grading_polls_total: {
    kind: 'counter',
    help: 'Rounds of the odds poller.',
    labels: ['outcome'],
  },
  grading_payment_verification_seconds: {
    kind: 'histogram',
    help: 'Time to verify one payment.',
    bucketsSeconds: VERIFICATION_BUCKETS_SECONDS,
  },
  grading_ledger_entries: { kind: 'gauge', help: 'Entries in the ledger.' },
  grading_ledger_events: { kind: 'gauge', help: 'Events that the ledger knows.' },
  grading_ledger_picks: { kind: 'gauge', help: 'Paid picks.' },
} as const satisfies MetricTable

export type Telemetry = ReturnType<typeof createTelemetry>

/** Counts and logs what happens; decides nothing. */
export function createTelemetry(registry: Registry, logger?: FastifyBaseLogger) {
  const metrics = createMetrics(registry, METRICS)
  const reasonLabel = boundedLabel()
  return {
    sold: ({ grades, kind }: Sold): void => {
      metrics.count('grading_sold_total', { kind })
      for (const { count, grade, reason } of grades)
        for (let left = count; left > 0; left -= 1)
          metrics.count('grading_grades_total', { kind, grade, reason })
    },
    gate: (event: GateEvent): void => {
      metrics.count('grading_settlements_total', { event: event.kind })
      logGateEvent(event, logger)
    },
    outcome: (outcome: PaymentOutcome<unknown, unknown>): void => {
      metrics.count('grading_payments_total', { outcome: outcome.kind })
      if (outcome.kind === 'challenged')
        metrics.count('grading_refusals_total', { reason: reasonLabel(outcome.error) })
      if (outcome.kind === 'unavailable')
        metrics.count('grading_refusals_total', { reason: `${outcome.dependency}_unavailable` })
    },
    resumed: ({ cause, end, reservation }: Resumed): void => {
      metrics.count('grading_resumed_total', { end })
      const fields = { paymentId: reservation.paymentId, outcome: end }
      if (end === 'left_open' || end === 'failed')
        logger?.error({ ...fields, err: cause }, 'not resumed')
      else logger?.info(fields, 'resumed')
    },
    notResumed: (error: unknown): void => {
      logger?.error({ err: error }, 'open reservations were not resumed')
    },
    wrongToken: (found: DomainCheck): void => {
      logger?.error({ found }, 'the network’s token is not the configured one: nothing is sold')
    },
    verified: (seconds: number): void => {
      metrics.observe('grading_payment_verification_seconds', seconds)
    },
    uploaded: (outcome: 'taken' | 'repeated' | 'refused'): void => {
      metrics.count('grading_uploads_total', { outcome })
    },
    polled: (outcome: PollOutcome): void => {
      metrics.count('grading_polls_total', { outcome: 'done' })
      const { account, finalised, stale } = outcome
      const { closes, observations, refused } = account
      logger?.info({ observations, closes, refused, finalised, stale }, 'odds polled')
    },
    /** From now on these figures are read at each scrape: the ledger's, NaN while it cannot be read, and those of PostgreSQL. */
    measure: (counts: () => Promise<LedgerCounts>, postgres?: () => PostgresFigures): void => {
      metrics.readTogether(() => counts().catch(() => undefined), {
        grading_ledger_entries: (found) => found?.entries ?? Number.NaN,
        grading_ledger_events: (found) => found?.events ?? Number.NaN,
        grading_ledger_picks: (found) => found?.picks ?? Number.NaN,
      })
      if (postgres !== undefined)
        measureFigures(registry, { prefix: 'postgres', helps: POSTGRES_FIGURES, read: postgres })
    },
    pollFailed: (error: unknown): void => {
      metrics.count('grading_polls_total', { outcome: 'failed' })
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
