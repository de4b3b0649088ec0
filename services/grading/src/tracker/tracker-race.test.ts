/** Races in trackers' files, up to the free look. The course, its runners and all prices are made up. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHttpFixture, type HttpFixture, httpCalls } from '../testing/http.fixture.ts'
import type { PreviewAnswer } from '../wire/coverage.ts'

/** Two races of a day in the exchange's own form; the third runner of the first was withdrawn. */
const STARTING_PRICES = `EVENT_ID,MENU_HINT,EVENT_NAME,EVENT_DT,SELECTION_ID,SELECTION_NAME,WIN_LOSE,BSP
1,GB / Testford 31st May,1m Hcap,31-05-2026 16:55,1,1. Grey Heron,1,2.2
1,GB / Testford 31st May,1m Hcap,31-05-2026 16:55,2,2. Old Mill (IRE),0,3.4
1,GB / Testford 31st May,1m Hcap,31-05-2026 16:55,3,3. Blue Door,0,4.3
2,GB / Testford 31st May,6f Mdn,31-05-2026 17:30,4,1. Grey Heron,0,2
2,GB / Testford 31st May,6f Mdn,31-05-2026 17:30,5,2. Last Word,1,2.1
`

let fixture: HttpFixture
const { post } = httpCalls(() => fixture)

beforeAll(async () => {
  const { ingestPayload, readPayload } = await import('../ingest/ingest-payload.ts')
  fixture = await createHttpFixture()
  const receivedAtSeconds = Date.parse('2026-06-02T00:00:00Z') / 1_000
  fixture.clock.advanceMs(receivedAtSeconds * 1_000 - fixture.clock.unixMs())
  const raw = Buffer.from(STARTING_PRICES)
  const payload = readPayload(raw, { receivedAtSeconds, stage: 'final' })
  if (payload.kind !== 'payload') throw new Error(payload.problem)
  const { store } = fixture
  await ingestPayload({ store, raw, receivedAtSeconds, read: payload.read })
})
afterAll(() => fixture.app.close())

const looked = async (csv: string): Promise<readonly string[]> => {
  const { rows }: PreviewAnswer = (await post('/api/coverage', { csv })).json()
  return rows.map(({ status, market, selection, cause }) =>
    status === 'gradable' ? `${market} ${selection}` : (cause?.code ?? status),
  )
}

const FIRST = 'horse_racing/testford.20260531.1655/outright/ft'

test('G19: the exchange’s rows of a race are graded on its winner; places and what else is bet are named', async () => {
  const read =
    await looked(`Market,Selection,Bid type,Avg. odds matched,Stake (£),Start time,Settled date
Horse Racing / Testford 31st May : 1m Hcap,Grey Heron,Back,2.3,10.00,31-May-26 16:55,31-May-26 17:00
Horse Racing / Testford 31st May : 1m Hcap,2. Old Mill (IRE),Back,3.5,10.00,31-May-26 16:55,31-May-26 17:00
Horse Racing / Testford 31st May : 6f Mdn,Last Word,Back,2.12,10.00,31-May-26 17:30,31-May-26 17:35
Horse Racing / Testford 31st May : To Be Placed,Grey Heron,Back,1.3,10.00,31-May-26 16:55,31-May-26 17:00
Horse Racing / Testford 31st May : 2 TBP,Grey Heron,Back,1.31,10.00,31-May-26 16:55,31-May-26 17:00
Horse Racing / Testford 31st May : 1m Hcap,Grey Heron,Lay,2.3,10.00,31-May-26 16:55,31-May-26 17:00
Horse Racing / Testford 31st May : 1m Hcap,Grey Heron,Back,2.31,10.00,31-May-26 16:50,31-May-26 17:00
Horse Racing / Testford 31st May : 1m Hcap,No Runner,Back,2.3,10.00,31-May-26 16:55,31-May-26 17:00`)
  expect(read).toEqual([
    `${FIRST} grey-heron`,
    `${FIRST} old-mill-ire`,
    'horse_racing/testford.20260531.1730/outright/ft last-word',
    'other_market',
    'other_market',
    'lay',
    'no_close_recorded',
    'selection_not_in_close',
  ])
})

test.for([
  'Winning SP',
  'Favourite v Field',
  'Jockey Special',
  'Win Insurance',
  'Match Bets',
  'Without Grey Heron',
  'Place Market',
  'Betting w/o Fav',
  'Distances',
  'Double',
  'Each Way',
  'Top 2 Finish',
  'Reverse FC',
])('G19: a race’s market %s is no winner’s', async (market) => {
  const [read] =
    await looked(`Market,Selection,Bid type,Avg. odds matched,Stake (£),Start time,Settled date
Horse Racing / Testford 31st May : ${market},Grey Heron,Back,2.3,10.00,31-May-26 16:55,31-May-26 17:00`)
  expect(read).not.toContain('outright')
})

test.for(['1m Hcap', '7f Mdn Stks', '2m4f Nov Hrd', '5f', 'R3 1200m 3yo', '1m2f Grp 1', 'Win'])(
  'G19: %s is the winner’s market, also with the clock beside the course',
  async (market) => {
    expect(
      await looked(`Market,Selection,Bid type,Avg. odds matched,Stake (£),Start time,Settled date
Horse Racing / Testford 31st May : ${market},Grey Heron,Back,2.3,10.00,31-May-26 16:55,31-May-26 17:00
Horse Racing / Testford 16:55 : ${market},Grey Heron,Back,2.31,11.00,31-May-26,31-May-26 17:00`),
    ).toEqual([`${FIRST} grey-heron`, `${FIRST} grey-heron`])
  },
)

test('G19: a race in other files has its course and time in one cell, and its day', async () => {
  const read = await looked(`Date,Sport,Event,Market,Selection,Odds
2026-05-31,Horse Racing,16:55 Testford,Win,Grey Heron,2.3
31/05/2026,Horse Racing,Testford 16:55,,Blue Door,9/2
2026-05-31,Horse Racing,Testford,Win,Grey Heron,2.32
2026-05-31,Horse Racing,16:55 Testford,Each Way,Grey Heron,2.33
2026-05-31,Horse Racing,16:55 Testford,Forecast,Grey Heron,2.34`)
  expect(read).toEqual([
    `${FIRST} grey-heron`,
    `${FIRST} blue-door`,
    'not_read',
    'each_way',
    'other_market',
  ])
})
