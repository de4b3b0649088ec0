import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import aliases from './team-aliases.json' with { type: 'json' }
import { isSameTeam, sportNamed, teamKey, teamKeys } from './team-names.ts'

describe('teamKey', () => {
  test.for([
    { name: '1. FC Köln', key: 'koln' },
    { name: "Nott'm Forest", key: 'nottm forest' },
    { name: 'Nott’m  Forest FC', key: 'nottm forest' },
    { name: 'Bodø/Glimt', key: 'bodo glimt' },
    { name: 'U.N.A.M.- Pumas', key: 'unam pumas' },
    { name: 'Brighton & Hove Albion', key: 'brighton hove albion' },
    { name: 'AFC', key: 'afc' },
    { name: 'Спартак', key: 'спартак' },
    { name: ' – ', key: '' },
  ])('$name is $key', ({ name, key }) => {
    expect(teamKey(name)).toBe(key)
  })
})

describe('G11: one team by its other names', () => {
  test.for([
    ['soccer', 'Man United', 'Manchester Utd'],
    ['soccer', 'Bayern Munich', 'FC Bayern München'],
    ['soccer', "M'gladbach", 'Borussia Mönchengladbach'],
    ['soccer', 'Ath Madrid', 'Atlético de Madrid'],
    ['soccer', 'Paris SG', 'Paris Saint-Germain'],
    ['soccer', 'Sp Lisbon', 'Sporting CP'],
    ['soccer', 'Inter', 'Internazionale'],
    ['soccer', 'FC Copenhagen', 'København'],
    ['soccer', 'Buyuksehyr', 'İstanbul Başakşehir'],
    ['soccer', 'Legia', 'Legia Warszawa'],
    ['american_football', 'Oakland Raiders', 'Las Vegas Raiders'],
    ['american_football', 'Green Bay Packers', 'GB'],
    ['baseball', 'Oakland Athletics', "A's"],
    ['baseball', 'Chicago White Sox', 'CWS'],
  ])('%s: %s is %s', ([sport = '', each = '', other = '']) => {
    expect(isSameTeam(sport, each, other)).toBe(true)
  })

  test.for([
    ['soccer', 'Man United', 'Man City'],
    ['soccer', 'Paris SG', 'Paris FC'],
    ['soccer', 'Barcelona', 'Barcelona B'],
    ['soccer', 'Ein Frankfurt', 'Frankfurt FSV'],
    ['soccer', 'Univ. Craiova', 'U Craiova 1948'],
    ['soccer', 'Dundee', 'Dundee United'],
    ['soccer', 'Chelsea', 'Chelsea Women'],
    ['soccer', 'Arsenal', 'Arsenal Sarandi'],
    ['baseball', 'New York Mets', 'New York Yankees'],
    ['american_football', 'Los Angeles Rams', 'Los Angeles Chargers'],
  ])('%s: %s is not %s', ([sport = '', each = '', other = '']) => {
    expect(isSameTeam(sport, each, other)).toBe(false)
  })

  test.for([
    ['basketball', 30, ['Los Angeles', 'LA']],
    // Arizona played until 2024.
    ['ice_hockey', 33, ['New York', 'NY']],
  ] as const)(
    'every team of %s has names of its own, but for cities with two',
    ([sport, teams, shared]) => {
      const groups = aliases.teams[sport]
      expect(groups).toHaveLength(teams)
      const owners = Map.groupBy(
        groups.flatMap((names) =>
          names.map((name) => ({ key: teamKey(name), name, team: names[0] })),
        ),
        ({ key }) => key,
      )
      const twice = [...owners.values()].flatMap((own) =>
        new Set(own.map(({ team }) => team)).size > 1 ? [own[0]?.name] : [],
      )
      expect(twice).toEqual(shared)
    },
  )

  test('every table of teams says where its names are from', () => {
    expect(Object.keys(aliases.sources).toSorted()).toEqual(Object.keys(aliases.teams).toSorted())
  })

  test.for([
    ['Sinner', 'Jannik Sinner', true],
    ['J. Sinner', 'Jannik Sinner', true],
    ['Sinner J.', 'Jannik Sinner', true],
    ['Sinner Jannik', 'Jannik Sinner', true],
    ['De Minaur', 'Alex de Minaur', true],
    ['J.M. Cerundolo', 'Juan Manuel Cerundolo', true],
    ['M. Sinner', 'Jannik Sinner', false],
    ['Jannik', 'Jannik Sinner', false],
    ['F. Cerundolo', 'Juan Manuel Cerundolo', false],
    ['J', 'Jannik Sinner', false],
    ['Davidovich', 'Alejandro Davidovich Fokina', false],
  ] as const)('tennis: %s and %s', ([left, right, isSame]) => {
    expect(isSameTeam('tennis', left, right)).toBe(isSame)
    expect(isSameTeam('tennis', right, left)).toBe(isSame)
  })

  test('a sport without a table knows each name by itself', () => {
    expect(teamKeys('darts', 'Luke Littler')).toEqual(['luke littler'])
    expect(teamKeys('soccer', '–')).toEqual([])
  })
})

test.for([
  ['EPL', 'soccer'],
  ['La Liga', 'soccer'],
  ['NFL', 'american_football'],
  ['MLB', 'baseball'],
  ['american_football', 'american_football'],
  ['Ice  Hockey', 'ice_hockey'],
  ['Football', undefined],
])('the sport of %s is %s', ([name = '', sport]) => {
  expect(sportNamed(name)).toBe(sport)
})

const DATA = new URL('../../../../../../shared/data', import.meta.url)
const file = (name: string) => new URL(name, DATA)
const skipped = existsSync(file('football_fd.csv.gz'))
  ? ''
  : ' (skipped: the real names are not here)'

/** The recorded names of each league, with the season. */
function recordedNames(): ReadonlyMap<string, ReadonlySet<string>> {
  const leagues = new Map<string, Set<string>>()
  const [head = '', ...rows] = gunzipSync(readFileSync(file('football_fd.csv.gz')))
    .toString('utf8')
    .trim()
    .split('\n')
  const at = (name: string) => head.split(',').indexOf(name)
  const [league, div, season, home, away] = ['league', 'div', 'season', 'home', 'away'].map(at)
  for (const row of rows) {
    const cells = row.split(',')
    const name = [league, div, season].map((column) => cells[column ?? 0]).join(' ')
    const teams = leagues.get(name) ?? new Set()
    for (const team of [home, away]) teams.add(cells[team ?? 0]?.trim() ?? '')
    leagues.set(name, teams)
  }
  return leagues
}

/** One club under two spellings in one season of the file. */
const TWICE: readonly string[] = [
  'Colon Santa FE = Colon Santa Fe',
  'Ham-Kam = HamKam',
  'Gornik Z. = Gornik Zabrze',
]

describe.skipIf(skipped !== '')(`the recorded names${skipped}`, () => {
  test('no two teams of a league and season share a key or an alias', () => {
    const clashes: string[] = []
    for (const [league, teams] of recordedNames()) {
      const names = [...teams]
      const keys = new Map(names.map((name) => [name, new Set(teamKeys('soccer', name))]))
      for (const [index, each] of names.entries())
        for (const other of names.slice(index + 1))
          if (keys.get(each)?.has(teamKey(other))) clashes.push(`${league}: ${each} = ${other}`)
    }
    expect(clashes.filter((clash) => !TWICE.some((known) => clash.endsWith(known)))).toEqual([])
  })

  test('every row of the table names a recorded team first', () => {
    const recorded = new Set(
      [...recordedNames().values()].flatMap((names) => [...names]).map(teamKey),
    )
    const strange = aliases.teams.soccer.filter(([name = '']) => !recorded.has(teamKey(name)))
    expect(strange).toEqual([])
  })
})
