/**
 * Our own feeds, the better record first; any other source is an upload and comes after all of them. Each source has its
 * own book under a book's name, so nobody outbids a feed by uploading prices under that name (G15).
 */
export const SOURCE_ORDER: readonly string[] = [
  'betfair-bsp',
  'the-odds-api',
  'football-data',
  'mlb-open-close',
  'nflverse',
  'kalshi',
  'polymarket',
  'synthetic',
]

/** Whether a source is one of our feeds; any other is an upload. */
export const isOwnFeed = (feed: string): boolean => SOURCE_ORDER.includes(feed)
