import { DAY_MS, HOUR_MS, MINUTE_MS, manualClock } from '@tallystick/service-kit'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AccessEvent } from './access-events.ts'
import {
  type AlertState,
  createSellerAlerts,
  followSpending,
  judgeFigures,
  nextAlerts,
  type SellerFigures,
  type SpendingTrail,
  spendingRate,
} from './seller-alerts.ts'

const HBAR = 100_000_000n
const LIMITS = {
  reserveRenewals: 4,
  recorderHours: 24,
  withdrawTinybar: 100n * HBAR,
  reminderMs: DAY_MS,
}
const FINE: SellerFigures = {
  renewalsReserveCanArm: 40,
  earnedTinybar: 0n,
  recorderTinybar: 50n * HBAR,
  batchTinybar: 3n * HBAR,
  floatTinybar: 50n * HBAR,
  purchaseTinybar: 12n * HBAR,
  forwardTinybar: 2n * HBAR,
}

const raised = (change: Partial<SellerFigures>, spentPerHour = 0n): readonly string[] => {
  const findings = judgeFigures({ ...FINE, ...change }, LIMITS, spentPerHour)
  return [...nextAlerts(new Map(), findings, { nowMs: 0, reminderMs: 1 }).state.keys()]
}

describe('A1: the seller is alerted', () => {
  test.each<[string, readonly string[], Partial<SellerFigures>]>([
    ['of nothing while all is well', [], {}],
    [
      'when the reserve arms fewer renewals than named',
      ['reserve_low'],
      { renewalsReserveCanArm: 3 },
    ],
    [
      'when the recorder cannot hold one full batch',
      ['recorder_low'],
      { recorderTinybar: 2n * HBAR },
    ],
    ['when payTo cannot pay for two forwards', ['float_low'], { floatTinybar: 15n * HBAR }],
    ['when more than the named amount is earned', ['withdrawable'], { earnedTinybar: 101n * HBAR }],
  ])('%s', (_, expected, change) => {
    expect(raised(change)).toEqual(expected)
  })

  test('when the recorder’s money ends within the named hours at its present rate', () => {
    expect(raised({}, 2n * HBAR)).toEqual([])
    expect(raised({}, 3n * HBAR)).toEqual(['recorder_low'])
  })
})

describe('the recorder’s rate', () => {
  test('is what it paid in the last hour', () => {
    let trail: SpendingTrail = []
    for (const [index, hbar] of [0n, 1n, 2n, 2n, 3n, 4n].entries())
      trail = followSpending(trail, hbar * HBAR, index * 6 * MINUTE_MS)
    // 4 HBAR in 30 minutes
    expect(spendingRate(trail)).toBe(8n * HBAR)
    expect(followSpending(trail, 1n, 10 * HOUR_MS)).toHaveLength(1)
  })

  test('is not known before ten minutes', () => {
    const trail = [0n, 30n].map((hbar, index) => ({
      atMs: index * MINUTE_MS,
      spentTinybar: hbar * HBAR,
    }))
    expect(spendingRate(trail)).toBe(0n)
  })
})

describe('an alert', () => {
  test('is told when it changes and once in each reminder interval, however often it is looked at', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 200 }),
        (reserves) => {
          let state: AlertState = new Map()
          let isStanding = false
          let toldAt = 0
          for (const [minute, renewalsReserveCanArm] of reserves.entries()) {
            const findings = judgeFigures({ ...FINE, renewalsReserveCanArm }, LIMITS, 0n)
            const at = { nowMs: minute * MINUTE_MS, reminderMs: 10 * MINUTE_MS }
            const next = nextAlerts(state, findings, at)
            state = next.state
            const isLow: boolean = renewalsReserveCanArm < (isStanding ? 4.4 : 4)
            const isDue = isLow && isStanding && minute - toldAt >= 10
            const expected = [
              ...(isLow && !isStanding ? ['raised'] : []),
              ...(isDue ? ['reminder'] : []),
              ...(!isLow && isStanding ? ['cleared'] : []),
            ]
            expect(next.notices.map(({ change }) => change)).toEqual(expected)
            if (expected.length > 0) toldAt = minute
            isStanding = isLow
            expect(state.has('reserve_low')).toBe(isStanding)
          }
        },
      ),
    )
  })
})

test('looks every minute, and a ledger that does not answer changes nothing', async () => {
  const clock = manualClock(0)
  const events: AccessEvent[] = []
  const sent: string[] = []
  let figures: SellerFigures | undefined = { ...FINE, renewalsReserveCanArm: 0 }
  const alerts = createSellerAlerts({
    clock,
    limits: LIMITS,
    spentTinybar: () => 0n,
    report: (event) => void events.push(event),
    webhook: { send: ({ change }) => void sent.push(change), close: () => undefined },
    async readFigures() {
      if (figures === undefined) throw new Error('down')
      return figures
    },
  })
  const kinds = () => events.map((event) => ('change' in event ? event.change : event.kind))
  alerts.start()
  await expect.poll(kinds).toEqual(['raised'])
  figures = undefined
  clock.advanceMs(MINUTE_MS)
  await expect.poll(kinds).toEqual(['raised', 'alerts-unread'])
  expect(alerts.isRaised('reserve_low')).toBe(true)
  figures = FINE
  clock.advanceMs(MINUTE_MS)
  await expect.poll(kinds).toEqual(['raised', 'alerts-unread', 'cleared'])
  expect(sent).toEqual(['raised', 'cleared'])
  await alerts.close()
})
