import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatMarketKey, marketPath } from './markets.ts'
import { parseMarket, readMarketPath } from './parse-market.ts'

const EVENT = 'soccer/epl.20240423.ars-che'

describe('keys', () => {
  test.each([
    [`${EVENT}/1x2/ft`, 'home'],
    [`${EVENT}/ah/ft/-0.75`, 'away'],
    [`${EVENT}/total/h1/1.5`, 'under'],
    [`${EVENT}/team_total/ft/1.5@home`, 'over'],
    ['basketball/nba.20240423.lal-bos/prop:points/ft/25.5@lebron-james', 'over'],
    ['golf/masters.2026/outright/ft', 'rory-mcilroy'],
  ])('%s is read and written unchanged', (market, selection) => {
    const parsed = parseMarket({ market, selection })
    expect(parsed).toMatchObject({ kind: 'market', selection })
    expect(parsed.kind === 'market' ? formatMarketKey(parsed.key) : undefined).toBe(market)
  })

  test('every line of every lined type survives writing and reading', () => {
    fc.assert(
      fc.property(fc.integer({ min: -4_000, max: 4_000 }), (quarters) => {
        const line = quarters / 4
        const parsed = parseMarket({ market: `${EVENT}/ah/ft`, selection: 'home', line })
        if (parsed.kind !== 'market') throw new Error('a line was refused')
        expect(readMarketPath(marketPath(parsed.key)).line).toBe(line === 0 ? 0 : line)
      }),
    )
  })

  test('parts may come separately, under common names', () => {
    const market = {
      sport: 'Soccer',
      event: 'epl.20240423.ars-che',
      type: 'Asian_Handicap',
      period: 'full_time',
    }
    expect(parseMarket({ market, selection: 'H', line: -0 })).toEqual({
      kind: 'market',
      selection: 'home',
      key: { sport: 'soccer', event: 'epl.20240423.ars-che', type: 'ah', period: 'ft', line: 0 },
    })
  })

  test('G2: a moneyline on football may be three-way or draw-no-bet: ambiguous, with both keys', () => {
    expect(parseMarket({ market: `${EVENT}/moneyline/ft`, selection: 'home' })).toEqual({
      kind: 'ambiguous',
      candidates: [`${EVENT}/1x2/ft`, `${EVENT}/dnb/ft`],
    })
    expect(parseMarket({ market: 'baseball/mlb.x/moneyline/ft', selection: 'home' })).toMatchObject(
      {
        kind: 'market',
        key: { type: 'ml' },
      },
    )
  })
})

describe('malformed (G3: the field’s path and what was expected)', () => {
  test.each([
    [{ market: 'soccer/x', selection: 'home' }, 'market'],
    [{ market: `${EVENT}/corners/ft`, selection: 'home' }, 'market.type'],
    [{ market: `${EVENT}/1x2/later`, selection: 'home' }, 'market.period'],
    // On every object's prototype, but not a type, period or selection of ours.
    [{ market: `${EVENT}/constructor/ft`, selection: 'home' }, 'market.type'],
    [{ market: `${EVENT}/1x2/constructor`, selection: 'home' }, 'market.period'],
    [{ market: `${EVENT}/1x2/ft`, selection: 'constructor' }, 'selection'],
    [{ market: `${EVENT}/1x2/ft`, selection: 'both' }, 'selection'],
    [{ market: `${EVENT}/1x2/ft/1`, selection: 'home' }, 'line'],
    [{ market: `${EVENT}/ah/ft`, selection: 'home' }, 'line'],
    [{ market: `${EVENT}/ah/ft/0.3`, selection: 'home' }, 'line'],
    // Not numbers, though `Number` accepts them.
    [{ market: `${EVENT}/ah/ft/ `, selection: 'home' }, 'line'],
    [{ market: `${EVENT}/total/ft/0x2`, selection: 'over' }, 'line'],
    [{ market: `${EVENT}/total/ft/1e1`, selection: 'over' }, 'line'],
    [{ market: `${EVENT}/ah/ft/-1`, selection: 'home', line: 1 }, 'line'],
    [{ market: `${EVENT}/ah/ft`, selection: 'home', line: Number.NaN }, 'line'],
    [{ market: `${EVENT}/team_total/ft/1.5`, selection: 'over' }, 'market.participant'],
    [{ market: `${EVENT}/1x2/ft@home`, selection: 'home' }, 'market.participant'],
  ])('%o', (pick, path) => {
    expect(parseMarket(pick)).toMatchObject({ kind: 'malformed', path })
  })

  test('it never throws, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.string(),
        fc.option(fc.double(), { nil: undefined }),
        (market, selection, line) => {
          expect(['market', 'ambiguous', 'malformed']).toContain(
            parseMarket({ market, selection, line }).kind,
          )
        },
      ),
    )
  })
})
