/** Figures that are read at the moment when metrics are asked for; what is not known then is NaN. */
import { Counter, Gauge, type Registry } from '@tallystick/service-kit'
import type { UsageFigures } from './domain/usage-recorder.ts'

export type MeasuredFigures = {
  readonly usage: () => UsageFigures
  readonly unresolvedCredits: () => number
  readonly sweepAgeSeconds: () => number | undefined
  readonly renewalsReserveCanArm: () => Promise<number>
}

const USAGE_HELP: Readonly<Record<keyof UsageFigures, string>> = {
  openBatchCalls: 'Calls accepted and not sealed into a batch yet.',
  waitingCalls: 'Calls that wait to be accepted.',
  sealedBatches: 'Signed batches that wait for the sender.',
  sentBatches: 'Batches sent whose receipt is missing.',
  unreceiptedCalls: 'Calls accepted whose receipt is missing.',
  windows: 'Windows kept in memory.',
  acceptedCallsTotal: 'Calls accepted.',
  recordedCallsTotal: 'Calls that a receipt says are counted on the contract.',
  refusedCallsTotal: 'Calls that the contract refused: over a quota.',
  lateCallsTotal: 'Calls whose window was closed too long when they came to the contract.',
  revertedCallsTotal: 'Calls in batches that reverted.',
  missingCallsTotal: 'Calls in batches that never got a receipt.',
  expiredCallsTotal: 'Calls taken out because no batch took them in time: answered 502.',
  transactionsSentTotal: 'Transactions that the ledger took, each once.',
  resendsTotal: 'Transactions sent again, unchanged.',
  resigningsTotal: 'Transactions signed anew.',
}

const metricName = (name: string): string =>
  `access_usage_${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`

function registerUsage(registry: Registry, read: () => UsageFigures): void {
  const registers = [registry]
  for (const [name, help] of Object.entries(USAGE_HELP) as [keyof UsageFigures, string][]) {
    if (name.endsWith('Total')) {
      const total: Counter = new Counter({
        name: metricName(name),
        help,
        registers,
        collect() {
          total.reset()
          total.inc(read()[name])
        },
      })
    } else {
      const gauge: Gauge = new Gauge({
        name: metricName(name),
        help,
        registers,
        collect() {
          gauge.set(read()[name])
        },
      })
    }
  }
}

/** Registers the queue of metering, the sweep of payTo's credits and what is left of the reserve. */
export function registerMeasuredFigures(registry: Registry, figures: MeasuredFigures): void {
  registerUsage(registry, figures.usage)
  const registers = [registry]
  const unresolved: Gauge = new Gauge({
    name: 'access_sweep_unresolved',
    help: 'Credits of payTo that are not opened yet.',
    registers,
    collect() {
      unresolved.set(figures.unresolvedCredits())
    },
  })
  const age: Gauge = new Gauge({
    name: 'access_sweep_age_seconds',
    help: 'Age of the last whole read of payTo’s credits from the mirror node.',
    registers,
    collect() {
      age.set(figures.sweepAgeSeconds() ?? Number.NaN)
    },
  })
  const reserve: Gauge = new Gauge({
    name: 'access_renewals_reserve_can_arm',
    help: 'Further renewals that the seller’s gas reserve can arm.',
    registers,
    async collect() {
      reserve.set(await figures.renewalsReserveCanArm().catch(() => Number.NaN))
    },
  })
}
