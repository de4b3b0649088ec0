import type { Clock } from '@tallystick/service-kit'
import type { UsageEventListener } from './usage-events.ts'
import type { UsageTotals } from './usage-figures.ts'
import type { UsageLedger } from './usage-ledger.ts'

/** Every part of one recorder has these, and shares them with the others. */
export type RecorderParts = {
  /** One recorder key on one ledger. */
  readonly ledger: UsageLedger
  readonly clock: Clock
  /** Hears what an operator may want to know; it must not throw. */
  readonly onEvent: UsageEventListener
  /** Each part adds to its own figures. */
  readonly totals: UsageTotals
}
