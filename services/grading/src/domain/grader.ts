/** The grader: cards, audits, receipts and public entries over one store. Its only state is a memo. */
import type { AuditAnswer } from '../wire/audit.ts'
import type { Card, CardCounting, GradedCard, OwnRecord } from '../wire/cards.ts'
import type { LedgerPage, PublicEntry } from '../wire/ledger.ts'
import { asksPrice } from './asked-price.ts'
import { auditContext } from './audit-context.ts'
import { auditCards } from './audit-picks.ts'
import { createCardFigures } from './calibration.ts'
import { gradeEachWay, gradeParlay, type PricedCard } from './combined-bets.ts'
import { bestInOpening, createCountedPicks, type PickOpening, refusalOf } from './committed-pick.ts'
import { type EventState, hasStarted } from './event-state.ts'
import { isUnconfirmed } from './far-price.ts'
import { type FoundNames, resolveEvents } from './find-events.ts'
import { ambiguousCard, gradePick } from './grade-pick.ts'
import type { GradingStore, StoredPick } from './grading-store.ts'
import {
  AUDIT_TEXT,
  isCombined,
  keepAudit,
  type Paid,
  type PaidAudit,
  pickOfStored,
  RECEIPT_BYTES,
  SALT_BYTES,
  textsOfPick,
} from './kept-pick.ts'
import { eventPath, eventPathOf, formatMarketKey, marketPath } from './markets.ts'
import {
  type AskedPick,
  legsOf,
  type MatchChoice,
  type Parlay,
  type PickRequest,
  type SinglePick,
} from './pick-request.ts'
import { prepareSelection } from './prepare-selection.ts'
import { publicEntries, publicEntry } from './public-entries.ts'
import { type Found, findingsOf, freeTolerance } from './record-findings.ts'
import { bestRecorded } from './recorded-prices.ts'
import { isLeagueUncompared } from './team-names.ts'

export type AuditRequest = {
  readonly picks: readonly AskedPick[]
  readonly label?: string | undefined
}

/** A paid grade that is about to be returned. */
type GradeRelease = Paid & {
  readonly pick: AskedPick
  /** The card from `grade`. */
  readonly card: Card
}

type Dependencies = {
  readonly store: GradingStore
  /** Unix seconds. */
  readonly nowSeconds: () => number
  /** Random bytes in hex, as many as asked for, for receipts and salts. */
  readonly random: (bytes: number) => string
  /** Lets other requests run. */
  readonly breathe?: () => Promise<void>
}

type Parts = Dependencies & {
  readonly figuresOf: ReturnType<typeof createCardFigures>
  readonly counted: ReturnType<typeof createCountedPicks>
}

/** What the cards of one request share. */
type Request = {
  readonly names: FoundNames
  readonly figures: ReturnType<ReturnType<typeof createCardFigures>>
  /** When the request came, Unix seconds; absent if the cards do not depend on it. */
  readonly nowSeconds: number | undefined
}

const openRequest = async ({ store, figuresOf }: Parts, nowSeconds?: number): Promise<Request> => ({
  names: new Map(),
  figures: figuresOf(await store.truth()),
  nowSeconds,
})

async function singleCards(
  { store }: Parts,
  asked: readonly SinglePick[],
  { figures, names, nowSeconds }: Request,
): Promise<readonly PricedCard[]> {
  const picks = await resolveEvents(store, asked, names)
  const paths = picks.map((pick) => (pick.kind === 'pick' ? eventPath(pick.key) : ''))
  const states = await store.events(paths)
  return picks.map((pick, index) => {
    if (pick.kind === 'ambiguous') return { card: ambiguousCard(pick), recorded: undefined }
    const state = states[index]
    const isLate =
      state !== undefined && nowSeconds !== undefined && hasStarted(state.info, nowSeconds)
    const context = { state, calibration: figures, isLate }
    const { eachWay } = pick
    const card =
      eachWay === undefined ? gradePick(pick, context) : gradeEachWay({ ...pick, eachWay }, context)
    const recorded = state && prepareSelection(state, pick).recorded
    return { card, recorded, league: state?.info.league }
  })
}

const cardsOnly = (priced: readonly PricedCard[]): readonly Card[] => priced.map(({ card }) => card)

/** Cards of picks in order; a parlay's is made of its legs'. */
async function cardsOf(
  parts: Parts,
  asked: readonly AskedPick[],
  request: Request,
): Promise<readonly PricedCard[]> {
  const singles = await singleCards(parts, asked.flatMap(legsOf), request)
  if (singles.length === asked.length) return singles
  let from = 0
  return asked.map((pick) => {
    const cards = singles.slice(from, from + legsOf(pick).length)
    from += cards.length
    const [single] = cards
    if (pick.kind === 'parlay') return gradeParlay(pick, cards, request.figures)
    if (single === undefined) throw new Error('a pick gave no card')
    return single
  })
}

async function cardOfOne(parts: Parts, pick: AskedPick, nowSeconds?: number): Promise<Card> {
  const [priced] = await cardsOf(parts, [pick], await openRequest(parts, nowSeconds))
  if (priced === undefined) throw new Error('one pick gave no card')
  return priced.card
}

/** Picks graded between two other requests: a few milliseconds, even if every event is read from the file. */
const PICKS_PER_SLICE = 10

/** Picks in slices of so many legs; a parlay has up to twenty. */
function* slicesOf(picks: readonly AskedPick[]): Generator<readonly AskedPick[]> {
  let [from, legs] = [0, 0]
  for (const [place, pick] of picks.entries()) {
    legs += legsOf(pick).length
    if (legs < PICKS_PER_SLICE && place < picks.length - 1) continue
    yield picks.slice(from, place + 1)
    from = place + 1
    legs = 0
  }
}

async function openingOf(
  { store, random }: Parts,
  paid: GradeRelease,
  { key, odds, placedAtSeconds, selection }: PickRequest,
) {
  const [state] = await store.events([eventPath(key)])
  const atSeconds = Math.floor(paid.receivedAtSeconds)
  const best = bestRecorded(state, { market: marketPath(key), selection, atSeconds })
  const opening: PickOpening = {
    market: formatMarketKey(key),
    selection,
    odds: odds.text,
    receivedAtSeconds: atSeconds,
    ...(placedAtSeconds === undefined ? {} : { placedAtSeconds }),
    ...bestInOpening(best, () => random(SALT_BYTES)),
    ...(isUnconfirmed(paid.card) ? { isUnconfirmed: true as const } : {}),
    payerTag: await store.payerTag(paid.payer.toLowerCase()),
    salt: random(SALT_BYTES),
  }
  const isBeforeStart = state === undefined || atSeconds < state.earliestStart.startAtSeconds
  return { opening, isBeforeStart }
}

/** Keeps a pick once per payment, and commits it if it came before its start or the start is not known yet. */
async function keepPaidPick(
  parts: Parts,
  paid: GradeRelease,
  { pick, legs }: { readonly pick: PickRequest; readonly legs?: readonly PickRequest[] },
): Promise<StoredPick> {
  const { store, random } = parts
  const { payer, paymentId } = paid
  const { opening, isBeforeStart } = await openingOf(parts, paid, pick)
  const options = textsOfPick(pick, legs)
  return store.keepPick(
    { receipt: random(RECEIPT_BYTES), payer, paymentId, opening, options },
    isBeforeStart && !isCombined(options),
  )
}

const withFlag = (card: GradedCard): GradedCard =>
  card.flags.includes('received_after_start')
    ? card
    : { ...card, flags: [...card.flags, 'received_after_start'] }

/** Whether a kept pick counts, by what the ledger knows now. */
async function countingOf(
  { counted }: Parts,
  pick: StoredPick,
  state: EventState | undefined,
): Promise<CardCounting> {
  const { seq, opening, options } = pick
  if (isCombined(options)) return { population: null, why: 'combined_bet' }
  if (seq === undefined) return { population: null, why: 'received_after_start' }
  if (state === undefined) return { population: null, why: 'no_recorded_price', seq }
  const why = refusalOf(state.earliestStart, pick)
  if (why !== undefined) return { population: null, why, seq }
  const path = eventPathOf(opening.market)
  return (await counted.isCounted(path, state.earliestStart, { opening, seq }))
    ? { population: 'committed', seq }
    : { population: null, why: 'repeated_selection', seq }
}

async function finished(parts: Parts, card: Card, pick: StoredPick): Promise<Card> {
  const [state] = await parts.store.events([eventPathOf(pick.opening.market)])
  const counted = await countingOf(parts, pick, state)
  const isLate = counted.population === null && counted.why === 'received_after_start'
  const shown = isLate && card.outcome === 'GRADED' ? withFlag(card) : card
  return { ...shown, counted, receipt: pick.receipt }
}

/** What a parlay that is filed under its first leg has of its own. */
const wholeOf = ({ isConfirmed, odds, ref }: Parlay) => ({ isConfirmed, odds, ref })

async function release(parts: Parts, paid: GradeRelease): Promise<Card> {
  const picks = await resolveEvents(parts.store, legsOf(paid.pick))
  const known = picks.filter((pick): pick is PickRequest => pick.kind === 'pick')
  const [pick] = known
  // An ambiguous market names no event: there is nothing to commit to, and nothing can change later.
  if (pick === undefined || known.length < picks.length) return paid.card
  const filed =
    paid.pick.kind === 'parlay'
      ? // It is filed under its first leg, with its own price.
        { pick: { ...pick, ...wholeOf(paid.pick) }, legs: known }
      : { pick }
  return finished(parts, paid.card, await keepPaidPick(parts, paid, filed))
}

async function cardOf(parts: Parts, receipt: string): Promise<Card | undefined> {
  const stored = await parts.store.pickByReceipt(receipt)
  if (stored === undefined || stored.options[AUDIT_TEXT] !== undefined) return undefined
  // A pick that counts nowhere has no entry that says when it came.
  const at = isCombined(stored.options) ? stored.opening.receivedAtSeconds : undefined
  return finished(parts, await cardOfOne(parts, pickOfStored(stored), at), stored)
}

/** A finished card with what the bettor's record says of its bet (G22). */
const withOwnRecord = (card: Card, own: OwnRecord | undefined): Card =>
  own === undefined ? card : { ...card, pick: { ...card.pick, own } }

async function auditOf(parts: Parts, { picks, label }: AuditRequest): Promise<AuditAnswer> {
  const request = await openRequest(parts)
  const cards: Card[] = []
  for (const slice of slicesOf(picks)) {
    cards.push(...cardsOnly(await cardsOf(parts, slice, request)))
    await parts.breathe?.()
  }
  const singles = await resolveEvents(parts.store, picks.flatMap(legsOf), request.names)
  const isOut = (place: number): boolean =>
    cards[place] !== undefined && isUnconfirmed(cards[place])
  const context = { label, ...auditContext({ picks, singles, isOut }) }
  await parts.breathe?.()
  const shown = cards.map((card, place) => withOwnRecord(card, picks[place]?.own))
  return await auditCards(shown, context, parts.breathe)
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
): Promise<ReturnType<typeof findingsOf>> {
  const { card } = priced
  const leagues = leagueFindings(priced, pick)
  if (pick.own === undefined) return leagues
  const close = card.outcome === 'GRADED' ? card.close.record.hash : ''
  const secret = await store.payerTag(`look ${close} ${card.pick.market} ${card.pick.selection}`)
  return [...leagues, ...findingsOf(card, pick.own, freeTolerance(secret))]
}

export type Grader = ReturnType<typeof createGrader>

/** Every method throws GradingStoreUnavailable if the store fails. */
export function createGrader(dependencies: Dependencies) {
  const counted = createCountedPicks(dependencies.store)
  const parts: Parts = { ...dependencies, figuresOf: createCardFigures(), counted }
  return {
    /** A pick's card now. Changes nothing: call it before settlement (G4). */
    grade: (pick: AskedPick): Promise<Card> => cardOfOne(parts, pick, parts.nowSeconds()),
    /** Keeps a paid pick, commits it if it came before its start, and gives the card its receipt. Durable when it resolves. */
    release: (paid: GradeRelease): Promise<Card> => release(parts, paid),
    /** Grades up to 1,000 picks. Changes nothing: audits never commit. */
    audit: (request: AuditRequest): Promise<AuditAnswer> => auditOf(parts, request),
    /** The cards that an audit of a few picks would have: they say what would become of each pick, never its grade. */
    preview: async (picks: readonly AskedPick[]): Promise<readonly PricedCard[]> =>
      cardsOf(parts, picks, await openRequest(parts)),
    /** The bets that a pick's names may mean, if it is not clear which match; a free look asks. */
    matchChoices: async (pick: SinglePick): Promise<readonly MatchChoice[]> => {
      const [found] = await resolveEvents(parts.store, [pick])
      return found?.kind === 'ambiguous' ? (found.choices ?? []) : []
    },
    /** Whether a free look asks if a previewed pick was taken at this price. */
    asksPrice: (priced: PricedCard): Promise<boolean> => asksPrice(parts.store, priced),
    /** Where the record of a previewed pick differs from the ledger, as far as a free look may tell. */
    lookFindings: (priced: PricedCard, pick: AskedPick) => lookFindings(parts, priced, pick),
    cardOf: (receipt: string): Promise<Card | undefined> => cardOf(parts, receipt),
    /** A ledger entry with its inclusion proof; prices only of redistributable sources. */
    publicEntry: (seq: number): Promise<PublicEntry | undefined> => publicEntry(parts, seq),
    /** Entries before a given one, or the newest; newest first, without proofs. */
    publicEntries: (before: number | undefined): Promise<LedgerPage> =>
      publicEntries(parts, before),
    /** Keeps a paid audit's request, once per payment; gives the receipt that reads it again. */
    keepAudit: (audit: PaidAudit): Promise<string> => keepAudit(parts, audit),
    /** The request of a kept audit, as it was sold. */
    auditText: async (receipt: string): Promise<string | undefined> =>
      (await parts.store.pickByReceipt(receipt))?.options[AUDIT_TEXT],
  }
}
