import { isoText } from '@tallystick/service-kit/clock'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { REFERENCE_ORDER } from '../domain/closes/reference-close.ts'
import { parseMarket } from '../domain/markets/parse-market.ts'
import { openMemoryStore } from '../testing/grader.fixture.ts'
import { wholeReading } from '../testing/whole-reading.fixture.ts'
import { csvSlices } from './csv-rows.ts'
import { isFootballData, readFootballData } from './football-data.ts'
import { ingestPayload } from './ingest-payload.ts'

const HEADER =
  'Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,FTR,HTHG,HTAG,B365H,B365D,B365A,PSH,PSD,PSA,MaxH,MaxD,MaxA,P>2.5,P<2.5,AHh,PAHH,PAHA,PSCH,PSCD,PSCA,PC>2.5,PC<2.5,AHCh,PCAHH,PCAHA'

/** A synthetic row in the site's form. */
const ROW =
  'E0,23/04/2024,20:00,Arsenal,Chelsea,5,0,H,1,0,1.57,4.5,5.25,1.6,4.6,5.3,1.65,4.75,5.75,1.62,2.4,-1,1.95,1.97,1.55,4.7,5.75,1.57,2.53,-1.25,2.02,1.9'

/** A short row with another home team. */
const shortRow = (home: string) => `E0,01/05/2024,${home},Chelsea,1,0`

const read = (...rows: readonly string[]) =>
  wholeReading(readFootballData(Buffer.from([HEADER, ...rows].join('\n'))))

describe('football-data.co.uk', () => {
  test('a row of a main league: event, start by London’s clock, early and closing prices, both results', () => {
    const { observations, refusals, feed } = read(ROW)
    expect(refusals).toEqual([])
    expect(feed).toEqual({ feed: 'football-data', isRedistributable: false, isSynthetic: false })
    const [observation] = observations
    expect(observation?.event).toMatchObject({
      path: 'soccer/e0.20240423.arsenal-chelsea',
      home: 'Arsenal',
      startPrecision: 'second',
    })
    expect(isoText(observation?.event.startAtSeconds ?? 0)).toBe('2024-04-23T19:00:00Z')
    expect(observation?.closes).toEqual([
      { market: '1x2/ft', book: 'pinnacle', odds: { home: '1.55', draw: '4.7', away: '5.75' } },
      { market: 'total/ft/2.5', book: 'pinnacle', odds: { over: '1.57', under: '2.53' } },
      { market: 'ah/ft/-1.25', book: 'pinnacle', odds: { home: '2.02', away: '1.9' } },
    ])
    expect(observation?.snapshots.map(({ market, book }) => `${book} ${market}`)).toEqual([
      'pinnacle 1x2/ft',
      'pinnacle total/ft/2.5',
      'pinnacle ah/ft/-1',
      'bet365 1x2/ft',
      'best_of_books 1x2/ft',
    ])
    expect(observation?.outcomes).toEqual([
      { period: 'ft', status: 'final', score: { home: 5, away: 0 } },
      { period: 'h1', status: 'final', score: { home: 1, away: 0 } },
    ])
  })

  test.each([
    ['15/01/2024,15:00', '2024-01-15T15:00:00Z'],
    ['30/03/2024,15:00', '2024-03-30T15:00:00Z'],
    ['31/03/2024,15:00', '2024-03-31T14:00:00Z'],
    ['26/10/2024,15:00', '2024-10-26T14:00:00Z'],
    ['27/10/2024,15:00', '2024-10-27T15:00:00Z'],
    ['27/10/24,15:00', '2024-10-27T15:00:00Z'],
  ])('%s is %s', (written, start) => {
    const [observation] = read(ROW.replace('23/04/2024,20:00', written)).observations
    expect(isoText(observation?.event.startAtSeconds ?? 0)).toBe(start)
  })

  test.each([
    { when: '31/03/2024', time: '00:59', utc: '2024-03-31T00:59:00Z' },
    { when: '31/03/2024', time: '02:00', utc: '2024-03-31T01:00:00Z' },
    { when: '27/10/2024', time: '01:30', utc: '2024-10-27T00:30:00Z' },
    { when: '27/10/2024', time: '02:00', utc: '2024-10-27T02:00:00Z' },
  ])('on the day London’s clock changes, $when $time is $utc', ({ when, time, utc }) => {
    const text = `Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG\nE0,${when},${time},Arsenal,Chelsea,1,0\n`
    const [observation] = wholeReading(readFootballData(Buffer.from(text))).observations
    expect(isoText(observation?.event.startAtSeconds ?? 0)).toBe(utc)
  })

  test('teams in another script are other events; Latin letters lose what ids cannot hold', () => {
    const rows = [
      'RUS,01/05/2024,Спартак,Зенит,1,0',
      'RUS,01/05/2024,ЦСКА,Динамо,1,0',
      'RUS,01/05/2024,???,!!!,1,0',
      'DNK,01/05/2024,Brøndby,Lødz Łks,1,0',
    ]
    const text = `Div,Date,HomeTeam,AwayTeam,FTHG,FTAG\n${rows.join('\n')}\n`
    const paths = wholeReading(readFootballData(Buffer.from(text))).observations.map(
      ({ event }) => event.path,
    )
    expect(new Set(paths).size).toBe(4)
    expect(paths[0]).toBe('soccer/rus.20240501.спартак-зенит')
    expect(paths[3]).toBe('soccer/dnk.20240501.brondby-lodz-lks')
    for (const path of paths)
      expect(parseMarket({ market: `${path}/1x2/ft`, selection: 'home' }).kind).toBe('market')
  })

  test('an unclosed quote costs its row, not the rows after it', () => {
    const many = Array.from({ length: 3_000 }, (_, index) => shortRow(`Team ${index}`))
    const text = ['Div,Date,HomeTeam,AwayTeam,FTHG,FTAG', shortRow('"Arsenal'), ...many, ''].join(
      '\n',
    )
    const { observations, refusals } = wholeReading(readFootballData(Buffer.from(text)))
    expect(observations.length).toBe(3_000)
    expect(refusals).toEqual([
      {
        reason: 'malformed_row',
        place: 'line 2',
        detail: 'a row without an open quote was expected',
      },
    ])
  })

  test('a field of megabytes is refused and never held as a row', () => {
    const text = `Div,Date,HomeTeam,AwayTeam,FTHG,FTAG\nE0,01/05/2024,${'x'.repeat(6_000_000)},Chelsea,1,0\nE0,01/05/2024,Arsenal,Chelsea,1,0\n`
    const { observations, refusals } = wholeReading(readFootballData(Buffer.from(text)))
    expect(refusals.map(({ reason }) => reason)).toEqual(['malformed_row'])
    expect(observations.length).toBe(1)
    expect(isFootballData(Buffer.alloc(2_000_000, 'x'))).toBe(false)
  })

  test('without a time only the day is known', () => {
    const [observation] = read(ROW.replace('20:00', '')).observations
    expect(observation?.event).toMatchObject({ startPrecision: 'day' })
    expect(isoText(observation?.event.startAtSeconds ?? 0)).toBe('2024-04-23T00:00:00Z')
  })

  test.each(['', '0', '1', '1.00', '0.0001', '-', 'SUSP', '99999'])(
    'G8: a suspended or sentinel price (%j) is missing, never a price',
    (sentinel) => {
      const row = ROW.replace('1.55,4.7,5.75', `1.55,${sentinel},5.75`)
      const { observations, missingPrices } = read(row)
      expect(observations[0]?.closes[0]?.odds).toEqual({ home: '1.55', away: '5.75' })
      expect(missingPrices).toBe(1)
    },
  )

  test('a book that sums to more than 1.5 is refused, with the line and the sum', () => {
    const { refusals, observations } = read(ROW, ROW.replace('1.55,4.7,5.75', '1.15,2.7,2.75'))
    expect(refusals).toEqual([
      { reason: 'booksum_out_of_range', place: 'line 3', detail: '1x2/ft: 1.604' },
    ])
    expect(observations[1]?.closes.map(({ market }) => market)).not.toContain('1x2/ft')
  })

  test('an unreadable row is refused alone', () => {
    const { refusals, observations } = read(
      'E0,soon,20:00,Arsenal,Chelsea',
      ROW,
      'E0,31/02/2024,20:00,A,B,1,1',
    )
    expect(observations).toHaveLength(1)
    expect(refusals.map(({ reason, place }) => `${reason} ${place}`)).toEqual([
      'malformed_row line 2',
      'malformed_row line 4',
    ])
  })

  test('a future match has early prices and no result', () => {
    const [observation] = read(
      ROW.replace('5,0,H,1,0', ',,,,').replace(/,1\.55,4\.7.*$/, ''),
    ).observations
    expect(observation?.outcomes).toEqual([])
    expect(observation?.closes).toEqual([])
    expect(observation?.snapshots.length).toBe(5)
  })

  test('any other file is refused as a whole', () => {
    expect(isFootballData(Buffer.from('a,b,c\n1,2,3\n'))).toBe(false)
    expect(wholeReading(readFootballData(Buffer.from('a,b,c\n1,2,3\n')))).toMatchObject({
      observations: [],
      refusals: [{ reason: 'malformed_row', place: 'line 1' }],
    })
    expect(isFootballData(Buffer.from(`\u{feff}${HEADER}\r\n`))).toBe(true)
  })

  test('slices add up to the file, and end where records end', () => {
    const cell = fc.constantFrom('a', '"x\ny"', '"q""q"', '', 'long text here')
    const file = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 40 })
    fc.assert(
      fc.property(file, fc.integer({ min: 1, max: 50 }), (rows, size) => {
        const bytes = Buffer.from(rows.map((row) => `${row.join(',')}\n`).join(''))
        const slices = [...csvSlices(bytes, size)]
        expect(Buffer.concat(slices)).toEqual(bytes)
        for (const slice of slices) expect((slice.toString().match(/"/g) ?? []).length % 2).toBe(0)
      }),
    )
  })
})

/** A file of a season since 2025, without Pinnacle: closes of the exchange beside others. */
const EXCHANGE_HEADER =
  'Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,FTR,Referee,BFH,BFD,BFA,BFEH,BFED,BFEA,PSCH,PSCD,PSCA,MaxCH,MaxCD,MaxCA,AvgCH,AvgCD,AvgCA,BFECH,BFECD,BFECA,PC>2.5,PC<2.5,BFEC>2.5,BFEC<2.5,AHCh,PCAHH,PCAHA,BFECAHH,BFECAHA'
const EXCHANGE_ROW =
  'E0,18/08/2025,20:00,Leeds,Everton,1,0,H,,1.6,4,5,1.66,4.5,5.6,,,,1.78,4.2,5.3,1.72,4.02,4.84,1.77,4.2,5.2,,,1.70,2.36,-0.75,,,1.99,1.96'

const readText = (...lines: readonly string[]) => {
  const raw = Buffer.from(lines.join('\r\n'))
  return { isKnown: isFootballData(raw), ...wholeReading(readFootballData(raw)) }
}

/** An exchange row with another result. */
const playedAs = (result: string) => EXCHANGE_ROW.replace(',1,0,H,', `,${result},`)

describe('G8: what a season’s file has beside Pinnacle', () => {
  test('closes and early prices of the exchange are read: 1X2, over/under and Asian handicap', () => {
    const { observations, refusals } = readText(EXCHANGE_HEADER, EXCHANGE_ROW)
    expect(refusals).toEqual([])
    const [observation] = observations
    const ofExchange = observation?.closes.filter(({ book }) => book === 'betfair_exchange')
    expect(ofExchange).toEqual([
      {
        market: '1x2/ft',
        book: 'betfair_exchange',
        odds: { home: '1.77', draw: '4.2', away: '5.2' },
      },
      {
        market: 'total/ft/2.5',
        book: 'betfair_exchange',
        odds: { over: '1.7', under: '2.36' },
      },
      { market: 'ah/ft/-0.75', book: 'betfair_exchange', odds: { home: '1.99', away: '1.96' } },
    ])
    expect(observation?.snapshots).toMatchObject([
      { book: 'betfair_exchange', odds: { home: '1.66', draw: '4.5', away: '5.6' } },
    ])
  })

  test('G15: an exchange stands behind Pinnacle and before the average of the market', () => {
    const order = ['pinnacle', 'betfair_exchange', 'market_average']
    expect(REFERENCE_ORDER.filter((book) => order.includes(book))).toEqual(order)
  })

  test('columns that are not read are named, once for a file; blank names are none', () => {
    const { ignoredColumns } = readText(`\u{feff}${EXCHANGE_HEADER},,`, `${EXCHANGE_ROW},,`)
    expect(ignoredColumns).toEqual('Referee BFH BFD BFA MaxCH MaxCD MaxCA'.split(' '))
  })

  test.each([
    ['postponed', 'P,P,'],
    ['postponed, in the column of the result', ',,P'],
    ['abandoned at a score', '1,0,Abd'],
    ['abandoned', 'Aban.,,'],
    ['cancelled', ',,C'],
  ])('a match that was %s has neither closes nor a result, and is named', (_name, result) => {
    const { observations, refusals } = readText(EXCHANGE_HEADER, playedAs(result), EXCHANGE_ROW)
    expect(observations).toHaveLength(1)
    expect(refusals).toMatchObject([{ reason: 'not_played', place: 'line 2' }])
  })

  test('a result that contradicts its score is named and not taken; the closes are', () => {
    const { observations, refusals } = readText(EXCHANGE_HEADER, playedAs('1,0,A'))
    expect(observations[0]?.outcomes).toEqual([])
    expect(observations[0]?.closes.length).toBeGreaterThan(0)
    expect(refusals).toMatchObject([{ reason: 'malformed_row', place: 'line 2' }])
  })

  test('a header that is repeated, or that of another season, is read as one', () => {
    const { observations, refusals } = readText(
      EXCHANGE_HEADER,
      EXCHANGE_ROW,
      EXCHANGE_HEADER,
      'Div,Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR,PSCA,PSCD,PSCH',
      'E0,19/08/2025,Burnley,Fulham,1,0,H,5.5,4.1,1.7',
    )
    expect(refusals).toEqual([])
    expect(observations).toHaveLength(2)
    expect(observations[1]?.closes).toEqual([
      { market: '1x2/ft', book: 'pinnacle', odds: { home: '1.7', draw: '4.1', away: '5.5' } },
    ])
  })

  test('rows of separators alone are no rows', () => {
    const { observations, refusals } = readText(
      `\u{feff}${EXCHANGE_HEADER},,`,
      `${EXCHANGE_ROW},,`,
      ','.repeat(40),
      ' , ,',
    )
    expect([observations.length, refusals]).toEqual([1, []])
  })

  test.each([
    [
      'of main leagues',
      'Div,Date,Time,HomeTeam,AwayTeam,Referee',
      'B1,28/11/2026,19:45,Gent,Genk,',
    ],
    [
      'of extra leagues',
      'Country,League,Date,Time,Home,Away',
      'USA,MLS,28/11/2026,19:45,Austin,LAFC',
    ],
  ])('fixtures %s, without columns of results, have early prices only', (_name, header, row) => {
    const { isKnown, observations, refusals } = readText(
      `${header},B365H,B365D,B365A,BFEH,BFED,BFEA`,
      `${row},1.75,3.8,3.9,1.8,3.9,4`,
    )
    expect([isKnown, refusals]).toEqual([true, []])
    expect(observations[0]).toMatchObject({ closes: [], outcomes: [] })
    expect(observations[0]?.snapshots.map(({ book }) => book)).toEqual([
      'betfair_exchange',
      'bet365',
    ])
  })

  test('a tracker’s columns of teams are no fixtures', () => {
    expect(isFootballData(Buffer.from('Date,League,Home,Away,Market,Selection,Odds\n'))).toBe(false)
  })
})

const payload = (text: string) => {
  const raw = Buffer.from(text)
  return {
    raw,
    receivedAtSeconds: 1_780_000_000,
    read: () => [wholeReading(readFootballData(raw))],
  }
}

describe('taking a payload in', () => {
  test('G8: idempotent on the raw bytes; a longer file adds only what is new', async () => {
    const store = openMemoryStore()
    const file = [HEADER, ROW].join('\n')
    const first = await ingestPayload({ store, ...payload(file) })
    expect(first).toMatchObject({
      isRepeated: false,
      events: 1,
      snapshots: 1,
      closes: 1,
      outcomes: 2,
    })
    expect(await ingestPayload({ store, ...payload(file) })).toMatchObject({
      isRepeated: true,
      observations: 0,
    })
    const longer = `${file}\n${ROW.replace('Chelsea', 'Fulham')}`
    expect(await ingestPayload({ store, ...payload(longer) })).toMatchObject({
      isRepeated: false,
      events: 1,
      closes: 1,
    })
    expect((await store.head()).size).toBe(8)
  })

  test('a payload that yielded nothing may be sent again', async () => {
    const store = openMemoryStore()
    await ingestPayload({ store, ...payload('a,b\n') })
    expect(await ingestPayload({ store, ...payload('a,b\n') })).toMatchObject({
      isRepeated: false,
      refused: 1,
    })
  })
})
