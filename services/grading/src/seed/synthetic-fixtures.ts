/**
 * Synthetic football for trying the service out: a table in football-data.co.uk form, so that it passes through the real
 * importer. The league and every team say "Synthetic", the feed is marked, and every card based on it carries the flag.
 */

import { DAY_SECONDS, isoDay } from '@tallystick/service-kit/clock'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import type { FeedInfo } from '../domain/closes/price-log.ts'
import { readFootballData } from '../ingest/football-data.ts'
import { ingestPayload, type PayloadAccount } from '../ingest/ingest-payload.ts'
import {
  createRandomSource,
  evenHandicap,
  fairChances,
  type MatchBelief,
  normalDraw,
  poissonDraw,
  quote,
  type RandomSource,
} from './synthetic-market.ts'

/** Nobody's prices, so anyone may see them. */
export const SYNTHETIC_FEED: FeedInfo = {
  feed: 'synthetic',
  isRedistributable: true,
  isSynthetic: true,
}

type SyntheticOptions = {
  readonly nowSeconds: number
  /** Matches with results, spread over the two years before now. */
  readonly pastMatches: number
  /** Future matches, within two weeks. */
  readonly comingMatches: number
}

const TEAMS =
  'Albion Athletic Borough City County Harbour Heath Orient Rangers Rovers Thistle Town United Vale Villa Wanderers'
    .split(' ')
    .map((name) => `Synthetic ${name}`)

const HEADER =
  'Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,PSH,PSD,PSA,B365H,B365D,B365A,P>2.5,P<2.5,AHh,PAHH,PAHA,PSCH,PSCD,PSCA,B365CH,B365CD,B365CA,PC>2.5,PC<2.5,AHCh,PCAHH,PCAHA'

const SEED = 196
const PAST_DAYS = 730
const COMING_DAYS = 14
/** Standard deviations of the market's belief in a side's goals: days before, and at the close. */
const EARLY_NOISE = 0.12
const CLOSING_NOISE = 0.02
const PINNACLE_MARGIN = 0.027
const SOFT_MARGIN = 0.06

type Match = {
  readonly startAtSeconds: number
  readonly home: number
  readonly away: number
  readonly truth: MatchBelief
}

/** Day and time in the file's format. Kick-off is always 15:00 by London's clock, as the importer reads it. */
const whenText = (unixSeconds: number): readonly [string, string] => [
  isoDay(unixSeconds).split('-').toReversed().join('/'),
  '15:00',
]

function drawMatch(random: RandomSource, startAtSeconds: number): Match {
  const home = Math.floor(random() * TEAMS.length)
  const away = (home + 1 + Math.floor(random() * (TEAMS.length - 1))) % TEAMS.length
  // Teams rank alphabetically: earlier teams are stronger.
  const strength = (away - home) / TEAMS.length
  const truth = { home: 1.5 * Math.exp(0.5 * strength), away: 1.2 * Math.exp(-0.5 * strength) }
  return { startAtSeconds, home, away, truth }
}

const believed = (random: RandomSource, truth: MatchBelief, noise: number): MatchBelief => ({
  home: truth.home * Math.exp(noise * normalDraw(random)),
  away: truth.away * Math.exp(noise * normalDraw(random)),
})

/** Prices of one stage in header order. */
function stageCells(belief: MatchBelief): readonly string[] {
  const handicap = evenHandicap(belief)
  const fair = fairChances(belief, handicap)
  return [
    ...quote(fair.matchOdds, PINNACLE_MARGIN),
    ...quote(fair.matchOdds, SOFT_MARGIN),
    ...quote(fair.total, PINNACLE_MARGIN),
    String(handicap),
    ...quote(fair.handicap, PINNACLE_MARGIN),
  ]
}

const NO_PRICES = Array.from({ length: 11 }, () => '')

function writeRow(random: RandomSource, match: Match, isPlayed: boolean): string {
  const early = stageCells(believed(random, match.truth, EARLY_NOISE))
  const closing = stageCells(believed(random, match.truth, CLOSING_NOISE))
  const goals = [poissonDraw(random, match.truth.home), poissonDraw(random, match.truth.away)]
  return [
    'Synthetic League',
    ...whenText(match.startAtSeconds),
    TEAMS[match.home] ?? '',
    TEAMS[match.away] ?? '',
    ...(isPlayed ? goals.map(String) : ['', '']),
    ...early,
    ...(isPlayed ? closing : NO_PRICES),
  ].join(',')
}

/** The table as CSV; the same for the same options. */
export function syntheticFixtures(options: SyntheticOptions): string {
  const { nowSeconds, pastMatches, comingMatches } = options
  const random = createRandomSource(SEED)
  const rows = [HEADER]
  const taken = new Set<string>()
  const add = (startAtSeconds: number, isPlayed: boolean): void => {
    const match = drawMatch(random, startAtSeconds)
    const day = Math.floor(startAtSeconds / DAY_SECONDS)
    const key = `${day} ${match.home} ${match.away}`
    if (taken.has(key)) return
    taken.add(key)
    rows.push(writeRow(random, match, isPlayed))
  }
  for (let index = 0; index < pastMatches; index += 1) {
    const daysAgo = 2 + Math.floor((PAST_DAYS * (pastMatches - index)) / pastMatches)
    add(nowSeconds - daysAgo * DAY_SECONDS, true)
  }
  for (let index = 0; index < comingMatches; index += 1)
    add(nowSeconds + (1 + (index % COMING_DAYS)) * DAY_SECONDS, false)
  return `${rows.join('\n')}\n`
}

/** Matches with results: enough for every band, made and imported within a second. */
const PAST_MATCHES = 2_000
const COMING_MATCHES = 40

type SeedOutcome =
  | { readonly kind: 'seeded'; readonly account: PayloadAccount }
  /** The ledger has entries already: nothing was written. */
  | { readonly kind: 'already-there' }

/** Fills an empty ledger with synthetic fixtures through the real importer. Never touches a ledger that has entries. */
export async function seedLedger(
  options: Pick<SyntheticOptions, 'nowSeconds'> &
    Partial<SyntheticOptions> & { readonly store: GradingStore },
): Promise<SeedOutcome> {
  const { store, nowSeconds, pastMatches = PAST_MATCHES, comingMatches = COMING_MATCHES } = options
  const { size } = await store.head()
  if (size > 0) return { kind: 'already-there' }
  const raw = Buffer.from(syntheticFixtures({ nowSeconds, pastMatches, comingMatches }))
  const account = await ingestPayload({
    store,
    raw,
    receivedAtSeconds: Math.floor(nowSeconds),
    read: () => readFootballData(raw, SYNTHETIC_FEED),
  })
  return { kind: 'seeded', account }
}
