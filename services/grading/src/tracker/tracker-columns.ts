/**
 * Finds each field's column in a tracker's file by its header. The spellings are those of the common exports;
 * docs/how-to/audit-a-tracker-file.md says where each was seen.
 */
import { withoutAccents } from '../domain/team-names.ts'
import type { OddsNotation } from '../wire/requests.ts'
import { notationOfHeader } from './tracker-odds.ts'

/** Spellings of each field without spaces, dashes and case, better ones first. */
const SPELLINGS = {
  date: 'eventdate matchdate gamedate gameday fixturedate kickoff kickofftime starttime eventstart eventstarttime eventtime commencetime matchtime gametime startdate date day datum fecha data dato ko',
  placed:
    'timeplacediso placedat timeplaced dateplaced placeddate betplaced placedon placedtime dateaccepted accepteddate accepted betdatetime betdate bettime betplacedat placementdate placementtime createdat timestamp placed',
  home: 'hometeam home homename team1 homeside heim heimteam local',
  away: 'awayteam away awayname team2 awayside visitor visitorteam gast gastteam visitante',
  event:
    'eventname event eventmatch match fixture fixtureevent game matchup teams partita evento partido spiel description propname label',
  market:
    'market markettype marketname bettype betmarket wagertype mercado mercato markt derivative',
  selection:
    'selection betselection selectionname pick bet betname betinfo betdetails outcome tip teamorplayer runner wager pronostico prediction tipp',
  line: 'line handicap points point wagerline hcp',
  odds: 'oddsdecimal decimalodds odds oddstaken takenodds betodds price pricetaken takenprice avgoddsmatched averageoddsmatched avgodds matchedodds oddsamerican americanodds oddsus usodds betamericanodds oddsfractional fractionalodds oddshk hkodds oddshongkong oddsmalay malayodds oddsindonesian oddscents pricecents avgprice averageprice shareprice quote quota cuota cote kurs oddseu euodds',
  stake:
    'stake stakeamount stakemoney amount betamount wageramount risk riskamount units stakeunits einsatz puntata importe mise',
  result:
    'result betresult resultado ergebnis esito status betstatus winloss winlose wl win won outcomeresult',
  profit: 'profit profitloss netprofit pl pnl netpl profitamount netresult net guadagno ganancia',
  closing_odds:
    'closingodds closingoddsdecimal closingoddsus closingoddsamerican oddsclosing closingprice closeodds closeprice clodds pinnacleclosingodds pinnacleclosing',
  closing_line: 'closingline closeline closing',
  book: 'bookmaker sportsbook book bookie bookmakername site agency operator platform casa',
  sport: 'sport sports sportname category',
  league: 'league leagues leaguename competition tournament sportleague division liga campionato',
  notation: 'oddstype oddsformat oddsnotation priceformat pricetype oddsstyle oddsfmt formatodds',
  confirmed: 'confirmed priceconfirmed',
  ref: 'betid externalbetid ticket ticketid wagernumber betno betref ref reference id',
} as const

/** Columns that say what kind of bet a row is, by what they say; a file may have several of each. */
const HINT_SPELLINGS = {
  live: 'live livebet livebets betlive islive livebetting livewager liveplay inplay inplaybet isinplay inrunning ingame ingamebet liveinplay inplaylive liveprematch prematchlive livepre prelive livepregame pregamelive liveorprematch livepregame wasinplay waslive placedlive placedinplay livewette envivo dalvivo aovivo endirect',
  timing:
    'bettiming timing wagertiming phase betphase matchphase betperiodtype whenplaced minute matchminute gameminute',
  prematch: 'prematch ispre isprematch prematchbet pregame ispregame',
  many: 'parlay isparlay multi ismulti multibet multiple ismultiple multiples sgp issgp samegameparlay samegame acca isacca accumulator combo iscombo combination betbuilder isbetbuilder teaser isteaser roundrobin kombi kombiwette parlayid multiid samegamemulti sgm parlayname parlaytype',
  legs: 'legs leg oflegs ofselections legcount legscount numlegs nlegs numberoflegs nooflegs numoflegs totallegs selections selectionscount numberofselections noofselections numselections nselections selectioncount folds fold nooffolds picks pickcount numberofpicks legnumber legno parlaylegs eventscount numberofevents',
  side: 'side betside action betaction direction betdirection position betposition order trade yesno contractside contract stance takenside outcomeside shareside',
  backlay:
    'bidtype backlay layback backorlay layorback bl orderside tradeside buysell buyorsell buysellside exchangeside bettypebacklay exchangetype',
  lay: 'laybet lay islay layed laid layflag',
  each_way: 'eachway ew isew iseachway eachwaybet',
  kinds:
    'type bettype betkind wagertype wagerkind kind ticket tickettype sliptype slip betstyle betclass betcategory betstructure structure wageringtype typeofbet typeofwager bettingtype wettart typ tipo tipoapuesta tipodeapuesta tiposcommessa typepari format betformat mode betmode',
  tags: 'tags tag labels label bettags note notes betnotes comment comments remark remarks memo strategy keywords hashtags details info description extra',
} as const

type TrackerHint = keyof typeof HINT_SPELLINGS

/** Columns whose words say nothing of a bet's kind: what became of it, and whose it is. */
const SILENT = new Set(
  'status betstatus result betresult outcome score finalscore scoreresult won win state settled settlement profit payout tipper tipster capper source'.split(
    ' ',
  ),
)

export type TrackerField = keyof typeof SPELLINGS

export type TrackerColumns = {
  /** Column numbers from 0, of the fields that the file has. */
  readonly of: ReadonlyMap<TrackerField, number>
  /** Of a day and a clock in columns of their own: all of the field's columns, better ones first. */
  readonly times: ReadonlyMap<'date' | 'placed', readonly number[]>
  /** Of the columns that say what kind of bet a row is. */
  readonly hints: ReadonlyMap<TrackerHint, readonly number[]>
  /** Columns that no list knows: a whole cell may still name a kind. */
  readonly others: readonly number[]
  /** What the header says of its odds: `Odds (US)` is American. */
  readonly notation: OddsNotation | undefined
}

/** A row by what its columns mean. */
export type TrackerCells = {
  readonly cell: (field: TrackerField) => string
  /** The cells of all columns that say such a thing. */
  readonly hints: (hint: TrackerHint) => readonly string[]
  readonly others: readonly string[]
}

/** `20:00`, `7:45 PM`. */
const CLOCK_ALONE =
  /^\d{1,2}[:.]\d{2}(?::\d{2})?\s*(?:[ap]m)?(?:\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?$/i

/** A day with its clock, wherever the two stand. */
function momentIn(cells: readonly string[]): string {
  const written = cells.filter((text) => text !== '')
  const day = written.find((text) => !CLOCK_ALONE.test(text))
  const clock = written.find((text) => CLOCK_ALONE.test(text))
  if (day === undefined) return clock ?? ''
  return clock === undefined || /\d:\d/.test(day) ? day : `${day} ${clock.replace('.', ':')}`
}

export function cellsOf(columns: TrackerColumns, record: readonly string[]): TrackerCells {
  const at = (column: number | undefined): string => record[column ?? -1] ?? ''
  return {
    cell: (field) =>
      field === 'date' || field === 'placed'
        ? momentIn((columns.times.get(field) ?? []).map(at))
        : at(columns.of.get(field)),
    hints: (hint) => (columns.hints.get(hint) ?? []).map(at),
    others: columns.others.map(at),
  }
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

/** Columns by what the spelling of their header means, better spellings first. */
const columnsNamed = (words: string, spellings: readonly string[]): readonly number[] =>
  words.split(' ').flatMap((word) => {
    const column = spellings.indexOf(word)
    return column === -1 ? [] : [column]
  })

/** Reads a header; undefined if it is not a tracker's. */
export function findTrackerColumns(header: readonly string[]): TrackerColumns | undefined {
  const spellings = header.map(spelling)
  const of = new Map<TrackerField, number>()
  for (const [field, words] of Object.entries(SPELLINGS)) {
    const [column] = columnsNamed(words, spellings)
    if (column !== undefined) of.set(field as TrackerField, column)
  }
  // One log writes its American price under "line".
  const line = of.get('line')
  if (!of.has('odds') && line !== undefined) {
    of.set('odds', line)
    of.delete('line')
  }
  if (!isTracker(of)) return undefined
  const hints = new Map(
    Object.entries(HINT_SPELLINGS).map(([hint, words]) => [
      hint as TrackerHint,
      columnsNamed(words, spellings),
    ]),
  )
  const times = new Map(
    (['date', 'placed'] as const).map((field) => [
      field,
      columnsNamed(SPELLINGS[field], spellings),
    ]),
  )
  const known = new Set([...of.values(), ...[...hints.values(), ...times.values()].flat()])
  const others = header.flatMap((_name, column) =>
    known.has(column) || SILENT.has(spellings[column] ?? '') ? [] : [column],
  )
  return {
    of,
    times,
    hints,
    others,
    notation: notationOfHeader(header[of.get('odds') ?? -1] ?? ''),
  }
}
