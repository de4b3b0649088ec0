import { formatHbar } from '@tallystick/x402/hedera'
import type { AccessStatus } from '../access-answers.ts'
import { counted } from './sentences.ts'

const BAR_CELLS = 20

/** The window as one line: a bar that empties, seconds, renewals, quota. `elapsedMs` since the status was read. */
export function liveLine(status: AccessStatus, elapsedMs: number): string {
  if (!status.hasAccess) return 'No window is open.'
  const remaining = Math.max(0, status.secondsRemaining - elapsedMs / 1_000)
  const share = status.periodSeconds === 0 ? 0 : Math.min(1, remaining / status.periodSeconds)
  const full = Math.round(share * BAR_CELLS)
  const bar = '█'.repeat(full) + '░'.repeat(BAR_CELLS - full)
  const calls =
    status.usage === null
      ? ''
      : ` · ${status.usage.callsRemaining} of ${status.usage.callsAllowed} calls`
  const renewals = status.isActive
    ? `renews ${counted(status.periodsFunded, 'more time')} (${formatHbar(status.balanceTinybar)})`
    : 'cancelled'
  return `${bar} ${remaining.toFixed(1).padStart(6)} s · ${renewals}${calls}`
}
