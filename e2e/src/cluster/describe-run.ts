// Figures of a run, for whoever reads its output.
import type { Listener } from './care-load.ts'
import type { CallSeen, PaymentSeen } from './check-payments.ts'

/** A fault, and how long after it a write that began with it was acknowledged. */
export type FaultFigure = {
  readonly what: string
  readonly atMs: number
  readonly writtenMs: number
}

const isServed = ({ answers }: PaymentSeen): boolean => answers.some(({ status }) => status === 200)

export function describePayments(payments: readonly PaymentSeen[]) {
  return {
    sent: payments.length,
    served: payments.filter(isServed).length,
    pending: payments.filter(({ answers }) => answers.length === 0).length,
    refused: payments.filter((payment) => payment.answers.length > 0 && !isServed(payment)).length,
  }
}

export const countStatuses = (calls: readonly CallSeen[]): Record<number, number> =>
  Object.fromEntries(
    [...Map.groupBy(calls, ({ status }) => status)].map(([status, all]) => [status, all.length]),
  )

/** How long after a fault the first grade was answered that was paid for after it. */
export function describeFaults(
  faults: readonly FaultFigure[],
  grades: readonly PaymentSeen[],
): Record<string, object> {
  const answeredMs = (atMs: number): number =>
    Math.min(
      ...grades
        .filter(({ startMs }) => startMs >= atMs)
        .flatMap(({ firstMs }) => (firstMs === undefined ? [] : [firstMs - atMs])),
    )
  return Object.fromEntries(
    faults.map(({ atMs, what, writtenMs }, at) => [
      `${at} ${what}`,
      { 'write, ms': writtenMs, 'grade, ms': answeredMs(atMs) },
    ]),
  )
}

/** Shorter silences are no fault's. */
const SILENCE_MS_MIN = 2_000

/** How long the listeners that a fault silenced heard nothing. */
export function describeSilences(listeners: readonly Listener[], fromMs: number) {
  const all = listeners.map((listener) => listener.silenceMs(fromMs)).toSorted((a, b) => a - b)
  const silences = all.filter((ms) => ms >= SILENCE_MS_MIN)
  const quantile = (share: number) =>
    silences[Math.min(silences.length - 1, Math.floor(silences.length * share))]
  return {
    streams: silences.length,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    maxMs: silences.at(-1),
  }
}
