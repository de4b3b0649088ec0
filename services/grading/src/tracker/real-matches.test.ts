/** Twenty bets of one tracker on real matches, from the file to the audit. Matches and days are public; the bets are made up. */
import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readFootballData } from '../ingest/football-data.ts'
import { ingestPayload } from '../ingest/ingest-payload.ts'
import { createHttpFixture, type HttpFixture, httpCalls } from '../testing/http.fixture.ts'
import type { PreviewAnswer } from '../wire/coverage.ts'

const REAL_FILE = new URL('../../../../../shared/data/football_fd.csv.gz', import.meta.url)
const skipped = existsSync(REAL_FILE) ? '' : ' (skipped: the file of real odds is not here)'

const TRACKER = `Date,League,Home,Away,Market,Selection,Odds,Stake,Bookmaker,Result
14/08/2023,EPL,Man Utd,Wolverhampton,1X2,Manchester United,"1,30",10,bet365,W
26/08/2023,Premier League,Manchester United,Nottingham Forest,Match Odds,Draw,11/2,10,bet365,L
26/08/2023,EPL,Man United,Nott'm Forest,Over/Under 2.5,Over 2.5,-165,10,Pinnacle,W
15/09/2023,Bundesliga,FC Bayern München,Bayer Leverkusen,Full Time Result,2,5.50,10,bet365,L
15/09/2023,Bundesliga,Bayern,Leverkusen,Asian Handicap,Bayern -1,EVEN,10,Pinnacle,L
14/08/2023,La Liga,Atlético Madrid,Granada,1X2,1,+110,5,bet365,W
24/09/2023,La Liga,Atletico de Madrid,Real Madrid,Asian Handicap,Atletico Madrid 0,2.08,10,Pinnacle,W
03/09/2023,Serie A,Internazionale,ACF Fiorentina,Handicap,Inter -0.75,+102,10,Pinnacle,W
12/08/2023,Ligue 1,PSG,Lorient,1X2,Draw,+400,5,Unibet,W
26/08/2023,Ligue 1,Paris Saint-Germain,RC Lens,Goals Over/Under,Under 2.5,7/5,10,bet365,L
12/08/2023,Primeira Liga,Sporting CP,Vizela,Match Result,Sporting,"1,25",20,Betano,W
27/09/2023,Eredivisie,Ajax Amsterdam,Feyenoord,1X2,Feyenoord,6/5,10,bet365,W
20/08/2023,Süper Lig,İstanbul Başakşehir,Karagümrük,Asian Handicap,Karagumruk +0.5,1.98,10,Pinnacle,W
26/08/2023,Bundesliga,Gladbach,Bayer 04 Leverkusen,1X2,Borussia Mönchengladbach,4.50,5,Tipico,L
26/08/2023,Bundesliga,1. FC Köln,VfL Wolfsburg,1X2,X,5/2,5,Tipico,L
04/08/2023,Championship,Sheff Wed,Southampton,Totals,Over 2.5,-105,10,Sky Bet,W
16/09/2023,EPL,Wolves,Liverpool,Asian Handicap,Wolves +0.75,+105,10,Pinnacle,L
16/09/2023,EPL,Wolves,Liverpool,Over/Under 3.5,Over 3.5,2.05,10,bet365,W
18/09/2023,EPL,Burnley,Nottingham Forest,1X2,Nottingham Forest,2.15,10,bet365,D
18/08/2023,EPL,Nottingham Forest,Sheff Utd,Total Corners,Over 9.5,1.90,10,bet365,W
`

describe.skipIf(skipped !== '')(`20 real picks in a tracker’s file${skipped}`, () => {
  let fixture: HttpFixture
  const { post, send, newPayment } = httpCalls(() => fixture)
  let preview: PreviewAnswer

  beforeAll(async () => {
    fixture = await createHttpFixture()
    fixture.clock.advanceMs(365 * 86_400_000)
    const [header = '', ...rows] = gunzipSync(readFileSync(REAL_FILE)).toString('utf8').split('\n')
    const months = rows.filter((row) => /^2023-0[89]-/.test(row))
    const raw = Buffer.from([header, ...months].join('\n'))
    const { store } = fixture
    await ingestPayload({
      store,
      raw,
      receivedAtSeconds: 1_700_000_000,
      read: () => readFootballData(raw),
    })
    preview = (await post('/api/coverage', { csv: TRACKER })).json()
  })
  afterAll(() => fixture.app.close())

  test('every pick whose line is recorded is gradable, at least 16; all others are named before payment', () => {
    expect(preview).toMatchObject({
      picks: 20,
      gradable: 16,
      unconfirmed: 1,
      ungraded: 2,
      unreadable: 1,
      not_looked_at: 0,
    })
    const others = preview.rows.filter(({ status }) => status !== 'gradable')
    expect(
      others.map(({ line, status, reason, issues }) => [
        line,
        status,
        reason?.code ?? issues?.[0]?.field,
        reason?.nearest?.[0],
      ]),
    ).toEqual([
      // Atlético closed far below +110 at home.
      [7, 'unconfirmed', undefined, undefined],
      [19, 'ungraded', 'line_not_recorded', '2.5'],
      [
        20,
        'ungraded',
        'ambiguous_market',
        'soccer/england-1.20230918.nott-m-forest-burnley/1x2/ft (2023-09-18)',
      ],
      [21, 'unreadable', 'body.csv.line_21.market', undefined],
    ])
  })

  test('the preview tells no price and no grade', () => {
    const text = JSON.stringify(
      preview.rows.map(({ send: _send, written: _written, cause, ...row }) => ({
        ...row,
        cause: cause?.kind,
      })),
    )
    expect(text).not.toMatch(/odds|clv|fair|grade"|close"/)
  })

  test('the audit of what it names as gradable, and of the price that was confirmed, grades every pick', async () => {
    const picks = preview.rows.flatMap(({ send: pick, status }) =>
      status === 'gradable' ? [pick] : [],
    )
    const [answer7] = preview.rows[5]?.cause?.options ?? []
    picks.push(answer7?.send)
    const answer = await send('audit', { payload: { picks }, headers: newPayment('audit') })
    expect(answer.statusCode).toBe(200)
    expect(answer.json().coverage).toMatchObject({ picks: 17, graded: 17, ungraded: 0 })
  })

  test('the file itself is an audit once its unreadable line is out; with it, it is refused unpaid', async () => {
    const headers = { 'content-type': 'text/csv' }
    const before = fixture.settlements
    const refused = await send('audit', {
      payload: TRACKER,
      headers: { ...headers, ...newPayment('audit') },
    })
    expect([refused.statusCode, refused.json().issues[0].field]).toEqual([
      400,
      'body.csv.line_21.market',
    ])
    expect(fixture.settlements).toBe(before)
    const payload = TRACKER.replace(/.*Corners.*\n/, '')
    const paid = await send('audit', { payload, headers: { ...headers, ...newPayment('audit') } })
    expect(paid.json().coverage).toMatchObject({
      picks: 18,
      graded: 16,
      ungraded: 2,
      unconfirmed: [5],
    })
  })
})
