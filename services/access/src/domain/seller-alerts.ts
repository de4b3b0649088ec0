/**
 * Warns the seller before something runs out: which figure is past its limit, once when that changes and again after the
 * reminder interval. Pure except for `createSellerAlerts`, which looks every minute.
 */
import { HOUR_MS, pause } from '@tallystick/service-kit'
import { formatHbar } from '@tallystick/x402/hedera'
import type { AlertNotice, SellerAlert } from './access-events.ts'
import type { AccessParts, AccessPorts } from './access-parts.ts'
import { purchaseTinybar } from './sales-terms.ts'

/** The seller's money, read at one moment. */
export type SellerFigures = {
  readonly renewalsReserveCanArm: number
  readonly earnedTinybar: bigint
  readonly recorderTinybar: bigint
  /** The recorder must hold this for a full batch, tinybar. */
  readonly batchTinybar: bigint
  readonly floatTinybar: bigint
  /** One purchase, and what payTo must hold for the gas of its forward, tinybar. */
  readonly purchaseTinybar: bigint
  readonly forwardTinybar: bigint
}

export type AlertLimits = {
  readonly reserveRenewals: number
  readonly recorderHours: number
  readonly withdrawTinybar: bigint
  readonly reminderMs: number
}

/** How far a figure is from its limit: below 1 the alert is raised, from 1.1 on it is cleared, between it stays. */
type Finding = { readonly headroom: number; readonly text: string }

/** The float must hold one purchase and the gas of this many forwards. */
const FLOAT_FORWARDS = 2n
const CLEARED_AT = 1.1

const ratio = (amount: bigint, wanted: bigint): number =>
  wanted === 0n ? Number.POSITIVE_INFINITY : Number(amount) / Number(wanted)

/** Judges figures; `spentPerHour` is what the recorder spends in an hour, tinybar. */
export function judgeFigures(
  figures: SellerFigures,
  limits: AlertLimits,
  spentPerHour: bigint,
): Readonly<Record<SellerAlert, Finding>> {
  const { renewalsReserveCanArm, earnedTinybar, recorderTinybar, floatTinybar } = figures
  const recorderWanted = spentPerHour * BigInt(limits.recorderHours)
  const least = recorderWanted > figures.batchTinybar ? recorderWanted : figures.batchTinybar
  const float = figures.purchaseTinybar + FLOAT_FORWARDS * figures.forwardTinybar
  return {
    reserve_low: {
      headroom: renewalsReserveCanArm / limits.reserveRenewals,
      text: `The reserve arms ${renewalsReserveCanArm} more renewals: access-operator fund --hbar N.`,
    },
    recorder_low: {
      headroom: ratio(recorderTinybar, least),
      text: `The recorder holds ${formatHbar(recorderTinybar)} and spends ${formatHbar(spentPerHour)} an hour: send it HBAR.`,
    },
    float_low: {
      headroom: ratio(floatTinybar, float),
      text: `payTo holds ${formatHbar(floatTinybar)}; a purchase and the gas of ${FLOAT_FORWARDS} forwards are ${formatHbar(float)}: send it HBAR.`,
    },
    withdrawable: {
      headroom: ratio(limits.withdrawTinybar, earnedTinybar),
      text: `${formatHbar(earnedTinybar)} are earned: access-operator withdraw earnings.`,
    },
  }
}

/** The recorder had paid this at moments of the last hour, oldest first. Its balance would not do: it also changes when
 * the operator takes money out or sends some. */
export type SpendingTrail = readonly { readonly atMs: number; readonly spentTinybar: bigint }[]

/** No rate is taken over less than this, milliseconds: one purchase's calls would look like a day's. */
const TRAIL_MS_MIN = 600_000

export function followSpending(
  trail: SpendingTrail,
  spentTinybar: bigint,
  nowMs: number,
): SpendingTrail {
  return [...trail.filter(({ atMs }) => nowMs - atMs <= HOUR_MS), { atMs: nowMs, spentTinybar }]
}

/** Tinybar an hour; 0 while less than `spanMsMin` is known. */
export function spendingRate(trail: SpendingTrail, spanMsMin = TRAIL_MS_MIN): bigint {
  const [first, last] = [trail[0], trail.at(-1)]
  if (first === undefined || last === undefined) return 0n
  const spanMs = last.atMs - first.atMs
  if (spanMs < spanMsMin) return 0n
  return ((last.spentTinybar - first.spentTinybar) * BigInt(HOUR_MS)) / BigInt(spanMs)
}

/** Raised alerts, each with the time of its last notice, Unix milliseconds. */
export type AlertState = ReadonlyMap<SellerAlert, number>

/** The next state, and the notices to send: changes, and reminders of old alerts. */
export function nextAlerts(
  state: AlertState,
  findings: Readonly<Record<SellerAlert, Finding>>,
  { nowMs, reminderMs }: { readonly nowMs: number; readonly reminderMs: number },
): { readonly state: AlertState; readonly notices: readonly AlertNotice[] } {
  const next = new Map(state)
  const notices: AlertNotice[] = []
  for (const [name, { headroom, text }] of Object.entries(findings)) {
    const alert = name as SellerAlert
    const toldAtMs = state.get(alert)
    const isRaised = headroom < (toldAtMs === undefined ? 1 : CLEARED_AT)
    if (!isRaised) {
      if (!next.delete(alert)) continue
      notices.push({ alert, change: 'cleared', text })
    } else if (toldAtMs === undefined || nowMs - toldAtMs >= reminderMs) {
      next.set(alert, nowMs)
      notices.push({ alert, change: toldAtMs === undefined ? 'raised' : 'reminder', text })
    }
  }
  return { state: next, notices }
}

/** Reads the figures. Throws ChainUnavailable or ContractAbsent. */
export async function readSellerFigures(
  parts: Pick<AccessParts, 'contract' | 'sender' | 'recorderGas' | 'periodsPerPurchase'>,
): Promise<SellerFigures> {
  const { contract, sender } = parts
  const [renewalsReserveCanArm, books, recorder, floatTinybar, forwardTinybar, offers] =
    await Promise.all([
      contract.renewalsReserveCanArm(),
      contract.books(),
      parts.recorderGas(),
      sender.floatTinybar(),
      sender.forwardGasTinybar(),
      contract.offers(),
    ])
  const current = offers.at(-1)
  return {
    renewalsReserveCanArm,
    earnedTinybar: books.earnedTinybar,
    recorderTinybar: recorder.balanceTinybar,
    batchTinybar: recorder.neededTinybar,
    floatTinybar,
    forwardTinybar,
    purchaseTinybar:
      current === undefined ? 0n : purchaseTinybar(current, parts.periodsPerPurchase),
  }
}

/** Between two looks, milliseconds: five reads of the ledger each. */
export const LOOK_MS = 60_000

export type SellerAlerts = ReturnType<typeof createSellerAlerts>

type SellerAlertsDeps = Pick<AccessParts, 'clock' | 'report'> & {
  readonly limits: AlertLimits
  /** Throws if the ledger does not answer; then nothing is judged. */
  readonly readFigures: () => Promise<SellerFigures>
  /** Reads the recorder's payments since this process started. */
  readonly spentTinybar: () => bigint
  readonly webhook: AccessPorts['alertWebhook']
}

/** Looks at the seller's figures every minute and reports changes. */
export function createSellerAlerts(deps: SellerAlertsDeps) {
  const { clock, limits } = deps
  let state: AlertState = new Map()
  let trail: SpendingTrail = []
  let looking: Promise<void> | undefined
  const closed = new AbortController()

  const look = async (): Promise<void> => {
    try {
      const figures = await deps.readFigures()
      const nowMs = clock.unixMs()
      trail = followSpending(trail, deps.spentTinybar(), nowMs)
      const findings = judgeFigures(figures, limits, spendingRate(trail))
      const { reminderMs } = limits
      const next = nextAlerts(state, findings, { nowMs, reminderMs })
      state = next.state
      for (const notice of next.notices) {
        deps.report({ kind: 'alert', ...notice })
        deps.webhook?.send(notice)
      }
    } catch (error) {
      deps.report({ kind: 'alerts-unread', error })
    }
  }

  const lookUntilClosed = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      await look()
      await pause(clock, LOOK_MS, closed.signal)
    }
  }

  return {
    start(): void {
      looking = lookUntilClosed()
    },
    isRaised: (alert: SellerAlert): boolean => state.has(alert),
    /** Computes what the recorder spends in an hour at its present rate, tinybar; 0 before the second look. */
    spentPerHour: (): bigint => spendingRate(trail, LOOK_MS),
    async close(): Promise<void> {
      closed.abort()
      deps.webhook?.close()
      await looking
    },
  }
}
