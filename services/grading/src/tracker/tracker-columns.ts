/**
 * Finds each field's column in a tracker's file by its header. The spellings are those of the common exports;
 * docs/how-to/audit-a-tracker-file.md says where each was seen.
 */
import { withoutAccents } from '../domain/team-names.ts'

/** Spellings of each field without spaces, dashes and case, better ones first. */
const SPELLINGS = {
  date: 'eventdate matchdate gamedate gameday fixturedate kickoff kickofftime starttime eventstart eventstarttime eventtime commencetime matchtime startdate date day datum fecha data dato',
  placed:
    'timeplacediso placedat timeplaced dateplaced betplaced placedtime dateaccepted accepteddate betdatetime betdate betplacedat placementdate createdat timestamp placed',
  home: 'hometeam home homename team1 homeside heim heimteam local',
  away: 'awayteam away awayname team2 awayside visitor visitorteam gast gastteam visitante',
  event:
    'eventname event eventmatch match fixture fixtureevent game matchup teams partita evento partido spiel description propname label',
  market:
    'market markettype marketname bettype betmarket wagertype mercado mercato markt derivative',
  selection:
    'selection betselection selectionname pick bet betname betinfo betdetails outcome tip teamorplayer runner wager pronostico prediction tipp',
  line: 'line handicap points point wagerline hcp',
  odds: 'oddsdecimal decimalodds odds oddstaken takenodds betodds price pricetaken takenprice avgoddsmatched averageoddsmatched avgodds matchedodds oddsamerican americanodds oddsus usodds betamericanodds oddsfractional quote quota cuota cote kurs oddseu euodds',
  stake:
    'stake stakeamount stakemoney amount betamount wageramount risk riskamount units stakeunits einsatz puntata importe mise',
  book: 'bookmaker sportsbook book bookie bookmakername site agency operator platform casa',
  sport: 'sport sports sportname category',
  league: 'league leagues leaguename competition tournament sportleague division liga campionato',
  kind: 'type betkind wagerkind',
  lay: 'bidtype laybet lay backlay backorlay',
  ref: 'betid externalbetid ticket ticketid wagernumber betno betref ref reference id',
} as const

export type TrackerField = keyof typeof SPELLINGS

export type TrackerColumns = {
  /** Column numbers from 0, of the fields that the file has. */
  readonly of: ReadonlyMap<TrackerField, number>
  /** What the header says of its odds: `Odds (US)` is American. */
  readonly notation: 'american' | 'decimal' | undefined
}

/** `Avg. odds matched` is `avgoddsmatched`, `Stake (£)` `stake`. */
const spelling = (header: string): string =>
  withoutAccents(header)
    .replace(/\((?:gbp|eur|usd|aud|units?)\)/g, '')
    .replace(/[^\p{L}\p{N}]/gu, '')

/** What a file must say about each bet, in one column or another. */
function isTracker(of: ReadonlyMap<TrackerField, number>): boolean {
  const isNamed = of.has('event') || (of.has('home') && of.has('away')) || of.has('selection')
  return of.has('odds') && isNamed
}

function notationOf(header: string): TrackerColumns['notation'] {
  const text = header.toLowerCase()
  if (/\bus\b|american/.test(text.replaceAll('_', ' '))) return 'american'
  return /decimal|\beu\b/.test(text.replaceAll('_', ' ')) ? 'decimal' : undefined
}

/** Reads a header; undefined if it is not a tracker's. */
export function findTrackerColumns(header: readonly string[]): TrackerColumns | undefined {
  const spellings = header.map(spelling)
  const of = new Map<TrackerField, number>()
  for (const [field, words] of Object.entries(SPELLINGS)) {
    const word = words.split(' ').find((one) => spellings.includes(one))
    if (word !== undefined) of.set(field as TrackerField, spellings.indexOf(word))
  }
  // One log writes its American price under "line".
  const line = of.get('line')
  if (!of.has('odds') && line !== undefined) {
    of.set('odds', line)
    of.delete('line')
  }
  if (!isTracker(of)) return undefined
  return { of, notation: notationOf(header[of.get('odds') ?? -1] ?? '') }
}
