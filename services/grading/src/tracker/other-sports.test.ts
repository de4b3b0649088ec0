/** NBA, NHL and tennis from The Odds API to a row of a tracker's file, by nicknames and surnames. Matches are made up. */
import { describe, expect, test } from 'vitest'
import { DEFAULT_GRADE_OPTIONS } from '../domain/markets/pick-request.ts'
import { normaliseOddsApi } from '../ingest/the-odds-api.ts'
import { readPicks } from '../routes/read-picks.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'

const START = '2026-11-20T00:30:00Z'

type Outcome = { readonly name: string; readonly price: number; readonly point?: number }

/** A match in The Odds API's form. */
const match = (
  sport: readonly [key: string, title: string],
  teams: readonly [home: string, away: string],
  markets: Readonly<Record<string, readonly Outcome[]>>,
) => ({
  id: teams.join(),
  sport_key: sport[0],
  sport_title: sport[1],
  commence_time: START,
  home_team: teams[0],
  away_team: teams[1],
  bookmakers: [
    {
      key: 'pinnacle',
      last_update: '2026-11-20T00:28:00Z',
      markets: Object.entries(markets).map(([key, outcomes]) => ({ key, outcomes })),
    },
  ],
})

/** Main markets with a line of the home side and a total. */
const mainMarkets = (home: string, away: string, [line, total]: readonly [number, number]) => ({
  h2h: [
    { name: home, price: 1.6 },
    { name: away, price: 2.45 },
  ],
  spreads: [
    { name: home, price: 1.9, point: line },
    { name: away, price: 1.95, point: -line },
  ],
  totals: [
    { name: 'Over', price: 1.9, point: total },
    { name: 'Under', price: 1.95, point: total },
  ],
})

const NBA = ['basketball_nba', 'NBA'] as const
const NHL = ['icehockey_nhl', 'NHL'] as const
const ATP = ['tennis_atp_paris_masters', 'ATP Paris Masters'] as const

const playing = (sport: readonly [string, string], home: string, away: string) =>
  match(sport, [home, away], mainMarkets(home, away, [-3.5, 22.5]))

const threeWay = [
  { name: 'Utah Mammoth', price: 2.4 },
  { name: 'Draw', price: 4.2 },
  { name: 'New York Rangers', price: 2.6 },
]

const MATCHES = [
  playing(NBA, 'Boston Celtics', 'Los Angeles Clippers'),
  match(NHL, ['Utah Mammoth', 'New York Rangers'], {
    ...mainMarkets('Utah Mammoth', 'New York Rangers', [-1.5, 6.5]),
    h2h_3_way: threeWay,
  }),
  playing(ATP, 'Jannik Sinner', 'Alex de Minaur'),
  playing(ATP, 'Alejandro Davidovich Fokina', 'Felix Auger-Aliassime'),
  playing(ATP, 'Francisco Cerundolo', 'Casper Ruud'),
  playing(ATP, 'Taylor Fritz', 'Juan Manuel Cerundolo'),
]

async function ledger(matches: readonly object[] = MATCHES) {
  const fixture = createGraderFixture()
  const receivedAtSeconds = Date.parse('2026-11-20T06:00:00Z') / 1_000
  const raw = Buffer.from(JSON.stringify(matches))
  const normalised = normaliseOddsApi(raw, { receivedAtSeconds, stage: 'final' })
  const rawSha256 = '0'.repeat(64)
  await fixture.store.ingest({ ...normalised, receivedAtSeconds, rawSha256 })
  return { ...fixture, refusals: normalised.refusals }
}

/** What becomes of rows `sport, event, market, selection`: a market and a selection, or why not. */
async function look(grader: Awaited<ReturnType<typeof ledger>>['grader'], rows: readonly string[]) {
  const lines = rows.map((row) => `2026-11-20,${row},1.9`)
  const csv = ['date,sport,event,market,selection,odds', ...lines].join('\n')
  const read = readPicks({ csv }, DEFAULT_GRADE_OPTIONS)
  if (read.kind === 'unreadable') throw new Error(read.issues[0]?.expected)
  const answers: string[] = []
  for (const row of read.rows) {
    if (row.kind === 'faulty') {
      answers.push(row.issues[0]?.field.split('.').at(-1) ?? '')
      continue
    }
    const card = (await grader.preview([row.pick]))[0]?.card
    const { market = '', selection } = card?.pick ?? {}
    answers.push(
      card?.outcome === 'UNGRADED'
        ? card.reason.code
        : `${market.split('/').slice(1).join('/')} ${selection}`,
    )
  }
  return answers
}

const NBA_ID = 'nba.20261120.boston-celtics-los-angeles-clippers'
const NHL_ID = 'nhl.20261120.utah-mammoth-new-york-rangers'
const SINNER_ID = 'atp-paris-masters.20261120.jannik-sinner-alex-de-minaur'

describe('G11: nicknames, abbreviations and surnames find the recorded match', async () => {
  const { grader, refusals } = await ledger()

  test('every market of the payload is read', () => expect(refusals).toEqual([]))

  test.each([
    ['NBA,Clippers @ Celtics,,Celtics -3.5', `${NBA_ID}/spread/ft/-3.5 home`],
    ['NBA,LAC @ BOS,Moneyline,LA Clippers', `${NBA_ID}/ml/ft away`],
    ['NBA,LA Clippers at Boston,Total,Under 22.5', `${NBA_ID}/total/ft/22.5 under`],
    ['NHL,Rangers @ Utah,Moneyline,NYR', `${NHL_ID}/ml/ft away`],
    ['NHL,NY Rangers @ Utah Hockey Club,Puck Line,Mammoth -1.5', `${NHL_ID}/spread/ft/-1.5 home`],
    ['NHL,New York Rangers @ Utah,Total,Over 6.5', `${NHL_ID}/total/ft/6.5 over`],
    ['Tennis,Sinner v De Minaur,,Sinner', `${SINNER_ID}/ml/ft home`],
    ['ATP,J. Sinner v A. de Minaur,Moneyline,De Minaur', `${SINNER_ID}/ml/ft away`],
    ['Tennis,Sinner J. v de Minaur A.,,Sinner J. -3.5', `${SINNER_ID}/spread/ft/-3.5 home`],
    ['ATP Paris Masters,Jannik Sinner v Alex de Minaur,,Jannik Sinner', `${SINNER_ID}/ml/ft home`],
    [
      'Tennis,Davidovich Fokina v Auger Aliassime,,Auger-Aliassime',
      'atp-paris-masters.20261120.alejandro-davidovich-fokina-felix-auger-aliassime/ml/ft away',
    ],
    [
      'Tennis,F. Cerundolo v Ruud,,F. Cerundolo',
      'atp-paris-masters.20261120.francisco-cerundolo-casper-ruud/ml/ft home',
    ],
  ])('%s', async (row, expected) => {
    expect(await look(grader, [row])).toEqual([expected])
  })

  test.each([
    ['a surname that two players have', 'Tennis,Cerundolo v Ruud,,Ruud', 'ambiguous_market'],
    ['another player of that surname', 'Tennis,J. Cerundolo v Ruud,,Ruud', 'ambiguous_market'],
    ['a given name alone', 'Tennis,Jannik v De Minaur,,De Minaur', 'ambiguous_market'],
    ['the recorded order reversed', 'Tennis,De Minaur v Sinner,,Sinner', 'ambiguous_market'],
    ['another initial', 'Tennis,M. Sinner v De Minaur,,De Minaur', 'ambiguous_market'],
    [
      'a city that two teams of the match’s day share',
      'NBA,Los Angeles @ Miami,,Miami',
      'ambiguous_market',
    ],
  ])('%s is never taken for a match', async (_name, row, expected) => {
    expect(await look(grader, [row])).toEqual([expected])
  })
})

test('two brothers in one match: their surname names neither side', async () => {
  const { grader } = await ledger([playing(ATP, 'Francisco Cerundolo', 'Juan Manuel Cerundolo')])
  expect(await look(grader, ['Tennis,Cerundolo v Cerundolo,,Cerundolo'])).toEqual(['selection'])
})

describe('what a score settles is what it counts', async () => {
  const { grader, store } = await ledger()

  /** A pick's result after an upload of a final score, and of results beside it. */
  async function result(market: string, outcome: object) {
    const [sport = '', id = ''] = market.split('/')
    const path = `${sport}/${id}`
    const [state] = await store.events([path])
    if (state === undefined) throw new Error(`${path} is not recorded`)
    const feed = {
      feed: `manual-${market.replaceAll(/\W/g, '')}`,
      isRedistributable: true,
      isSynthetic: false,
    }
    const observation = {
      event: state.info,
      rule: 'source_declared' as const,
      snapshots: [],
      closes: [],
      closeStatus: 'final' as const,
      outcomes: [{ period: 'ft', status: 'final' as const, ...outcome }],
    }
    await store.ingest({
      feed,
      observations: [observation],
      receivedAtSeconds: state.info.startAtSeconds + 86_400,
      rawSha256: '1'.repeat(64),
    })
    const selection = market.includes('/total/') ? 'over' : 'home'
    const read = readPicks({ picks: [{ market, selection, odds: '1.9' }] }, DEFAULT_GRADE_OPTIONS)
    if (read.kind === 'unreadable') throw new Error(read.issues[0]?.expected)
    const [row] = read.rows
    if (row?.kind !== 'asked') throw new Error('the pick is not read')
    const card = (await grader.preview([row.pick]))[0]?.card
    return [card?.outcome, card?.scoreboard?.status]
  }

  test('NHL: the final score settles the moneyline, and never the three-way bet, which is on regulation', async () => {
    const score = { home: 4, away: 3 }
    const key = `ice_hockey/${NHL_ID}`
    expect(await result(`${key}/ml/ft`, { score })).toEqual(['GRADED', 'won'])
    expect(await result(`${key}/1x2/reg`, { score })).toEqual(['GRADED', 'pending'])
    // A three-way bet on "full time" is the same bet.
    expect(await result(`${key}/1x2/ft`, { score })).toEqual(['GRADED', 'pending'])
  })

  test('tennis: a score counts sets, and settles the winner of a whole match alone', async () => {
    const key = `tennis/${SINNER_ID}`
    expect(await result(`${key}/ml/ft`, { score: { home: 2, away: 1 } })).toEqual(['GRADED', 'won'])
    expect(await result(`${key}/total/ft/22.5`, { score: { home: 2, away: 1 } })).toEqual([
      'GRADED',
      'pending',
    ])
  })

  test('tennis: after a retirement, and for games, only what is recorded as the result counts', async () => {
    const key = 'tennis/atp-paris-masters.20261120.francisco-cerundolo-casper-ruud'
    const score = { home: 1, away: 0 }
    expect(await result(`${key}/ml/ft`, { score })).toEqual(['GRADED', 'pending'])
    const results = {
      'ml/ft': { home: { result: 'void' }, away: { result: 'void' } },
      'total/ft/22.5': { over: { result: 'lost' } },
    }
    expect(await result(`${key}/ml/ft`, { score, results })).toEqual(['GRADED', 'void'])
    expect(await result(`${key}/total/ft/22.5`, { score, results })).toEqual(['GRADED', 'lost'])
  })
})
