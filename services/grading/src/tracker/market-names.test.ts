/** Market names as bookmakers, exchanges and trackers write them, by source, and what each is (vectors/market-names.json). */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import names from '../../vectors/market-names.json' with { type: 'json' }
import aliases from '../domain/markets/team-aliases.json' with { type: 'json' }
import { MARKET_PHRASES } from './market-words.ts'
import { readBet } from './tracker-market.ts'

const teams = { home: 'Man United', away: 'Arsenal' }

/** One selection of every kind: a name that is read as another market is found by one of them. */
const TEMPTING = [
  'Man United',
  'Draw',
  'Over 2.5',
  'Over',
  'Man United -0.5',
  'Yes',
  '1X',
  '2-1',
  'Man United Over 1.5',
  'Man United or Draw',
  '1',
]

/** Every market that a name can be read as, or why none. */
function whatIs(market: string, sport: string): string {
  const bets = TEMPTING.map((selection) => readBet({ sport, market, selection, line: '', teams }))
  const read = bets.flatMap((bet) => ('expected' in bet ? [] : [`${bet.type}/${bet.period}`]))
  if (read.length > 0) return [...new Set(read)].toSorted().join(' ')
  const [why = ''] = bets.flatMap((bet) => ('expected' in bet ? [bet.expected] : []))
  return why
    .replace('a market that the ledger records, ', '')
    .replace(/^a market whose every word is known: (.*) is not$/, 'unknown: $1')
}

test('G19: the table has at least 250 names', () => {
  expect(names.flatMap((group) => Object.keys(group.names)).length).toBeGreaterThan(250)
})

test.for(names)('G19: each name of $source, $sport, is its own market or named', (group) => {
  const found = Object.keys(group.names).map((name) => [name, whatIs(name, group.sport)])
  expect(Object.fromEntries(found)).toEqual(group.names)
})

const KNOWN_WORDS = new Set([...MARKET_PHRASES.keys()].flatMap((phrase) => phrase.split(' ')))
const TEAM_WORDS = new Set(['man', 'united', 'utd', 'manchester', 'mufc', 'arsenal', 'gunners'])

const unknownWord = fc.stringMatching(/^[a-zäñé]{1,9}$/).filter((word) => {
  const plain = word.normalize('NFD').replace(/\p{Diacritic}/gu, '')
  return plain.length > 1 && !KNOWN_WORDS.has(plain) && !TEAM_WORDS.has(plain)
})
const phrase = fc.constantFrom(
  ...MARKET_PHRASES.keys(),
  'Man United',
  'Arsenal',
  '2.5',
  '-0.5',
  '1X2',
)
const separator = fc.constantFrom(' ', ' - ', '/', ' (', ': ', ', ', ' & ', '')
const sport = fc.constantFrom('soccer', 'ice_hockey', 'american_football', 'baseball', 'tennis')

/** Phrases with one word among them, in any order and case, between any marks. */
const around = (word: fc.Arbitrary<string>) =>
  fc
    .tuple(
      fc.array(phrase, { maxLength: 3 }),
      word,
      fc.array(phrase, { maxLength: 3 }),
      separator,
      fc.boolean(),
    )
    .map(([before, middle, after, mark, isUpper]) => {
      const text = [...before, middle, ...after].join(mark === '' ? ' ' : mark)
      return isUpper ? text.toUpperCase() : text
    })

describe('G19: no word that the table does not know is ever gradable', () => {
  test('in a market’s name', () => {
    fc.assert(
      fc.property(
        around(unknownWord),
        fc.constantFrom(...TEMPTING),
        sport,
        (market, selection, named) => {
          const bet = readBet({ sport: named, market, selection, line: '', teams })
          expect(bet).toHaveProperty('expected')
        },
      ),
      { numRuns: 3_000 },
    )
  })

  test('in a selection', () => {
    fc.assert(
      fc.property(
        around(unknownWord),
        fc.constantFrom('', '1X2', 'Total', 'Asian Handicap', 'BTTS'),
        (selection, market) => {
          const bet = readBet({ sport: 'soccer', market, selection, line: '', teams })
          expect(bet).toHaveProperty('expected')
        },
      ),
      { numRuns: 3_000 },
    )
  })
})

test('G19: the name of any team of the table backs it, and makes no market', () => {
  const wrong: string[] = []
  for (const [named, groups] of Object.entries(aliases.teams))
    for (const name of groups.flat()) {
      const event = { home: name, away: 'Zzyzx Rovers' }
      const read = (market: string, selection: string) => {
        const bet = readBet({ sport: named, market, selection, line: '', teams: event })
        if ('expected' in bet) return 'a problem'
        return [bet.type, bet.participant, bet.selection, bet.line]
          .filter((part) => part !== undefined)
          .join(' ')
      }
      const [side, line] =
        named === 'soccer' ? ['1x2 home', 'ah home -1.5'] : ['ml home', 'spread home -1.5']
      if (read('', name) !== side) wrong.push(name)
      if (read('Spread', `${name} -1.5`) !== line) wrong.push(`${name} -1.5`)
      if (read('', `${name} over 1.5`) !== 'team_total home over 1.5') wrong.push(`${name} over`)
      if (
        read(name, 'Over 1.5') !== 'a problem' &&
        read(name, 'Over 1.5') !== 'team_total home over 1.5'
      )
        wrong.push(`${name}, over`)
    }
  expect(wrong).toEqual([])
})
