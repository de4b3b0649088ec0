/**
 * Maps a football-data.co.uk header to column numbers. The site's names changed over the years (BbAv became Avg, P became
 * PS); both are read. Best-of-books columns (Max) are not one book's close and count as early prices. Fixtures to come have
 * no columns of results.
 */

/** Book names for a synthetic table: a real book is never named on prices it did not offer. */
export const SYNTHETIC_BOOKS: Readonly<Record<string, string>> = {
  pinnacle: 'synthetic_sharp',
  betfair_exchange: 'synthetic_exchange',
  bet365: 'synthetic_soft',
  market_average: 'synthetic_average',
  best_of_books: 'synthetic_best',
}

/** Prefixes of a book's columns: the tidy one, then the site's own. */
type BookNames = {
  readonly book: string
  readonly prefixes: readonly string[]
  readonly isClose: boolean
}

const BOOKS: readonly BookNames[] = [
  { book: 'pinnacle', prefixes: ['PS', 'P'], isClose: true },
  // BFE is the exchange; BF alone is Betfair's own book.
  { book: 'betfair_exchange', prefixes: ['BFE'], isClose: true },
  { book: 'bet365', prefixes: ['B365'], isClose: true },
  { book: 'market_average', prefixes: ['Avg', 'BbAv'], isClose: true },
  { book: 'best_of_books', prefixes: ['Max', 'BbMx'], isClose: false },
]

type Find = (...names: readonly string[]) => number

/** A selection's columns, except those the file lacks. */
function present(columns: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(columns).filter(([, column]) => column !== -1))
}

/** A book's columns of early or (C) of closing prices, by selection. */
function bookColumns(find: Find, { book, prefixes }: BookNames, mark: '' | 'C') {
  const names = (suffix: string): number =>
    find(...prefixes.map((prefix) => `${prefix}${mark}${suffix}`))
  return {
    book,
    matchOdds: present({ away: names('A'), draw: names('D'), home: names('H') }),
    total: present({
      over: firstColumn(names('O25'), names('>2.5')),
      under: firstColumn(names('U25'), names('<2.5')),
    }),
    handicap: present({ away: names('AHA'), home: names('AHH') }),
  }
}

const firstColumn = (left: number, right: number): number => (left === -1 ? right : left)

/** Column numbers from 0; -1 if the file has no such column. */
export type FootballColumns = NonNullable<ReturnType<typeof findColumns>>

/** Reads a header; undefined if it is not one of the site's. `bookNames` renames books. */
export function findColumns(
  header: readonly string[],
  bookNames: Readonly<Record<string, string>> = {},
) {
  const named = BOOKS.map((columns) => ({
    ...columns,
    book: bookNames[columns.book] ?? columns.book,
  }))
  const places = new Map(header.map((name, index) => [name.trim(), index]))
  const read = new Set<string>()
  const find: Find = (...names) => {
    for (const name of names) {
      const place = places.get(name)
      if (place === undefined) continue
      read.add(name)
      return place
    }
    return -1
  }
  const [date, home, away] = [
    find('Date', 'date'),
    find('home', 'HomeTeam', 'Home'),
    find('away', 'AwayTeam', 'Away'),
  ]
  const [homeGoals, awayGoals] = [find('hg', 'FTHG', 'HG'), find('ag', 'FTAG', 'AG')]
  const hasResults = homeGoals !== -1 && awayGoals !== -1
  const isOfTheSite = hasResults || find('Div') !== -1 || find('Country') !== -1
  if ([date, home, away].includes(-1) || !isOfTheSite) return undefined
  const columns = {
    date,
    home,
    away,
    time: find('Time'),
    league: find('league', 'Country', 'Div'),
    division: find('div', 'League'),
    fullTime: { home: homeGoals, away: awayGoals },
    halfTime: { home: find('HTHG'), away: find('HTAG') },
    result: find('FTR', 'Res'),
    early: {
      books: named.map((book) => bookColumns(find, book, '')),
      handicapLine: find('AHh', 'BbAHh'),
    },
    closing: {
      books: named.filter(({ isClose }) => isClose).map((book) => bookColumns(find, book, 'C')),
      handicapLine: find('AHCh'),
    },
  }
  const isPriced = columns.early.books.some(({ matchOdds }) => Object.keys(matchOdds).length === 3)
  if (!hasResults && !isPriced) return undefined
  const ignored = [...places.keys()].filter((name) => name !== '' && !read.has(name))
  return { ...columns, ignored }
}
