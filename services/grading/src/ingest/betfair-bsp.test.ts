import { isoText } from '@tallystick/service-kit/clock'
import { describe, expect, test } from 'vitest'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { samplePick } from '../testing/samples.fixture.ts'
import { isBetfairBsp, readBetfairBsp } from './betfair-bsp.ts'
import { ingestPayload, readPayload } from './ingest-payload.ts'

const HEADER =
  'event_id,menu_hint,event_name,event_dt,selection_id,selection_name,win_lose,bsp,ppwap,morningwap,ppmax,ppmin,ipmax,ipmin,morningtradedvol,pptradedvol,iptradedvol'

/** Made-up races in the files' form: one winner and a withdrawal, a dead heat, a place market, a broken time. */
const FILE = [
  HEADER,
  '1,Testford 31st May,1m2f Hcap,31-05-2026 16:55,11,Sharp Test (IRE),1,2.5,,,,,,,,,',
  '1,Testford 31st May,1m2f Hcap,31-05-2026 16:55,12,2. Plain Bob,0,3.1,,,,,,,,,',
  '1,Testford 31st May,1m2f Hcap,31-05-2026 16:55,13,Long Shot,0,3.9,,,,,,,,,',
  '1,Testford 31st May,1m2f Hcap,31-05-2026 16:55,14,Stayed Home,0,,,,,,,,,,',
  '2,GB / Testford 31st May,6f Mdn,31-05-2026 17:30,21,One,1,2,,,,,,,,,',
  '2,GB / Testford 31st May,6f Mdn,31-05-2026 17:30,22,Other,1,3,,,,,,,,,',
  '2,GB / Testford 31st May,6f Mdn,31-05-2026 17:30,23,Third,0,5.5,,,,,,,,,',
  '3,Testford 31st May,To Be Placed,31-05-2026 17:30,21,One,1,1.2,,,,,,,,,',
  '3,Testford 31st May,To Be Placed,31-05-2026 17:30,22,Other,1,1.5,,,,,,,,,',
  '3,Testford 31st May,To Be Placed,31-05-2026 17:30,23,Third,0,2,,,,,,,,,',
  '4,Testford 31st May,5f,sometime,41,A,1,2,,,,,,,,,',
  '5,Testford 31st May,To Be Placed,31-05-2026 16:55,11,Sharp Test,1,1.6,,,,,,,,,',
  '5,Testford 31st May,To Be Placed,31-05-2026 16:55,12,Plain Bob,0,1.14,,,,,,,,,',
].join('\n')

const raw = Buffer.from(FILE)
/** After the races: a result before the start is refused. */
const LATER_SECONDS = 1_780_272_000
const key = 'horse_racing/testford.20260531.1655/outright/ft'

async function openGrader() {
  const fixture = createGraderFixture()
  const reading = readPayload(raw, { receivedAtSeconds: LATER_SECONDS, stage: 'provisional' })
  expect(reading).toMatchObject({ kind: 'payload' })
  if (reading.kind === 'payload')
    await ingestPayload({
      store: fixture.store,
      raw,
      receivedAtSeconds: LATER_SECONDS,
      read: reading.read,
    })
  return fixture.grader
}

describe('G8: Betfair’s starting prices', () => {
  test('a win market: each runner’s close, the start by London’s clock, a withdrawn runner without a price', () => {
    const [read] = [...readBetfairBsp(raw)]
    const [race] = read?.observations ?? []
    expect(race?.event.path).toBe('horse_racing/testford.20260531.1655')
    expect(isoText(race?.event.startAtSeconds ?? 0)).toBe('2026-05-31T15:55:00Z')
    expect(race?.closes).toEqual([
      {
        market: 'outright/ft',
        book: 'betfair_sp',
        odds: { 'sharp-test-ire': '2.5', 'plain-bob': '3.1', 'long-shot': '3.9' },
        isWhole: true,
      },
    ])
    expect(read?.missingPrices).toBe(1)
    expect(read?.refusals.map(({ place, reason }) => `${place} ${reason}`)).toEqual([
      'line 12 malformed_row',
      'line 13 unknown_market',
    ])
  })

  test('a grade against the whole field, and the winner', async () => {
    const grader = await openGrader()
    const card = await grader.grade(
      samplePick({ market: key, selection: 'sharp-test-ire', odds: '2.75' }),
    )
    expect(card).toMatchObject({
      outcome: 'GRADED',
      basis: 'fair',
      close: { source: { book: 'betfair_sp' } },
      scoreboard: { status: 'won', return_units: 1.75 },
    })
    expect(
      await grader.grade(samplePick({ market: key, selection: 'stayed-home', odds: '9' })),
    ).toMatchObject({ reason: { code: 'selection_not_in_close' }, scoreboard: { status: 'void' } })
  })

  test('a dead heat pays half of the stake in full', async () => {
    const grader = await openGrader()
    const market = 'horse_racing/testford.20260531.1730/outright/ft'
    expect(await grader.grade(samplePick({ market, selection: 'one', odds: '4' }))).toMatchObject({
      scoreboard: { status: 'dead_heat', return_units: 1 },
    })
    expect(await grader.grade(samplePick({ market, selection: 'third', odds: '4' }))).toMatchObject(
      {
        scoreboard: { status: 'lost' },
      },
    )
  })

  test('a place market: as many places as its prices sum to, beside the winners of the same race', async () => {
    const grader = await openGrader()
    const market = 'horse_racing/testford.20260531.1730/place/ft/2'
    const card = await grader.grade(samplePick({ market, selection: 'other', odds: '1.6' }))
    expect(card).toMatchObject({ outcome: 'GRADED', basis: 'fair', scoreboard: { status: 'won' } })
    const chances = await Promise.all(
      ['one', 'other', 'third'].map(async (selection) => {
        const each = await grader.grade(samplePick({ market, selection, odds: '2' }))
        return each.outcome === 'GRADED' ? (each.close.fair_prob ?? 0) : 0
      }),
    )
    expect(chances.reduce((sum, each) => sum + each, 0)).toBeCloseTo(2, 12)
    const win = samplePick({
      market: 'horse_racing/testford.20260531.1730/outright/ft',
      selection: 'third',
      odds: '4',
    })
    expect(await grader.grade(win)).toMatchObject({ scoreboard: { status: 'lost' } })
  })

  test('a bet taken in another field is not graded', async () => {
    const grader = await openGrader()
    const pick = samplePick({ market: key, selection: 'sharp-test-ire', odds: '2.75' })
    expect(await grader.grade({ ...pick, fieldSize: 4 })).toMatchObject({
      reason: { code: 'field_changed' },
    })
    expect(await grader.grade({ ...pick, fieldSize: 3 })).toMatchObject({ outcome: 'GRADED' })
    // Where the reduction is stated, the price is graded as it pays in the smaller field.
    const reduced = { ...pick, fieldSize: 4, deductions: { ofProfit: 0.2, ofPrice: 0 } }
    expect(await grader.grade(reduced)).toMatchObject({
      outcome: 'GRADED',
      taken: { odds: 2.75, pays: expect.closeTo(2.4, 12) },
      scoreboard: { return_units: expect.closeTo(1.4, 12) },
    })
  })

  test('other files are none of these', () => {
    for (const text of ['', 'a,b', '[]', 'Date,HomeTeam,AwayTeam,FTHG,FTAG'])
      expect(isBetfairBsp(Buffer.from(text))).toBe(false)
  })
})
