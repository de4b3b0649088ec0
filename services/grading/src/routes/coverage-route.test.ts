import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { askedRange } from '../domain/closes/far-price.ts'
import { createLongWork } from '../long-work/do-long-work.ts'
import { createHttpFixture, type HttpFixture, httpCalls } from '../testing/http.fixture.ts'
import type { CoverageRequest, PreviewAnswer, PreviewRow } from '../wire/coverage.ts'
import { auditExample } from '../wire/examples.ts'
import { createCoverageLook } from './coverage-route.ts'

let fixture: HttpFixture
const { newPayment, post, upload } = httpCalls(() => fixture)

beforeAll(async () => {
  fixture = await createHttpFixture()
  fixture.clock.advanceMs(2 * 86_400_000)
  await upload()
})
afterAll(() => fixture.app.close())

const preview = async (payload: object, headers: Record<string, string> = {}) =>
  (await post('/api/coverage', payload, headers)).json()

/** A look whose every pick costs some CPU time. */
const lookAt = async (body: CoverageRequest, msAPick: number): Promise<PreviewAnswer> => {
  let spentMs = 0
  const { clock, grader, store } = fixture
  const metered: typeof grader.preview = async (picks) => {
    spentMs += picks.length * msAPick
    // Waiting for a database costs none.
    await new Promise((resolve) => setImmediate(resolve))
    return grader.preview(picks)
  }
  const cpuMs = () => spentMs
  const longWork = createLongWork({ slates: { ...grader, preview: metered }, store, cpuMs })
  const coverage = createCoverageLook({ clock, cpuMs, longWork, store })
  const look = await coverage.look(body, { address: '192.0.2.9', bytes: 0 })
  if (look.kind !== 'answered') throw new Error(look.kind)
  return JSON.parse(look.json)
}

describe('a look at picks before any payment', () => {
  test('each of the worked case is gradable or named, without a price or a grade', async () => {
    const answer = await preview({ picks: auditExample.picks })
    expect(answer).toMatchObject({ picks: 5, gradable: 4, ungraded: 1, unreadable: 0 })
    expect(answer.rows[3]).toEqual({
      pick: 3,
      written: 'epl.20260601.ars-che total · over · -105',
      status: 'gradable',
      cause: { kind: 'graded', code: 'graded' },
      market: 'soccer/epl.20260601.ars-che/total/ft/2.5',
      selection: 'over',
      event: { home: 'Arsenal', away: 'Chelsea', starts_at: '2026-06-01T18:00:00Z' },
      send: {
        market: 'soccer/epl.20260601.ars-che/total/ft/2.5',
        selection: 'over',
        odds: '-105',
        ref: 'tip 4',
      },
    })
    expect(answer.rows[4]).toMatchObject({
      pick: 4,
      status: 'ungraded',
      cause: { kind: 'not_gradable', code: 'line_not_recorded' },
      reason: { code: 'line_not_recorded', nearest: ['2.5'] },
    })
    expect(JSON.stringify(answer)).not.toMatch(/clv|"close"|fair|1\.90|3\.55/)
  })

  test('a bare 110, a repeat and a misspelt member are named by their place', async () => {
    const [pick] = auditExample.picks
    const { rows } = await preview({ picks: [pick, pick, { ...pick, odds: '110' }] })
    expect(rows.map(({ status }: { status: string }) => status)).toEqual([
      'gradable',
      'unreadable',
      'unreadable',
    ])
    expect(rows[1].issues).toEqual([
      { field: 'body.picks[1]', expected: 'another pick than body.picks[0]' },
    ])
    expect(rows[2].issues[0]).toEqual({
      field: 'body.picks[2].odds',
      expected: 'a clear notation: "+110" is American, "110.0" decimal',
    })
    const wrong = await post('/api/coverage', { picks: [{ ...pick, oods: 2 }] })
    expect([wrong.statusCode, wrong.json().issues[0].field]).toEqual([400, 'body.picks[0].oods'])
  })

  test('G21: a price far from anything recorded is a question; its one answer is counted, and so is a confirmed row', async () => {
    const rows = ['Arsenal,30,', 'Draw,1.5,', 'Away,3.9,', 'Arsenal,31,yes']
    const csv = `Date,Home,Away,Selection,Odds,Confirmed\n${rows.map((row) => `2026-06-01,Arsenal,Chelsea,${row}`).join('\n')}\n`
    const answer: PreviewAnswer = await preview({ csv })
    expect(answer).toMatchObject({ picks: 4, gradable: 2, unconfirmed: 2 })
    const [high] = answer.rows
    const send = {
      market: 'soccer/epl.20260601.ars-che/1x2/ft',
      selection: 'home',
      odds: '30',
      confirmed: true,
    }
    expect(high).toMatchObject({
      status: 'unconfirmed',
      cause: {
        kind: 'question',
        code: 'price_far_from_recorded',
        field: 'odds',
        options: [{ label: 'Yes, 30 was my price', send }],
      },
    })
    expect(high).not.toHaveProperty('send')
    expect((await preview({ picks: [send] })).gradable).toBe(1)
    const priced = await post('/api/audit', { csv }, newPayment('audit'))
    expect(priced.json().coverage).toMatchObject({ picks: 2, graded: 2, unconfirmed: [0, 1] })
    const flags = ['price_far_from_recorded', 'price_confirmed']
    expect(priced.json().picks[3].flags).toEqual(expect.arrayContaining(flags))
  })

  test('G20: names that may mean another match are a question, answered by one click on the match, its sides turned with it', async () => {
    const csv = 'Date,Home,Away,Selection,Odds\n2026-06-01,Chelsea,Arsenal,Chelsea,4.0\n'
    const { rows }: PreviewAnswer = await preview({ csv })
    expect(rows[0]?.cause).toMatchObject({ kind: 'question', code: 'ambiguous_market' })
    const [option] = rows[0]?.cause?.options ?? []
    expect(option?.label).toBe('Arsenal v Chelsea, 2026-06-01 18:00 UTC')
    const send = { market: 'soccer/epl.20260601.ars-che/1x2/ft', selection: 'away' }
    expect(option?.send).toMatchObject(send)
    expect((await preview({ picks: [option?.send] })).gradable).toBe(1)
  })

  test('G14, G21: where a price is asked about depends on the selection’s secret, if prices may not be shown', async () => {
    const range = { lowest: 2, highest: 2, isOpen: false }
    const drawn = (secret: string) => askedRange(range, secret)
    expect(drawn('0000ffff')).toMatchObject({ highest: 1.8, lowest: 2 })
    expect(drawn('ffff0000')).toMatchObject({ highest: 2, lowest: 2 / 0.9 })
    expect(askedRange({ ...range, isOpen: true }, '00000000')).toMatchObject({ highest: 2 })
  })

  test('a tracker’s file, as csv in JSON or by itself', async () => {
    const csv = 'Date,Home,Away,Selection,Odds\n2026-06-01,Arsenal London,CFC Chelsea,Draw,260\n'
    const requested = await preview({ csv })
    expect(requested.rows[0]).toMatchObject({ line: 2, status: 'unreadable' })
    const american = await preview({ csv, odds_notation: 'american' })
    expect(american.rows[0]).toMatchObject({
      line: 2,
      written: '2026-06-01 · Arsenal London · CFC Chelsea · Draw · 260',
      status: 'gradable',
      send: { market: 'soccer/epl.20260601.ars-che/1x2/ft', selection: 'draw', odds: '+260' },
    })
    const plain = csv.replace(',260', ',3.60')
    const headers = { 'content-type': 'text/csv' }
    const answer = await fixture.app.inject({
      method: 'POST',
      url: '/api/coverage',
      payload: plain,
      headers,
    })
    expect(answer.json()).toMatchObject({ picks: 1, gradable: 1 })
  })

  test.for([
    ['UTF-16 LE', (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')],
    ['UTF-16 BE', (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()],
    ['UTF-16 LE without a mark', (text: string) => Buffer.from(text, 'utf16le')],
    ['Windows-1252', (text: string) => Buffer.from(text, 'latin1')],
  ] as const)('a file’s bytes in %s are read as they are', async ([, bytes]) => {
    const file =
      'Date,Home,Away,Selection,Odds,Notes\n2026-06-01,Arsenal,Chelsea,Draw,3.60,Málaga\n'
    const answer = await fixture.app.inject({
      method: 'POST',
      url: '/api/coverage',
      payload: bytes(file),
      headers: { 'content-type': 'text/csv' },
    })
    expect(answer.json()).toMatchObject({ picks: 1, gradable: 1 })
  })

  test('a text that was read in another encoding is named, row by row or as a whole', async () => {
    const header = 'Date,Home,Away,Selection,Odds'
    const rows = [
      'M\uFFFDlaga,Chelsea,Draw,3.60',
      'MÃ¡laga,Chelsea,Draw,3.60',
      'Arsenal,Chelsea,Draw,3.60',
    ]
    const { rows: read } = await preview({
      csv: [header, ...rows.map((row) => `2026-06-01,${row}`)].join('\n'),
    })
    const text = { kind: 'not_gradable', code: 'not_read', field: 'text' }
    expect(read.map(({ cause }: PreviewRow) => cause)).toEqual([
      text,
      text,
      { kind: 'graded', code: 'graded' },
    ])
    const little = Buffer.from(`\uFEFF${header}\n2026-06-01,${rows[2]}`, 'utf16le')
    for (const csv of [little.toString('latin1'), little.toString('utf8')])
      expect(JSON.stringify(await preview({ csv }))).toContain('was read in another encoding')
  })

  test('G18: a parlay of a file is looked at as an audit takes it', async () => {
    const csv = `Bet ID,Date,Event,Selection,Odds,Leg Odds
T-1001,2026-06-01,Arsenal v Chelsea,Arsenal,4.2,2.10
T-1001,2026-06-02,Everton v Fulham,Everton,4.2,2.00`
    const { picks, rows } = await preview({ csv })
    expect(picks).toBe(1)
    expect(rows[0]).toMatchObject({
      line: 2,
      status: 'ungraded',
      send: { odds: '4.2', legs: [{}, {}] },
    })
  })

  test('G19: a row that may mean several things is a question, and each option is a pick or a member that answers it', async () => {
    const csv =
      'Date,Home,Away,Market,Selection,Odds\n2026-06-01,Arsenal,Chelsea,Moneyline,Arsenal,2.1\n03/04/2026,Arsenal,Chelsea,1X2,Draw,3.6\n'
    const { rows } = await preview({ csv })
    const [market, date] = rows.map(({ cause }: PreviewRow) => cause)
    expect([market.kind, market.code, market.field]).toEqual([
      'question',
      'ambiguous_market',
      'market',
    ])
    const { rows: looked } = await preview({ picks: [market.options[0].send] })
    expect(looked[0]).toMatchObject({ status: 'gradable', cause: { kind: 'graded' } })
    expect(date).toMatchObject({ kind: 'question', code: 'unclear', field: 'date' })
    const { rows: read } = await preview({ csv, ...date.options[0].set })
    expect(read[1].issues).toBeUndefined()
  })

  test('the same bet at two books is one pick: the second row says which line it repeats', async () => {
    const csv =
      'Date,Home,Away,Selection,Odds,Bookmaker\n2026-06-01,Arsenal,Chelsea,Draw,3.6,bet365\n2026-06-01,Arsenal,Chelsea,Draw,3.60,Betfair\n'
    const answer = await preview({ csv })
    expect(answer).toMatchObject({ gradable: 1, repeated: 1, unreadable: 0 })
    expect(answer.rows[1]).toMatchObject({
      line: 3,
      repeats: 2,
      cause: { kind: 'not_gradable', code: 'same_bet' },
    })
  })

  test.each([
    [{ csv: 'a,b\n1,2' }, 'body.csv'],
    [{ csv: 'Date,Home,Away,Selection,Odds\n' }, 'body.csv'],
    [{ csv: 'x', picks: auditExample.picks }, 'body'],
    [{ picks: [] }, 'body.picks'],
    [{ csv: 'x', date_order: 'y' }, 'body.date_order'],
  ])('%j names %s', async (payload, field) => {
    const answer = await post('/api/coverage', payload)
    expect([answer.statusCode, answer.json().issues[0].field]).toEqual([400, field])
  })

  describe('a free look has 50 ms of CPU time', () => {
    const picks = Array.from({ length: 1_000 }, (_, index) => ({
      market: `soccer/nobody.${index}/1x2/ft`,
      selection: 'home',
      odds: 2.5,
    }))

    test('G7, an attack: 1,000 picks of a millisecond each get 50 looks; each other is named, and asking again goes on', async () => {
      const first = await lookAt({ picks }, 1)
      expect(first).toMatchObject({ picks: 1_000, ungraded: 50, not_looked_at: 950 })
      expect(first.rows.slice(0, 50).every(({ status }) => status === 'ungraded')).toBe(true)
      expect(first.rows.slice(50)).toEqual(
        picks.slice(50).map((_, index) => ({ pick: index + 50, status: 'not_looked_at' })),
      )
      const rest = picks.filter((_, index) => first.rows[index]?.status === 'not_looked_at')
      expect(await lookAt({ picks: rest }, 1)).toMatchObject({ ungraded: 50, not_looked_at: 900 })
    })

    test('a tracker’s bets that were not looked at are named by their lines', async () => {
      const bets = picks.map((_, index) => `2026-06-01,Nobody ${index},No one,Draw,3.60\n`)
      const csv = `Date,Home,Away,Selection,Odds\n${bets.slice(0, 60).join('')}`
      const { rows, ...counts } = await lookAt({ csv }, 1)
      expect(counts).toMatchObject({ ungraded: 50, not_looked_at: 10 })
      expect(rows[50]).toEqual({ line: 52, status: 'not_looked_at' })
    })

    test('G7, an attack: a body that takes long to read has used its time', async () => {
      const readings = [10, 70]
      fixture.cpuMs = () => readings.shift() ?? 70
      const answer = await preview({ picks })
      fixture.cpuMs = () => 0
      expect(answer).toMatchObject({ ungraded: 25, not_looked_at: 975 })
    })

    test('one slice is looked at, however dear; time spent waiting is not counted', async () => {
      expect(await lookAt({ picks }, 10_000)).toMatchObject({ ungraded: 25, not_looked_at: 975 })
      expect(await lookAt({ picks }, 0)).toMatchObject({ ungraded: 1_000, not_looked_at: 0 })
    })
  })

  test('G7, an attack: large bodies count as looks at picks, also those that are malformed', async () => {
    fixture.clock.advanceMs(60_000)
    const text = 'a'.repeat(5_000)
    for (let count = 0; count < 60; count += 1)
      expect((await post('/api/coverage', { text })).statusCode).toBe(400)
    expect((await post('/api/coverage', { text })).statusCode).toBe(429)
    fixture.clock.advanceMs(60_000)
  })

  test('G12: of three processes each allows an address its third', async () => {
    const { clock, grader, store } = fixture
    const free = { countProcesses: () => 3, cpuMs: () => 0 }
    const longWork = createLongWork({ slates: grader, store, ...free })
    const deps = { clock, longWork, store, ...free }
    const { refuseAddress: findRefusal } = createCoverageLook(deps)
    const asker = { address: '192.0.2.9', bytes: 0 }
    const refused = Array.from({ length: 500 }, () => findRefusal(asker)).filter(Boolean)
    expect(refused).toHaveLength(100)
  })

  test('G12: the addresses of one IPv6 /64 are one client', () => {
    const { clock, grader, store } = fixture
    const free = { countProcesses: () => 1, cpuMs: () => 0 }
    const longWork = createLongWork({ slates: grader, store, ...free })
    const { refuseAddress: findRefusalFor } = createCoverageLook({
      clock,
      longWork,
      store,
      ...free,
    })
    const requests = Array.from({ length: 1_500 }, (_, at) =>
      findRefusalFor({ address: `2001:db8::${at.toString(16)}`, bytes: 0 }),
    )
    expect(requests.filter(Boolean)).toHaveLength(300)
    expect(findRefusalFor({ address: '2001:db8:0:1::1', bytes: 0 })).toBeUndefined()
  })

  test('one address looks at picks 60 times a minute; the next is told when to go on', async () => {
    fixture.clock.advanceMs(60_000)
    const ask = (remoteAddress: string) =>
      fixture.app.inject({
        method: 'POST',
        url: '/api/coverage',
        payload: { picks: auditExample.picks },
        remoteAddress,
      })
    for (let count = 0; count < 60; count += 1)
      expect((await ask('192.0.2.1')).statusCode).toBe(200)
    const refused = await ask('192.0.2.1')
    expect([refused.statusCode, refused.json().error]).toEqual([429, 'too_many_requests'])
    expect(refused.headers['retry-after']).toBe('60')
    expect((await ask('192.0.2.2')).statusCode).toBe(200)
    fixture.clock.advanceMs(60_000)
    expect((await ask('192.0.2.1')).statusCode).toBe(200)
  })
})
