import type { Clock } from '@tallystick/x402'
import type { AccessStatus } from './access-answers.ts'

/** Something that a watcher saw. `status` comes with every successful poll, before any change it shows. */
export type WindowChange =
  | {
      readonly kind: 'status' | 'opened' | 'cancelled' | 'paused'
      readonly status: AccessStatus
    }
  | { readonly kind: 'closed'; readonly status: AccessStatus }
  /** The paid time ends within the seconds to be warned of; reported once for each end. */
  | {
      readonly kind: 'ends-soon'
      readonly status: AccessStatus
      readonly endsAtSeconds: number
    }
  /** `renewals` of the window since the watch began; `periods` of them in this step. */
  | {
      readonly kind: 'renewed'
      readonly status: AccessStatus
      readonly periods: number
      readonly renewals: number
    }
  | { readonly kind: 'unreachable'; readonly reason: string }

type WatchOptions = {
  /**
   * Reads the status; a throw is reported as `unreachable`, and the next poll reads again. `ended` is aborted when the
   * watch ends, so that no read keeps the process alive.
   */
  readonly readStatus: (ended: AbortSignal) => Promise<AccessStatus>
  readonly clock: Clock
  readonly pollMs: number
  /** From so long before the paid time ends on it is reported, seconds; by default never. */
  readonly warnSeconds?: number | undefined
  readonly onChange: (change: WindowChange) => void
}

/** Whole periods by which an open window was extended; 0 if it was not, or if it is another purchase. */
export function renewedPeriods(before: AccessStatus, after: AccessStatus): number {
  if (!before.hasAccess || !after.hasAccess || before.periodSeconds === 0) return 0
  const moved = after.expiresAtSeconds - before.expiresAtSeconds
  return moved > 0 && moved % before.periodSeconds === 0 ? moved / before.periodSeconds : 0
}

/** When the last period that is paid for ends, by this status. */
const endsAtSeconds = (status: AccessStatus): number =>
  status.expiresAtSeconds + status.periodsFunded * status.periodSeconds

function changesBetween(
  before: AccessStatus | undefined,
  status: AccessStatus,
  renewalsBefore: number,
): readonly WindowChange[] {
  const changes: WindowChange[] = [{ kind: 'status', status }]
  if (before === undefined) return changes
  const periods = renewedPeriods(before, status)
  if (periods > 0) {
    changes.push({ kind: 'renewed', status, periods, renewals: renewalsBefore + periods })
  } else if (
    status.hasAccess &&
    (!before.hasAccess || status.expiresAtSeconds !== before.expiresAtSeconds)
  ) {
    changes.push({ kind: 'opened', status })
  }
  if (before.hasAccess && status.hasAccess && before.isActive && !status.isActive) {
    changes.push({ kind: 'cancelled', status })
  }
  if (status.hasAccess && status.ended?.why === 'paused' && before.ended === null) {
    changes.push({ kind: 'paused', status })
  }
  if (before.hasAccess && !status.hasAccess) changes.push({ kind: 'closed', status })
  return changes
}

/** Polls until the returned function is called; after that, no change is reported. */
export function watchWindow(options: WatchOptions): () => void {
  let last: AccessStatus | undefined
  let renewals = 0
  let warnedOfSeconds: number | undefined
  const ended = new AbortController()
  let cancelTimer: (() => void) | undefined

  function report(changes: readonly WindowChange[]): void {
    for (const change of changes) {
      if (ended.signal.aborted) return
      if (change.kind === 'renewed') renewals = change.renewals
      options.onChange(change)
    }
  }

  function warnings(status: AccessStatus): readonly WindowChange[] {
    const endsAt = endsAtSeconds(status)
    const leftSeconds = endsAt - status.nowSeconds
    const isNear = status.hasAccess && leftSeconds <= (options.warnSeconds ?? -1)
    if (!isNear || endsAt === warnedOfSeconds) return []
    warnedOfSeconds = endsAt
    return [{ kind: 'ends-soon', status, endsAtSeconds: endsAt }]
  }

  async function read(): Promise<readonly WindowChange[]> {
    try {
      const status = await options.readStatus(ended.signal)
      const changes = changesBetween(last, status, renewals)
      last = status
      return [...changes, ...warnings(status)]
    } catch (error) {
      return [{ kind: 'unreachable', reason: error instanceof Error ? error.message : 'unknown' }]
    }
  }

  async function poll(): Promise<void> {
    report(await read())
    if (!ended.signal.aborted) {
      cancelTimer = options.clock.after(options.pollMs, () => void poll())
    }
  }

  void poll()
  return () => {
    ended.abort()
    cancelTimer?.()
  }
}
