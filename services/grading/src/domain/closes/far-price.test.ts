import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AFTER, BEFORE, early, HIDDEN, openLedger } from '../../testing/evidence.fixture.ts'
import { createGraderFixture, makeFixture } from '../../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import type { AuditAnswer } from '../../wire/audit.ts'
import type { Card } from '../../wire/cards.ts'
import { checkSums } from '../audits/verify-audit.ts'
import { DEFAULT_GRADE_OPTIONS, type Parlay, type PickRequest } from '../markets/pick-request.ts'
import { isUnconfirmed } from './far-price.ts'

const FAR = 'price_far_from_recorded'
const CONFIRMED = 'price_confirmed'

const confirmed = <Pick extends object>(pick: Pick) => ({ ...pick, isConfirmed: true })

const listFlags = ({ flags = [] }: Card) =>
  flags.filter((flag) => flag === FAR || flag === CONFIRMED)

/** Every figure of an audit but its cards, and which of them it leaves out. */
function listFigures({ picks: _cards, findings: _told, coverage, ...figures }: AuditAnswer) {
  const { unconfirmed: _left, ...covered } = coverage
  return { ...figures, coverage: covered }
}

const other = sampleEvent({ path: 'soccer/epl.20260601.liv-mun', home: 'Liverpool' })
const onOther = (odds: string) => samplePick({ market: `${other.path}/1x2/ft`, odds })

/** Two settled matches: the first with an early price of 2.2 and a close of 2.05, the second with a close alone. */
const twoMatches = () =>
  makeFixture(
    { snapshots: [early], closes: [samplePrices()], outcomes: scored(1, 0) },
    { event: other, closes: [samplePrices()], outcomes: scored(2, 0) },
  )

/** Prices of a handicap. */
const line = (at: string, home: string) =>
  samplePrices({ market: `ah/ft/${at}`, odds: { home, away: '1.65' } })

const parlay = (odds: string, ...legs: readonly PickRequest[]): Parlay => ({
  kind: 'parlay',
  legs,
  odds: samplePick({ odds }).odds,
  options: DEFAULT_GRADE_OPTIONS,
})

/** What becomes of a pick that is paid for before its start. */
const counts = async (pick: PickRequest) => {
  const ledger = await openLedger(HIDDEN, [BEFORE, { snapshots: [early] }])
  const card = await ledger.pay(pick)
  await ledger.store.ingest(
    sampleBatch([sampleObservation({ closes: [samplePrices()], outcomes: scored(1, 0) })], {
      feed: HIDDEN,
      receivedAtSeconds: AFTER,
    }),
  )
  const again = await ledger.grader.findCard(card.receipt ?? '')
  return {
    flags: again && listFlags(again),
    counted: again?.counted,
    n: await ledger.counted('committed'),
  }
}

describe('G21: a price far from anything recorded', () => {
  test.each([
    // The best is the early 2.2, the worst the close of 2.05.
    ['2.2', 'first', []],
    ['3.3', 'first', []],
    ['3.301', 'first', [FAR]],
    ['1.367', 'first', []],
    ['1.366', 'first', [FAR]],
    ['30', 'first', [FAR]],
    // Only the close of 2.05 is recorded: early prices of other matches say nothing.
    ['3.075', 'other', []],
    ['3.076', 'other', [FAR]],
  ] as const)('%s on the %s match is flagged as %j', async (odds, match, flags) => {
    const { grader } = await twoMatches()
    const pick = match === 'first' ? samplePick({ odds }) : onOther(odds)
    const card = await grader.grade(pick)
    expect(listFlags(card)).toEqual(flags)
    expect(isUnconfirmed(card)).toBe(flags.length > 0)
    expect(card.summary.startsWith('Not counted:')).toBe(flags.length > 0)
    const after = await grader.grade(confirmed(pick))
    expect(listFlags(after)).toEqual(flags.length > 0 ? [FAR, CONFIRMED] : [])
    expect(isUnconfirmed(after)).toBe(false)
  })

  test('an unconfirmed price stands outside every figure of an audit, and the cards add up to them', async () => {
    const { grader } = await twoMatches()
    const good = [samplePick({ odds: '2.1' }), onOther('1.95')]
    const own = { stake: 50, book: 'a book', result: 'lost', profit: 7 } as const
    const far: PickRequest = { ...samplePick({ odds: '30' }), own }
    const [without, added, sure] = [
      await grader.audit({ picks: good }),
      await grader.audit({ picks: [...good, far] }),
      await grader.audit({ picks: [...good, confirmed(far)] }),
    ]
    expect(added.picks[2]).toMatchObject({ outcome: 'GRADED', grade: 'A+' })
    expect(added.coverage.unconfirmed).toEqual([2])
    expect(listFigures(added)).toEqual(listFigures(without))
    expect(sure.coverage).toMatchObject({ picks: 3, graded: 3, unconfirmed: [] })
    expect(sure.record.won).toBe(3)
    for (const audit of [without, added, sure])
      expect(checkSums(audit).filter(({ holds }) => !holds)).toEqual([])
    const hidden = { ...added, coverage: { ...added.coverage, unconfirmed: [] } }
    expect(checkSums(hidden).filter(({ holds }) => !holds)).not.toEqual([])
  })

  test('a bet that is confirmed the second time counts once, although the first was not', async () => {
    const { grader } = await twoMatches()
    const far = samplePick({ odds: '9' })
    const { coverage } = await grader.audit({ picks: [far, confirmed(far), confirmed(far)] })
    expect(coverage).toMatchObject({ picks: 2, unconfirmed: [0], duplicates: [2] })
  })

  test('a pick without a grade is flagged as well: its result is counted nowhere', async () => {
    const { grader } = await makeFixture({ snapshots: [early], outcomes: scored(1, 0) })
    const audit = await grader.audit({ picks: [samplePick({ odds: '80' })] })
    expect(audit.picks[0]).toMatchObject({ outcome: 'UNGRADED', flags: [FAR] })
    expect(audit.raw_roi).toMatchObject({ staked: 0, profit: 0 })
    expect(audit.coverage).toMatchObject({ picks: 0, ungraded: 0, by_reason: {} })
  })

  test('a quarter line is compared with its halves at their own recorded prices', async () => {
    const { grader } = await makeFixture({
      snapshots: [line('-0.5', '2.6'), line('-1', '3.3')],
      closes: [line('-0.5', '2.3'), line('-1', '2.9')],
    })
    const at = async (odds: string) =>
      listFlags(
        await grader.grade(samplePick({ market: 'soccer/epl.20260601.ars-che/ah/ft/-0.75', odds })),
      )
    // Between 1.5 times 2.6 and 1.5 times 3.3; and between the closes' 1/1.5.
    expect([await at('3.8'), await at('5')]).toEqual([[], [FAR]])
    expect([await at('1.94'), await at('1.5')]).toEqual([[], [FAR]])
  })

  test('a parlay is confirmed as a whole or by its legs; its price is compared with the legs’ product', async () => {
    const { grader } = await twoMatches()
    const flags = async (pick: Parlay) => listFlags(await grader.grade(pick))
    const [near, far] = [samplePick({ odds: '2.1' }), onOther('20')]
    expect(await flags(parlay('4.2', near, onOther('2')))).toEqual([])
    // 1.5 times 2.2 times 2.05 is 6.765.
    expect(await flags(parlay('6.76', near, onOther('2')))).toEqual([])
    expect(await flags(parlay('6.77', near, onOther('2')))).toEqual([FAR])
    expect(await flags(parlay('42', near, far))).toEqual([FAR])
    expect(await flags(parlay('42', near, confirmed(far)))).toEqual([FAR, CONFIRMED])
    expect(await flags(parlay('420.0', near, confirmed(far)))).toEqual([FAR])
    expect(await flags(confirmed(parlay('420.0', near, far)))).toEqual([FAR, CONFIRMED])
  })

  test('a committed pick far below the recorded prices counts only once it is confirmed, and its receipt reads the same', async () => {
    const low = samplePick({ odds: '1.3' })
    expect(await counts(low)).toMatchObject({
      flags: [FAR],
      counted: { population: null, why: FAR },
      n: 0,
    })
    expect(await counts(confirmed(low))).toMatchObject({
      flags: [FAR, CONFIRMED],
      counted: { population: 'committed' },
      n: 1,
    })
  })

  test('a confirmed parlay and a confirmed leg are kept with their receipts', async () => {
    const fixture = await twoMatches()
    const legs = [confirmed(samplePick({ odds: '30' })), onOther('2')]
    const options = DEFAULT_GRADE_OPTIONS
    for (const pick of [
      { kind: 'parlay', legs, odds: samplePick({ odds: '60' }).odds, options },
      confirmed({
        kind: 'parlay',
        legs: [samplePick(), onOther('2')],
        odds: samplePick({ odds: '60' }).odds,
        options,
      }),
    ] as const) {
      const card = await fixture.pay(pick as Parlay)
      const again = await fixture.grader.findCard(card.receipt ?? '')
      expect(again && listFlags(again)).toEqual([FAR, CONFIRMED])
    }
  })

  test('whatever is recorded, a card is flagged as a scan of every price says', async () => {
    const price = fc.integer({ min: 105, max: 900 }).map((cents) => cents / 100)
    const recorded = fc.record({
      book: fc.constantFrom('pinnacle', 'bet365', 'soft'),
      home: price,
      minute: fc.integer({ min: 1, max: 3_000 }),
      isTimed: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(recorded, { maxLength: 60 }),
        recorded,
        fc.record({ taken: price, isConfirmed: fc.boolean() }),
        async (snapshots, close, { isConfirmed, taken }) => {
          const { grader, store } = createGraderFixture()
          const entry = ({ book, home, isTimed, minute }: typeof close) =>
            samplePrices({
              book,
              odds: { home: String(home) },
              ...(isTimed ? { capturedAtSeconds: START_SECONDS - minute * 60 } : {}),
            })
          await store.ingest(
            sampleBatch([
              sampleObservation({
                snapshots: snapshots.map(entry),
                closes: [entry({ ...close, minute: 1 })],
              }),
            ]),
          )
          const all = [...snapshots, close].map(({ home }) => home)
          const isNear =
            all.some((each) => taken <= each * 1.5 + 1e-9) &&
            all.some((each) => taken >= each / 1.5 - 1e-9)
          const card = await grader.grade({ ...samplePick({ odds: String(taken) }), isConfirmed })
          expect(listFlags(card)).toEqual(isNear ? [] : isConfirmed ? [FAR, CONFIRMED] : [FAR])
        },
      ),
      { numRuns: 60 },
    )
  })
})
