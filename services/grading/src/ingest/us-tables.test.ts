import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { settleSelection } from '../domain/closes/settle-selection.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { samplePick } from '../testing/samples.fixture.ts'
import { wholeReading } from '../testing/whole-reading.fixture.ts'
import { ingestPayload, readPayload } from './ingest-payload.ts'
import { isUsTable, readUsTable } from './us-tables.ts'

const MLB_HEADER =
  'season,date,game,away_abbrev,home_abbrev,away_name,home_name,away_score,home_score,away_open_ml,home_open_ml,away_close_ml,home_close_ml,away_run_line,home_run_line,away_run_line_odds,home_run_line_odds,open_ou_line,open_ou_odds,close_ou_line,close_ou_odds'
const NFL_HEADER =
  'game_id,season,gameday,away,home,away_score,home_score,away_ml,home_ml,spread_line,away_spread_odds,home_spread_odds,total_line,under_odds,over_odds'

/** After the games: a result before the start is refused. */
const LATER_SECONDS = 1_780_272_000

/** Made-up games in the tables' form. */
const MLB = [
  MLB_HEADER,
  '2014,16151.0,1,LOS,ARI,Los Angeles Dodgers,Arizona Diamondbacks,5.0,3.0,-150.0,130.0,-160.0,140.0,-1.5,1.5,105.0,-125.0,7.5,-110.0,8.0,100.0',
  '2014,16151.0,2,LOS,ARI,Los Angeles Dodgers,Arizona Diamondbacks,1.0,2.0,-150.0,130.0,-160.0,140.0,-1.5,-1.5,105.0,-125.0,7.5,-110.0,7.5,-110.0',
  '2019,18026.0,3,TEX,HOW,Texas Rangers,,0.0,3.0,215.0,-260.0,230.0,-260.0,1.5,-1.5,115.0,-135.0,8.0,-110.0,8.5,-110.0',
].join('\n')
const NFL = [
  NFL_HEADER,
  '2011_06_SF_DET,2011,2011-10-16,SF,DET,23.0,23.0,200.0,-220.0,5.5,-109.0,101.0,46.0,100.0,-110.0',
  '2000_01_IND_KC,2000,2000-09-03,IND,KC,27.0,14.0,,,-3.5,,,44.0,,',
  '2024_18_HOU_TEN,2024,2025-01-05,HOU,TEN,,,-155.0,130.0,-3.0,-110.0,-110.0,45.0,-110.0,-110.0',
].join('\n')

const read = (text: string) => wholeReading(readUsTable(Buffer.from(text)))

describe('G8: MLB', () => {
  test('opening and closing moneyline, run line and total; two games of a day; a row without a team is refused', () => {
    const { observations, refusals } = read(MLB)
    expect(observations.map(({ event }) => event.path)).toEqual([
      'baseball/mlb.20140322.arizona-diamondbacks-los-angeles-dodgers',
      'baseball/mlb.20140322.arizona-diamondbacks-los-angeles-dodgers.2',
    ])
    expect(refusals).toEqual([
      {
        reason: 'malformed_row',
        place: 'line 4',
        detail: 'a day and two known teams were expected',
      },
    ])
    const [first, second] = observations
    expect(first?.snapshots).toEqual([
      {
        market: 'ml/ft',
        book: 'mlb_open_close',
        odds: { home: '2.3', away: '1.6666666666666667' },
      },
    ])
    expect(first?.closes).toEqual([
      { market: 'ml/ft', book: 'mlb_open_close', odds: { home: '2.4', away: '1.625' } },
      { market: 'spread/ft/1.5', book: 'mlb_open_close', odds: { home: '1.8', away: '2.05' } },
      { market: 'total/ft/8', book: 'mlb_open_close', odds: { under: '2' } },
    ])
    // The sides disagree about the run line: it is left out.
    expect(second?.closes.map(({ market }) => market)).toEqual(['ml/ft', 'total/ft/7.5'])
  })

  test('a push: a total that is hit exactly returns the stake; a run line cannot be', async () => {
    const fixture = createGraderFixture()
    const raw = Buffer.from(MLB)
    const reading = readPayload(raw, { receivedAtSeconds: LATER_SECONDS, stage: 'provisional' })
    expect(reading).toMatchObject({ kind: 'payload' })
    if (reading.kind === 'payload')
      await ingestPayload({
        store: fixture.store,
        raw,
        receivedAtSeconds: LATER_SECONDS,
        read: reading.read,
      })
    const key = 'baseball/mlb.20140322.arizona-diamondbacks-los-angeles-dodgers'
    const grade = (market: string, selection: string) =>
      fixture.grader.grade(samplePick({ market: `${key}/${market}`, selection, odds: '+105' }))
    expect(await grade('total/ft/8', 'under')).toMatchObject({
      outcome: 'GRADED',
      basis: 'price',
      scoreboard: { status: 'push', return_units: 0 },
    })
    expect(await grade('total/ft/8', 'over')).toMatchObject({
      reason: { code: 'selection_not_in_close' },
    })
    expect(await grade('spread/ft/1.5', 'home')).toMatchObject({ scoreboard: { status: 'lost' } })
    expect(await grade('ml/ft', 'away')).toMatchObject({
      basis: 'fair',
      scoreboard: { status: 'won' },
    })
  })
})

describe('G8: NFL', () => {
  test('closing moneyline, spread from the home team’s side, and total; no close where a price is blank', () => {
    const { observations, missingPrices } = read(NFL)
    const [first, old, coming] = observations
    expect(first?.event).toMatchObject({
      path: 'american_football/nfl.20111016.detroit-lions-san-francisco-49ers',
      home: 'Detroit Lions',
      startPrecision: 'day',
    })
    expect(first?.closes.map(({ market }) => market)).toEqual([
      'ml/ft',
      'spread/ft/-5.5',
      'total/ft/46',
    ])
    expect(first?.closes[1]?.odds).toEqual({ home: '2.01', away: '1.9174311926605505' })
    expect([old?.closes, missingPrices]).toEqual([[], 6])
    expect(coming?.outcomes).toEqual([])
  })

  test('a tie: the moneyline is returned; a total hit exactly is a push', () => {
    const [first] = read(NFL).observations
    const outcomes = (first?.outcomes ?? []).map((outcome) => ({
      ...outcome,
      status: 'final' as const,
      results: undefined,
      settledAtSeconds: 0,
      record: { seq: 0, hash: '' },
    }))
    const settle = (type: 'ml' | 'spread' | 'total', selection: string, line?: number) =>
      settleSelection({ outcomes }, { type, period: 'ft', line }, selection)?.result
    expect(settle('ml', 'home')).toBe('push')
    expect(settle('total', 'over', 46)).toBe('push')
    expect(settle('spread', 'home', -5.5)).toBe('lost')
    expect(settle('spread', 'away', -5.5)).toBe('won')
  })
})

test('other files are none of these tables', () => {
  for (const text of ['', 'a,b,c', 'Date,HomeTeam,AwayTeam,FTHG,FTAG', '[]'])
    expect(isUsTable(Buffer.from(text))).toBe(false)
})

const real = (name: string) => new URL(`../../../../../shared/data/${name}`, import.meta.url)
const skipped = existsSync(real('nfl_closing_lines.csv.gz'))
  ? ''
  : ' (skipped: the real tables are not here)'

describe.skipIf(skipped !== '')(`the real tables${skipped}`, () => {
  test.each([
    ['mlb_open_close_2014_2019.csv.gz', 14_783, 1],
    ['nfl_closing_lines.csv.gz', 6_719, 0],
  ])('%s: %i games, %i row refused', (name, games, malformed) => {
    const { observations, refusals } = read(gunzipSync(readFileSync(real(name))).toString('utf8'))
    expect(observations).toHaveLength(games)
    expect(refusals.filter(({ reason }) => reason === 'malformed_row')).toHaveLength(malformed)
    expect(new Set(observations.map(({ event }) => event.path)).size).toBe(games)
  })
})
