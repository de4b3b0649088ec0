/** The grader: cards, audits, receipts and public entries over one store. Its only state is a memo. */
import type { AuditAnswer } from '../wire/audit.ts'
import type { Card, CardCounting, GradedCard } from '../wire/cards.ts'
import type { PublicEntry } from '../wire/ledger.ts'
import { auditCards } from './audit-picks.ts'
import { createCardFigures } from './calibration.ts'
import { countedPicks, type PickOpening, refusalOf, takenOdds } from './committed-pick.ts'
import { type EventState, hasStarted } from './event-state.ts'
import { type FoundNames, resolveEvents } from './find-events.ts'
import { ambiguousCard, gradePick } from './grade-pick.ts'
import type { GradingStore, StoredPick } from './grading-store.ts'
import { hexOf, publicView } from './ledger-entry.ts'
import { eventPath, eventPathOf, formatMarketKey, marketPath } from './markets.ts'
import { parseMarket } from './parse-market.ts'
import type { AskedPick, GradeOptions, PickRequest } from './pick-request.ts'
import { bestRecorded } from './reference-close.ts'

export type AuditRequest = {
  readonly picks: readonly AskedPick[]
  readonly label?: string | undefined
}

/** A paid grade that is about to be returned. */
type GradeRelease = {
  readonly pick: AskedPick
  /** The card from `grade`. */
  readonly card: Card
  readonly payer: string
  /** Unique per payment; repeating it returns the same receipt. */
  readonly paymentId: string
  /**
   * When the request came, or its payment if that was held back; Unix seconds. It decides whether the pick was before the
   * start.
   */
  readonly receivedAtSeconds: number
}

type Dependencies = {
  readonly store: GradingStore
  /** Unix seconds. */
  readonly nowSeconds: () => number
  /** That many random bytes in hex, for receipts and salts. */
  readonly random: (bytes: number) => string
  /** Lets other requests run. */
  readonly breathe?: () => Promise<void>
}

type Parts = Dependencies & { readonly figuresOf: ReturnType<typeof createCardFigures> }

/** What the cards of one request share. */
type Request = {
  readonly names: FoundNames
  readonly figures: ReturnType<ReturnType<typeof createCardFigures>>
}

const openRequest = async ({ store, figuresOf }: Parts): Promise<Request> => ({
  names: new Map(),
  figures: figuresOf(await store.truth()),
})

async function cardsOf(
  { store }: Parts,
  asked: readonly AskedPick[],
  { figures, names, nowSeconds }: Request & { readonly nowSeconds?: number | undefined },
): Promise<readonly Card[]> {
  const picks = await resolveEvents(store, asked, names)
  const paths = picks.map((pick) => (pick.kind === 'pick' ? eventPath(pick.key) : ''))
  const states = await store.events(paths)
  return picks.map((pick, index) => {
    if (pick.kind === 'ambiguous') return ambiguousCard(pick)
    const state = states[index]
    const isLate =
      state !== undefined && nowSeconds !== undefined && hasStarted(state.info, nowSeconds)
    return gradePick(pick, { state, calibration: figures, isLate })
  })
}

async function cardOfOne(parts: Parts, pick: AskedPick, nowSeconds?: number): Promise<Card> {
  const [card] = await cardsOf(parts, [pick], { ...(await openRequest(parts)), nowSeconds })
  if (card === undefined) throw new Error('one pick gave no card')
  return card
}

/** Picks graded between two other requests: some milliseconds, also where every event is read from the file. */
const PICKS_PER_SLICE = 25

/** Cards of many picks, slice by slice. */
async function slicedCards(parts: Parts, picks: readonly AskedPick[]): Promise<readonly Card[]> {
  const request = await openRequest(parts)
  const cards: Card[] = []
  for (let from = 0; from < picks.length; from += PICKS_PER_SLICE) {
    cards.push(...(await cardsOf(parts, picks.slice(from, from + PICKS_PER_SLICE), request)))
    await parts.breathe?.()
  }
  return cards
}

/** A receipt opens a card: 128 bits cannot be guessed. */
const RECEIPT_BYTES = 16
const SALT_BYTES = 32

const optionTexts = (pick: PickRequest): Readonly<Record<string, string>> => ({
  method: pick.options.method,
  basis: pick.options.basis,
  ...(pick.options.reference === undefined ? {} : { reference: pick.options.reference }),
  ...(pick.ref === undefined ? {} : { ref: pick.ref }),
  ...(pick.fieldSize === undefined ? {} : { field_size: String(pick.fieldSize) }),
})

async function openingOf(
  { store, random }: Parts,
  paid: GradeRelease,
  pick: PickRequest,
): Promise<{ readonly opening: PickOpening; readonly isBeforeStart: boolean }> {
  const { key, selection, odds, placedAtSeconds } = pick
  const [state] = await store.events([eventPath(key)])
  const atSeconds = Math.floor(paid.receivedAtSeconds)
  const best = bestRecorded(state, { market: marketPath(key), selection, atSeconds })
  return {
    isBeforeStart: state === undefined || atSeconds < state.info.startAtSeconds,
    opening: {
      market: formatMarketKey(key),
      selection,
      odds: odds.text,
      receivedAtSeconds: atSeconds,
      ...(placedAtSeconds === undefined ? {} : { placedAtSeconds }),
      ...(best === undefined ? {} : { bestRecorded: String(best) }),
      payerTag: await store.payerTag(paid.payer.toLowerCase()),
      salt: random(SALT_BYTES),
    },
  }
}

/** Keeps a pick once per payment, and commits it if it came before its start or the start is not known yet. */
async function keepPaidPick(
  parts: Parts,
  paid: GradeRelease,
  pick: PickRequest,
): Promise<StoredPick> {
  const { store, random } = parts
  const known = await store.pickByPayment(paid.paymentId)
  if (known !== undefined) return known
  const { opening, isBeforeStart } = await openingOf(parts, paid, pick)
  const kept = await store.keepPick(
    {
      receipt: random(RECEIPT_BYTES),
      payer: paid.payer,
      paymentId: paid.paymentId,
      opening,
      options: optionTexts(pick),
    },
    isBeforeStart,
  )
  return kept.pick
}

/** The pick as requested. Throws if the store holds a pick that was never kept. */
function pickOfStored({ opening, options }: StoredPick): PickRequest {
  const parsed = parseMarket({ market: opening.market, selection: opening.selection })
  const odds = takenOdds(opening)
  if (parsed.kind !== 'market' || odds.kind !== 'odds')
    throw new Error('a kept pick has no market or no price')
  const { reference, ref, field_size: fieldSize } = options
  return {
    kind: 'pick',
    key: parsed.key,
    selection: parsed.selection,
    odds,
    placedAtSeconds: opening.placedAtSeconds,
    ref,
    fieldSize: fieldSize === undefined ? undefined : Number(fieldSize),
    options: {
      method: (options['method'] ?? 'power') as GradeOptions['method'],
      basis: (options['basis'] ?? 'auto') as GradeOptions['basis'],
      reference,
    },
  }
}

const withFlag = (card: GradedCard): GradedCard =>
  card.flags.includes('received_after_start')
    ? card
    : { ...card, flags: [...card.flags, 'received_after_start'] }

/** Whether a kept pick counts, by what the ledger knows now. */
async function countingOf(
  { store }: Parts,
  pick: StoredPick,
  state: EventState | undefined,
): Promise<CardCounting> {
  const { seq, opening } = pick
  if (seq === undefined) return { population: null, why: 'received_after_start' }
  if (state === undefined) return { population: null, why: 'no_recorded_price', seq }
  const why = refusalOf(state.info, pick)
  if (why !== undefined) return { population: null, why, seq }
  const committed = await store.picksOf(eventPathOf(opening.market))
  const isCounted = countedPicks(state.info, committed).some((one) => one.seq === seq)
  return isCounted
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

async function release(parts: Parts, paid: GradeRelease): Promise<Card> {
  const [pick] = await resolveEvents(parts.store, [paid.pick])
  // An ambiguous market names no event: there is nothing to commit to, and nothing can change later.
  if (pick === undefined || pick.kind === 'ambiguous') return paid.card
  const kept = await keepPaidPick(parts, paid, pick)
  return finished(parts, paid.card, kept)
}

async function cardOf(parts: Parts, receipt: string): Promise<Card | undefined> {
  const stored = await parts.store.pickByReceipt(receipt)
  if (stored === undefined) return undefined
  return finished(parts, await cardOfOne(parts, pickOfStored(stored)), stored)
}

async function publicEntry(parts: Parts, seq: number): Promise<PublicEntry | undefined> {
  const { store, nowSeconds } = parts
  const stored = await store.entry(seq)
  if (stored === undefined) return undefined
  const head = await store.head()
  const pick = stored.entry.type === 'pick' ? await store.pickBySeq(seq) : undefined
  const [state] =
    pick === undefined ? [undefined] : await store.events([eventPathOf(pick.opening.market)])
  const proof = await store.inclusionProof(seq, head.size)
  return {
    ...publicView(stored, { pick, info: state?.info, nowSeconds: nowSeconds() }),
    inclusion: { size: head.size, root: hexOf(head.rootHash), proof },
  }
}

export type Grader = ReturnType<typeof createGrader>

/** Every method throws GradingStoreUnavailable if the store fails. */
export function createGrader(dependencies: Dependencies) {
  const parts: Parts = { ...dependencies, figuresOf: createCardFigures() }
  return {
    /** A pick's card now. Changes nothing: call it before settlement (G4). */
    grade: (pick: AskedPick): Promise<Card> => cardOfOne(parts, pick, parts.nowSeconds()),
    /** Keeps a paid pick, commits it if it came before its start, and gives the card its receipt. Durable when it resolves. */
    release: (paid: GradeRelease): Promise<Card> => release(parts, paid),
    /** Grades up to 1,000 picks. Changes nothing: audits never commit. */
    audit: async ({ picks, label }: AuditRequest): Promise<AuditAnswer> =>
      auditCards(await slicedCards(parts, picks), label),
    /** The cards that an audit would have: for saying what becomes of each pick, never for its grade. */
    preview: (picks: readonly AskedPick[]): Promise<readonly Card[]> => slicedCards(parts, picks),
    /** The current card of a receipt. */
    cardOf: (receipt: string): Promise<Card | undefined> => cardOf(parts, receipt),
    /** A ledger entry with its inclusion proof; prices only of redistributable sources. */
    publicEntry: (seq: number): Promise<PublicEntry | undefined> => publicEntry(parts, seq),
  }
}
