/**
 * Cards and audits of picks, from what the ledger says now. Nothing here writes, so a reader of the store is enough: the
 * long work of a request runs on one of its own (long-work/).
 */
import type { AuditAnswer } from '../../wire/audit.ts'
import type { Card, OwnRecord } from '../../wire/cards.ts'
import { createCardFigures } from '../calibration/calibration.ts'
import { hasStarted } from '../closes/event-state.ts'
import { isUnconfirmed } from '../closes/far-price.ts'
import type { LedgerReader } from '../closes/grading-store.ts'
import { asksPrice } from '../grading/asked-price.ts'
import { gradeEachWay, gradeParlay, type PricedCard } from '../grading/combined-bets.ts'
import { ambiguousCard, gradePick } from '../grading/grade-pick.ts'
import { createPreparedSelections, type prepareSelection } from '../grading/prepare-selection.ts'
import { type FoundNames, resolveEvents } from '../markets/find-events.ts'
import { eventPath } from '../markets/markets.ts'
import {
  type AskedPick,
  legsIn,
  type MatchChoice,
  type SinglePick,
} from '../markets/pick-request.ts'
import { isLeagueUncompared } from '../markets/team-names.ts'
import { auditContext } from './audit-context.ts'
import { auditCards } from './audit-picks.ts'
import { type Found, findDifferences, freeTolerance } from './record-findings.ts'

export type AuditRequest = {
  readonly picks: readonly AskedPick[]
  readonly label?: string | undefined
}

type Parts = {
  readonly store: LedgerReader
  readonly figureCard: ReturnType<typeof createCardFigures>
  readonly prepare: typeof prepareSelection
}

/** What the cards of one request share. */
type Request = {
  readonly names: FoundNames
  readonly figures: ReturnType<ReturnType<typeof createCardFigures>>
  /** When the request came, Unix seconds; absent if the cards do not depend on it. */
  readonly nowSeconds: number | undefined
}

const openRequest = async (
  { store, figureCard }: Parts,
  nowSeconds?: number,
): Promise<Request> => ({
  names: new Map(),
  figures: figureCard(await store.truth()),
  nowSeconds,
})

async function singleCards(
  { prepare, store }: Parts,
  askedPicks: readonly SinglePick[],
  { figures, names, nowSeconds }: Request,
): Promise<readonly PricedCard[]> {
  const picks = await resolveEvents(store, askedPicks, names)
  const paths = picks.map((pick) => (pick.kind === 'pick' ? eventPath(pick.key) : ''))
  const states = await store.events(paths)
  return picks.map((pick, index) => {
    if (pick.kind === 'ambiguous') return { card: ambiguousCard(pick), readRange: () => undefined }
    const state = states[index]
    const isLate =
      state !== undefined && nowSeconds !== undefined && hasStarted(state.info, nowSeconds)
    const context = { state, prepare, calibration: figures, isLate }
    const { eachWay } = pick
    const card =
      eachWay === undefined ? gradePick(pick, context) : gradeEachWay({ ...pick, eachWay }, context)
    const readRange = () => state && prepare(state, pick).recorded
    return { card, readRange, league: state?.info.league }
  })
}

const cardsOnly = (priced: readonly PricedCard[]): readonly Card[] => priced.map(({ card }) => card)

/** Cards of picks in order; a parlay's is made of its legs'. */
async function makeCards(
  parts: Parts,
  askedPicks: readonly AskedPick[],
  request: Request,
): Promise<readonly PricedCard[]> {
  const singles = await singleCards(parts, askedPicks.flatMap(legsIn), request)
  if (singles.length === askedPicks.length) return singles
  let from = 0
  return askedPicks.map((pick) => {
    const cards = singles.slice(from, from + legsIn(pick).length)
    from += cards.length
    const [single] = cards
    if (pick.kind === 'parlay') return gradeParlay(pick, cards, request.figures)
    if (single === undefined) throw new Error('a pick gave no card')
    return single
  })
}

async function cardOfOne(parts: Parts, pick: AskedPick, nowSeconds?: number): Promise<Card> {
  const [priced] = await makeCards(parts, [pick], await openRequest(parts, nowSeconds))
  if (priced === undefined) throw new Error('one pick gave no card')
  return priced.card
}

/** A finished card with what the bettor's record says of its bet (G22). */
const withOwnRecord = (card: Card, own: OwnRecord | undefined): Card =>
  own === undefined ? card : { ...card, pick: { ...card.pick, own } }

async function makeAudit(parts: Parts, { picks, label }: AuditRequest): Promise<AuditAnswer> {
  const request = await openRequest(parts)
  const cards = cardsOnly(await makeCards(parts, picks, request))
  const singles = await resolveEvents(parts.store, picks.flatMap(legsIn), request.names)
  const isOut = (place: number): boolean =>
    cards[place] !== undefined && isUnconfirmed(cards[place])
  const context = { label, ...auditContext({ picks, singles, isOut }) }
  const shown = cards.map((card, place) => withOwnRecord(card, picks[place]?.own))
  return auditCards(shown, context)
}

/** A league of the record that no table compares with the ledger's. */
function leagueFindings({ card, league, legs }: PricedCard, pick: AskedPick): readonly Found[] {
  if (pick.kind === 'parlay')
    return (legs ?? []).flatMap((leg, place) => {
      const own = pick.legs[place]
      return own === undefined ? [] : leagueFindings(leg, own)
    })
  if (pick.kind !== 'pick' || league === undefined || pick.league === undefined) return []
  const stated = pick.league
  if (card.outcome === 'UNGRADED' || !isLeagueUncompared(pick.key.sport, stated, league)) return []
  const message = `The ledger has this match in “${league}”; no table says whether “${stated}” is the same league.`
  return [{ kind: 'league', stated, ledger: league, message }]
}

/** What a free look tells about the records of picks. */
async function lookFindings(
  { store }: Parts,
  priced: PricedCard,
  pick: AskedPick,
): Promise<ReturnType<typeof findDifferences>> {
  const { card } = priced
  const leagues = leagueFindings(priced, pick)
  if (pick.own === undefined) return leagues
  const close = card.outcome === 'GRADED' ? card.close.record.hash : ''
  const secret = await store.payerTag(`look ${close} ${card.pick.market} ${card.pick.selection}`)
  return [...leagues, ...findDifferences(card, pick.own, freeTolerance(secret))]
}

export type SlateGrader = ReturnType<typeof createSlateGrader>

/** Every method throws GradingStoreUnavailable if the store fails. */
export function createSlateGrader(store: LedgerReader) {
  const figuresFor = createCardFigures()
  const parts: Parts = { store, figureCard: figuresFor, prepare: createPreparedSelections() }
  return {
    /** A pick's card as of a moment, Unix seconds; without one, whether it came late is not looked at. */
    cardOfOne: (pick: AskedPick, nowSeconds?: number): Promise<Card> =>
      cardOfOne(parts, pick, nowSeconds),
    /** Grades up to 1,000 picks. Changes nothing: audits never commit. */
    audit: (request: AuditRequest): Promise<AuditAnswer> => makeAudit(parts, request),
    /** The cards that an audit of a few picks would have: they say what would become of each pick, never its grade. */
    preview: async (picks: readonly AskedPick[]): Promise<readonly PricedCard[]> =>
      makeCards(parts, picks, await openRequest(parts)),
    /** The bets that a pick's names may mean, if it is not clear which match; a free look asks. */
    matchChoices: async (pick: SinglePick): Promise<readonly MatchChoice[]> => {
      const [found] = await resolveEvents(store, [pick])
      return found?.kind === 'ambiguous' ? (found.choices ?? []) : []
    },
    /** Whether a free look asks if a previewed pick was taken at this price. */
    asksPrice: (priced: PricedCard): Promise<boolean> => asksPrice(store, priced),
    /** Where the record of a previewed pick differs from the ledger, as far as a free look may tell. */
    lookFindings: (priced: PricedCard, pick: AskedPick) => lookFindings(parts, priced, pick),
  }
}
