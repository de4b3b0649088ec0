/** Attacks on the evidence, each by its name: what is tried, and that it changes nothing. */
import { canonicalJson, preimageHash } from '@tallystick/hashchain'
import { describe, expect, test } from 'vitest'
import { createGraderFixture, fixtureOf } from '../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../testing/samples.fixture.ts'
import { calibrationAnswer } from './calibration.ts'
import { commitmentOf, type PickOpening } from './committed-pick.ts'
import type { Observation } from './observation.ts'
import { writeCell } from './truth-table.ts'

const HIDDEN = { feed: 'the-odds-api', isRedistributable: false, isSynthetic: false }
const UPLOAD = { feed: 'manual', isRedistributable: false, isSynthetic: false }
const DAY = 86_400

const early = samplePrices({
  odds: { home: '2.2', draw: '3.4', away: '3.6' },
  capturedAtSeconds: START_SECONDS - 100_000,
})

/** What the ledger has after observations of one feed, each received at its time. */
async function ledgerOf(
  feed: typeof HIDDEN,
  ...steps: readonly (readonly [atSeconds: number, seen: Partial<Observation>])[]
) {
  const fixture = createGraderFixture()
  for (const [receivedAtSeconds, seen] of steps)
    await fixture.store.ingest(sampleBatch([sampleObservation(seen)], { feed, receivedAtSeconds }))
  const tables = async () => {
    const { cells } = await fixture.store.truth()
    return JSON.stringify([...cells].map(([key, cell]) => `${key} ${writeCell(cell)}`).toSorted())
  }
  const counted = async (population: 'mechanical' | 'committed') => {
    const { columns } = await calibrationAnswer(fixture.store, { population, basis: 'fair' })
    return columns[0]?.total.n
  }
  return { ...fixture, tables, counted }
}

const BEFORE = START_SECONDS - 100_000
const AFTER = START_SECONDS + 7_200

describe('G14: hidden prices', () => {
  test('attack: the hash of an upload is shown with its result, and its few prices are tried against it', async () => {
    const { store, grader } = await ledgerOf(HIDDEN, [
      AFTER,
      { closes: [samplePrices()], outcomes: scored(1, 0) },
    ])
    const rawSha256 = 'ab'.repeat(32)
    for (const seq of [0, 1])
      expect(JSON.stringify(await grader.publicEntry(seq))).not.toContain(rawSha256)
    const [close, result] = [(await store.entry(0))?.entry, (await store.entry(1))?.entry]
    if (close?.type !== 'close' || result?.type !== 'outcome') throw new Error('other entries')
    // A result is shown whole, and its leaf can be checked; whoever has the ledger's secret can open the commitment.
    const shown = await grader.publicEntry(1)
    expect(shown?.entry).toMatchObject({ type: 'outcome', rawCommitment: result.rawCommitment })
    expect(result.rawCommitment).toMatch(/^[0-9a-f]{64}$/)
    expect(result.rawCommitment).not.toBe(preimageHash(rawSha256))
    expect(close.salt).toMatch(/^[0-9a-f]{64}$/)
  })

  test('the hash of a source that may be shown is shown', async () => {
    const { grader } = await fixtureOf({ closes: [samplePrices()], outcomes: scored(1, 0) })
    for (const seq of [0, 1])
      expect((await grader.publicEntry(seq))?.entry?.['rawSha256']).toBe('ab'.repeat(32))
  })

  test('attack: a pick on every selection, to read the best hidden prices when the picks are opened', async () => {
    const { clock, grader, pay, store } = await ledgerOf(HIDDEN, [BEFORE, { snapshots: [early] }])
    for (const selection of ['home', 'draw', 'away'])
      await pay(samplePick({ selection, odds: '1.5' }))
    clock.advanceMs(2 * DAY * 1_000)
    for (const [seq, best] of [
      [1, '2.2'],
      [2, '3.4'],
      [3, '3.6'],
    ] as const) {
      const shown = await grader.publicEntry(seq)
      const text = JSON.stringify(shown)
      expect(text).not.toContain(`"${best}"`)
      const kept = (await store.pickBySeq(seq))?.opening
      expect(kept).toMatchObject({ bestRecorded: best })
      expect(text).not.toContain(kept?.bestSalt ?? 'no salt')
      // What is opened still hashes to the commitment, and the operator can open the rest.
      const opened = (shown?.opened ?? {}) as Record<string, string>
      expect(preimageHash(canonicalJson(opened))).toBe(shown?.entry?.['commitment'])
      expect(preimageHash(`${kept?.bestSalt} ${best}`)).toBe(opened['bestCommitment'])
    }
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('a best price whose sources may all be shown is opened', async () => {
    const { clock, grader, pay } = await ledgerOf({ ...UPLOAD, isRedistributable: true }, [
      BEFORE,
      { snapshots: [early] },
    ])
    await pay(samplePick({ odds: '2' }))
    clock.advanceMs(2 * DAY * 1_000)
    const opened = (await grader.publicEntry(1))?.opened as unknown as PickOpening
    expect(opened).toMatchObject({ bestRecorded: '2.2', isBestOpen: true })
    expect((await grader.publicEntry(1))?.entry?.['commitment']).toBe(commitmentOf(opened))
  })
})

describe('G15: closes', () => {
  const bent = samplePrices({ odds: { home: '1.5', draw: '4.5', away: '7' } })

  test('attack: an upload under a feed’s book name, and later, is graded against instead of the feed', async () => {
    const { grader, store } = await ledgerOf(HIDDEN, [AFTER, { closes: [samplePrices()] }])
    const upload = sampleBatch([sampleObservation({ closes: [bent] })], { feed: UPLOAD })
    await store.ingest({ ...upload, receivedAtSeconds: AFTER + 60 })
    const card = await grader.grade(samplePick())
    expect(card).toMatchObject({
      outcome: 'GRADED',
      close: { odds: 2.05, source: { feed: 'the-odds-api', book: 'pinnacle' } },
      flags: ['closes_disagree'],
    })
    const named = await grader.grade(samplePick({ options: { reference: 'pinnacle' } }))
    expect(named).toMatchObject({ close: { source: { feed: 'the-odds-api' } } })
  })

  test('attack: an upload of a sharper book’s name outranks a feed that lacks that book', async () => {
    const { grader, store } = await ledgerOf(HIDDEN, [
      AFTER,
      { closes: [samplePrices({ book: 'unibet' })] },
    ])
    await store.ingest(sampleBatch([sampleObservation({ closes: [bent] })], { feed: UPLOAD }))
    expect(await grader.grade(samplePick())).toMatchObject({
      close: { source: { book: 'unibet' } },
    })
  })

  test('an upload alone is graded against, and its early prices have a scope of their own', async () => {
    const { grader, store } = await ledgerOf(UPLOAD, [
      AFTER,
      { snapshots: [early], closes: [samplePrices()], outcomes: scored(1, 0) },
    ])
    expect(await grader.grade(samplePick())).toMatchObject({ outcome: 'GRADED' })
    const { scopes } = await calibrationAnswer(store, {})
    expect(scopes).toEqual(['all', 'soccer/1x2', 'soccer/1x2/manual:pinnacle'])
  })
})

describe('G15: times', () => {
  const settled = { closes: [samplePrices()], outcomes: scored(1, 0) }

  test('attack: early prices are recorded after the result, so that the table says what one likes', async () => {
    const { counted, store, tables } = await ledgerOf(
      UPLOAD,
      [BEFORE, { snapshots: [early] }],
      [AFTER, settled],
    )
    const [before, { size }] = [await tables(), await store.head()]
    expect(await counted('mechanical')).toBe(3)
    const winner = samplePrices({ odds: { home: '9', draw: '9', away: '9' } })
    const late = [
      { ...winner, capturedAtSeconds: START_SECONDS - 90_000 },
      { ...winner, book: 'another', capturedAtSeconds: START_SECONDS - 90_000 },
    ]
    const outcome = await store.ingest(
      sampleBatch([sampleObservation({ snapshots: late })], { feed: UPLOAD }),
    )
    expect(outcome).toMatchObject({ snapshots: 0, declined: [{ reason: 'after_result' }] })
    expect(await tables()).toBe(before)
    expect((await store.head()).size).toBe(size)
  })

  test('attack: a price without a time is "corrected" after the result, so that a loss leaves the table', async () => {
    const timeless = { market: '1x2/ft', book: 'pinnacle', odds: early.odds }
    const { store, tables } = await ledgerOf(
      HIDDEN,
      [BEFORE, { snapshots: [timeless] }],
      [AFTER, settled],
    )
    const before = await tables()
    const corrected = { ...timeless, odds: { home: '2.6' } }
    await store.ingest(
      sampleBatch([sampleObservation({ snapshots: [corrected] })], { feed: HIDDEN }),
    )
    expect(await tables()).toBe(before)
  })

  test('attack: the result is withdrawn, prices are recorded, and it is given again', async () => {
    const { counted, store } = await ledgerOf(
      UPLOAD,
      [AFTER, settled],
      [AFTER + 1, { outcomes: [{ period: 'ft', status: 'withdrawn' }] }],
      [AFTER + 2, { snapshots: [early] }],
      [AFTER + 3, settled],
    )
    expect(await counted('mechanical')).toBe(0)
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('attack: a price recorded after the result passes for seen', async () => {
    const { grader } = await ledgerOf(
      UPLOAD,
      [AFTER, settled],
      [AFTER + 1, { snapshots: [samplePrices({ ...early, odds: { home: '9' } })] }],
    )
    expect(await grader.grade(samplePick({ odds: '8' }))).toMatchObject({ price_seen: false })
  })

  test('attack: the start is moved later, so that a pick of the second half counts', async () => {
    const { clock, counted, grader, pay, store } = await ledgerOf(HIDDEN, [
      BEFORE,
      { snapshots: [early] },
    ])
    clock.advanceMs((DAY + 3_600) * 1_000)
    const moved = sampleEvent({ startAtSeconds: START_SECONDS + 3 * DAY })
    const now = clock.unixMs() / 1_000
    await store.ingest(
      sampleBatch([sampleObservation({ event: moved })], { feed: UPLOAD, receivedAtSeconds: now }),
    )
    const card = await pay(samplePick({ odds: '2.2' }))
    expect(card.counted).toEqual({ population: null, why: 'received_after_start' })
    await store.ingest(
      sampleBatch([sampleObservation({ event: moved, ...settled })], {
        feed: HIDDEN,
        receivedAtSeconds: START_SECONDS + 4 * DAY,
      }),
    )
    expect(await counted('committed')).toBe(0)
    expect((await grader.cardOf(card.receipt ?? ''))?.counted.population).toBeNull()
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('attack: the start is moved later after the match, so that prices of the second half count as early', async () => {
    const inPlay = samplePrices({ odds: { home: '1.2' }, capturedAtSeconds: START_SECONDS + 4_000 })
    const moved = sampleEvent({ startAtSeconds: START_SECONDS + DAY })
    const { counted } = await ledgerOf(
      UPLOAD,
      [BEFORE, {}],
      [BEFORE + 1, { snapshots: [early] }],
      [START_SECONDS + 5_000, { event: moved, snapshots: [inPlay] }],
      [START_SECONDS + 2 * DAY, { event: moved, ...settled }],
    )
    expect(await counted('mechanical')).toBe(3)
  })

  test('attack: a result is given before the start', async () => {
    const { grader, store } = await ledgerOf(HIDDEN, [BEFORE, { snapshots: [early] }])
    const outcome = await store.ingest(
      sampleBatch([sampleObservation({ outcomes: scored(1, 0) })], {
        feed: UPLOAD,
        receivedAtSeconds: START_SECONDS - 1,
      }),
    )
    expect(outcome).toMatchObject({ outcomes: 0, declined: [{ reason: 'result_before_start' }] })
    expect(await grader.grade(samplePick())).toMatchObject({ scoreboard: { status: 'pending' } })
    // Nor with a start that is moved earlier in the same breath.
    const event = sampleEvent({ startAtSeconds: START_SECONDS - DAY })
    const again = await store.ingest(
      sampleBatch([sampleObservation({ event, outcomes: scored(1, 0) })], {
        feed: UPLOAD,
        receivedAtSeconds: START_SECONDS - 1,
      }),
    )
    expect(again).toMatchObject({ outcomes: 0, declined: [{ reason: 'result_before_start' }] })
  })

  test('a match that is called off before its start is void at once', async () => {
    const { store } = await ledgerOf(HIDDEN, [
      BEFORE,
      { outcomes: [{ period: 'ft', status: 'void' }] },
    ])
    const [state] = await store.events([sampleEvent().path])
    expect(state?.outcomes).toMatchObject([{ status: 'void' }])
  })
})

const placed = (odds: string, placedAtSeconds?: number) =>
  samplePick({ odds, ...(placedAtSeconds === undefined ? {} : { placedAtSeconds }) })

/** A time so many minutes into the day before. */
const placedAt = (minute: number) => START_SECONDS - 90_000 + minute * 60

/** Ten settled matches with a recorded early price of 2.2 at home. */
async function tenMatches() {
  const fixture = createGraderFixture()
  const markets = Array.from({ length: 10 }, (_none, index) => `soccer/match-${index}`)
  for (const path of markets)
    await fixture.store.ingest(
      sampleBatch([
        sampleObservation({
          event: sampleEvent({ path }),
          snapshots: [early],
          closes: [samplePrices()],
          outcomes: scored(1, 0),
        }),
      ]),
    )
  return { ...fixture, markets: markets.map((path) => `${path}/1x2/ft`) }
}

describe('G16: prices taken', () => {
  test('price_seen says whether such a price stood when the bet was placed', async () => {
    const shorter = samplePrices({
      odds: { home: '1.9', draw: '3.5', away: '3.9' },
      capturedAtSeconds: START_SECONDS - 50_000,
    })
    const { grader } = await ledgerOf(
      HIDDEN,
      [BEFORE, { snapshots: [early] }],
      [START_SECONDS - 50_000, { snapshots: [shorter] }],
      [AFTER, { closes: [samplePrices()] }],
    )
    const seen = async (odds: string, at?: number) =>
      (await grader.grade(placed(odds, at))).price_seen
    expect(await seen('2.2', START_SECONDS - 90_000)).toBe(true)
    expect(await seen('2.22', START_SECONDS - 90_000)).toBe(true)
    expect(await seen('2.23', START_SECONDS - 90_000)).toBe(false)
    // Before the first price, and after it had gone.
    expect(await seen('2', START_SECONDS - 100_001)).toBe(false)
    expect(await seen('2.2', START_SECONDS - 40_000)).toBe(false)
    expect(await seen('1.9', START_SECONDS - 40_000)).toBe(true)
    expect(await seen('2.05', START_SECONDS - 299)).toBe(true)
    // Without a time any will do.
    expect(await seen('2.2')).toBe(true)
    expect(await seen('2.3')).toBe(false)
    expect(await grader.grade(samplePick({ market: 'soccer/none/1x2/ft' }))).toMatchObject({
      outcome: 'UNGRADED',
      price_seen: false,
    })
  })

  test('attack: a tipster makes his prices up; the audit says so in its first line', async () => {
    const { grader, markets } = await tenMatches()
    const auditAt = (made: number) =>
      grader.audit({
        picks: markets.map((market, index) =>
          samplePick({ market, odds: index < made ? '3' : '2.2' }),
        ),
      })
    const bent = await auditAt(6)
    expect(bent.sharp_score).toMatchObject({ price_seen: 4, inputs: { n: 10 } })
    expect(bent.verdict).toMatch(/^The ledger has a record of only 4 of the 10 prices taken/)
    const even = await auditAt(5)
    expect(even.sharp_score?.price_seen).toBe(5)
    expect(even.verdict).not.toMatch(/record of only/)
  })

  test('attack: one pick in many notations, by key and by names, passes for many', async () => {
    const { grader, markets } = await tenMatches()
    const [market = ''] = markets
    const notations = ['1.91', '-110', '10/11', '1.909', '10-11', '52.4¢']
    const picks = [
      ...notations.map((odds) => samplePick({ market, odds })),
      samplePick({ market, selection: '1', odds: '1.91' }),
      samplePick({ market, odds: '1.91', placedAtSeconds: START_SECONDS - 500 }),
    ]
    const once = await grader.audit({ picks: picks.slice(0, 1) })
    const many = await grader.audit({ picks })
    expect(many.coverage).toMatchObject({ picks: 8, duplicates: [1, 2, 3, 4, 5, 6, 7] })
    expect(many.record).toEqual(once.record)
    expect(many.raw_roi).toEqual(once.raw_roi)
    expect(many.sharp_score).toEqual(once.sharp_score)
  })

  test('two bets at one price at different times are two, and still one event', async () => {
    const { grader, markets } = await tenMatches()
    const [market = ''] = markets
    const picks = [9_000, 8_000].map((before) =>
      samplePick({ market, odds: '2.2', placedAtSeconds: START_SECONDS - before }),
    )
    const audit = await grader.audit({ picks })
    expect(audit.coverage.duplicates).toEqual([])
    expect(audit.raw_roi).toMatchObject({ staked: 2, events: 1, ci95: null })
    expect(audit.sharp_score?.inputs).toMatchObject({ n: 2, observations: 1 })
  })

  test('attack: a tipster picks the reference, the method or the basis that flatters him', async () => {
    const { grader, markets, store } = await tenMatches()
    const soft = samplePrices({ book: 'soft', odds: { home: '1.6', draw: '4', away: '6' } })
    for (const market of markets) {
      const event = sampleEvent({ path: market.slice(0, -'/1x2/ft'.length) })
      await store.ingest(sampleBatch([sampleObservation({ event, closes: [soft] })]))
    }
    const auditBy = (options: NonNullable<Parameters<typeof samplePick>[0]>['options']) =>
      grader.audit({
        picks: markets.map((market) =>
          samplePick({ market, odds: '2.0', ...(options === undefined ? {} : { options }) }),
        ),
      })
    const plain = await auditBy({})
    expect(plain.second_score).toBeNull()
    for (const [options, words] of [
      [{ reference: 'soft' }, 'against the close of soft'],
      [{ method: 'multiplicative' as const }, 'margin removed by multiplicative'],
      [{ basis: 'price' as const }, 'closing prices with their margin'],
    ] as const) {
      const audit = await auditBy(options)
      expect(audit.sharp_score).toBeNull()
      expect(audit.second_score?.label).toContain(words)
      expect(audit.verdict).toContain('no Sharp Score')
    }
    expect((await auditBy({ reference: 'soft' })).second_score?.value).toBeGreaterThan(
      plain.sharp_score?.value ?? 100,
    )
    expect((await auditBy({ basis: 'fair' })).sharp_score).toEqual(plain.sharp_score)
  })

  test('attack: a thousand picks on one match pass for a thousand observations', async () => {
    const { grader, markets } = await tenMatches()
    const [market = ''] = markets
    const picks = Array.from({ length: 1_000 }, (_none, minute) =>
      samplePick({ market, odds: '2.2', placedAtSeconds: placedAt(minute) }),
    )
    const [one, many] = [
      await grader.audit({ picks: picks.slice(0, 1) }),
      await grader.audit({ picks }),
    ]
    expect(many.coverage.duplicates).toEqual([])
    expect(many.sharp_score?.value).toBeCloseTo(one.sharp_score?.value ?? 0, 9)
    expect(many.sharp_score?.inputs.observations).toBe(1)
    expect(many.raw_roi.p_value).toBeCloseTo(one.raw_roi.p_value ?? 0, 12)
    expect(many.summary.beat_close.ci95).toEqual(one.summary.beat_close.ci95)
    expect(many.raw_roi.ci95).toBeNull()
  })
})
