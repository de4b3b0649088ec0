/** The grader: cards, audits, receipts and public entries over one store. Its only state is a memo. */
import type { Clock } from '@tallystick/service-kit'
import type { Card, CardCounting, GradedCard } from '../../wire/cards.ts'
import type { LedgerPage, PublicEntry } from '../../wire/ledger.ts'
import { createSlateGrader, type SlateGrader } from '../audits/slate-grader.ts'
import {
  AUDIT_TEXT,
  bestInOpening,
  createCountedPicks,
  isCombined,
  keepAudit,
  type Paid,
  type PaidAudit,
  pickOfStored,
  RECEIPT_BYTES,
  SALT_BYTES,
  textsOfPick,
  whyNotCounted,
} from '../closes/committed-pick.ts'
import type { EventState } from '../closes/event-state.ts'
import { isUnconfirmed } from '../closes/far-price.ts'
import type { GradingStore, StoredPick } from '../closes/grading-store.ts'
import type { PickOpening } from '../closes/pick-opening.ts'
import { publicEntries, publicEntry } from '../closes/public-entries.ts'
import { bestRecorded } from '../closes/recorded-prices.ts'
import { resolveEvents } from '../markets/find-events.ts'
import { eventPath, eventPathIn, formatMarketKey, marketPath } from '../markets/markets.ts'
import { type AskedPick, legsIn, type Parlay, type PickRequest } from '../markets/pick-request.ts'

/** A paid grade that is about to be returned. */
type GradeRelease = Paid & {
  readonly pick: AskedPick
  /** The card from `grade`. */
  readonly card: Card
}

type Dependencies = {
  readonly store: GradingStore
  readonly clock: Pick<Clock, 'unixMs'>
  /** Draws bytes for receipts and salts. */
  readonly randomBytes: (size: number) => Uint8Array
}

type Parts = Pick<Dependencies, 'store'> & {
  /** Unix seconds. */
  readonly nowSeconds: () => number
  /** Random bytes in hex. */
  readonly random: (bytes: number) => string
  readonly slates: SlateGrader
  readonly counted: ReturnType<typeof createCountedPicks>
}

async function makeOpening(
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
  const { opening, isBeforeStart } = await makeOpening(parts, paid, pick)
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
async function judgeCounting(
  { counted }: Parts,
  pick: StoredPick,
  state: EventState | undefined,
): Promise<CardCounting> {
  const { seq, opening, options } = pick
  if (isCombined(options)) return { population: null, why: 'combined_bet' }
  if (seq === undefined) return { population: null, why: 'received_after_start' }
  if (state === undefined) return { population: null, why: 'no_recorded_price', seq }
  const why = whyNotCounted(state.earliestStart, pick)
  if (why !== undefined) return { population: null, why, seq }
  const path = eventPathIn(opening.market)
  return (await counted.isCounted(path, state.earliestStart, { opening, seq }))
    ? { population: 'committed', seq }
    : { population: null, why: 'repeated_selection', seq }
}

async function finished(parts: Parts, card: Card, pick: StoredPick): Promise<Card> {
  const [state] = await parts.store.events([eventPathIn(pick.opening.market)])
  const counted = await judgeCounting(parts, pick, state)
  const isLate = counted.population === null && counted.why === 'received_after_start'
  const shown = isLate && card.outcome === 'GRADED' ? withFlag(card) : card
  return { ...shown, counted, receipt: pick.receipt }
}

/** What a parlay that is filed under its first leg has of its own. */
const wholeParlay = ({ isConfirmed, odds, ref }: Parlay) => ({ isConfirmed, odds, ref })

async function release(parts: Parts, paid: GradeRelease): Promise<Card> {
  const picks = await resolveEvents(parts.store, legsIn(paid.pick))
  const known = picks.filter((pick): pick is PickRequest => pick.kind === 'pick')
  const [pick] = known
  // An ambiguous market names no event: there is nothing to commit to, and nothing can change later.
  if (pick === undefined || known.length < picks.length) return paid.card
  const filed =
    paid.pick.kind === 'parlay'
      ? // It is filed under its first leg, with its own price.
        { pick: { ...pick, ...wholeParlay(paid.pick) }, legs: known }
      : { pick }
  return finished(parts, paid.card, await keepPaidPick(parts, paid, filed))
}

async function readCard(parts: Parts, receipt: string): Promise<Card | undefined> {
  const stored = await parts.store.pickByReceipt(receipt)
  if (stored === undefined || stored.options[AUDIT_TEXT] !== undefined) return undefined
  // A pick that counts nowhere has no entry that says when it came.
  const at = isCombined(stored.options) ? stored.opening.receivedAtSeconds : undefined
  return finished(parts, await parts.slates.cardOfOne(pickOfStored(stored), at), stored)
}

export type Grader = ReturnType<typeof createGrader>

/** Every method throws GradingStoreUnavailable if the store fails. */
export function createGrader(dependencies: Dependencies) {
  const { clock, randomBytes, store } = dependencies
  const slates = createSlateGrader(store)
  const random = (bytes: number) => Buffer.from(randomBytes(bytes)).toString('hex')
  const nowSeconds = () => clock.unixMs() / 1_000
  const parts: Parts = { store, nowSeconds, random, slates, counted: createCountedPicks(store) }
  return {
    ...slates,
    /** A pick's card now. Changes nothing: call it before settlement (G4). */
    grade: (pick: AskedPick): Promise<Card> => slates.cardOfOne(pick, nowSeconds()),
    /** Keeps a paid pick, commits it if it came before its start, and gives the card its receipt. Durable when it resolves. */
    release: (paid: GradeRelease): Promise<Card> => release(parts, paid),
    findCard: (receipt: string): Promise<Card | undefined> => readCard(parts, receipt),
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
