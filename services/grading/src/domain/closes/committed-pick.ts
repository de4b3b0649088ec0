/**
 * A paid pick as it is kept and read again: a salted commitment until its event starts, and the rules for whether it counts (G6).
 * What its opening lacks is kept as text by name, so a store needs no column for a new kind of bet.
 */
import { canonicalJson, preimageHash } from '@tallystick/hashchain'
import { parseDecimalOdds, parseOdds } from '@tallystick/odds'
import { BoundedMap } from '@tallystick/service-kit'
import type { NotCountedReason } from '../../wire/cards.ts'
import { formatMarketKey } from '../markets/markets.ts'
import { parseMarket } from '../markets/parse-market.ts'
import type { GradeOptions, Parlay, PickRequest } from '../markets/pick-request.ts'
import type { EarliestStart } from './event-state.ts'
import type { GradingStore, StoredPick } from './grading-store.ts'
import type { CommittedPick, PickOpening } from './pick-opening.ts'
import { isWithinReach } from './recorded-prices.ts'

/** The members of an opening that give the best recorded price; a price that may not be shown gets its own salt. */
export function bestInOpening(
  best: { readonly odds: number; readonly isOpen: boolean } | undefined,
  newSalt: () => string,
): Pick<PickOpening, 'bestRecorded' | 'isBestOpen' | 'bestSalt'> {
  if (best === undefined) return {}
  const shown = { bestRecorded: String(best.odds) }
  return best.isOpen ? { ...shown, isBestOpen: true } : { ...shown, bestSalt: newSalt() }
}

type CommittedForm = Omit<PickOpening, 'bestSalt'> & {
  /** SHA-256 of the best price's salt, a space and the price, hex. */
  readonly bestCommitment?: string
}

/** What the commitment covers, and what is shown once the event has started: a best price that may not be shown is its own commitment. */
export function committedForm(opening: PickOpening): CommittedForm {
  const { bestRecorded, bestSalt, ...rest } = opening
  if (bestSalt === undefined) return opening
  return { ...rest, bestCommitment: preimageHash(`${bestSalt} ${bestRecorded ?? ''}`) }
}

/** The commitment to a pick: SHA-256 of the RFC 8785 JSON of what may be shown of it, hex. */
export const commitmentHash = (opening: PickOpening): string =>
  preimageHash(canonicalJson(committedForm(opening)))

/** Why a committed pick, taken alone, does not count; undefined if it does (G6). */
export function whyNotCounted(
  { startAtSeconds }: EarliestStart,
  { opening }: Pick<CommittedPick, 'opening'>,
): Exclude<NotCountedReason, 'not_kept' | 'repeated_selection'> | undefined {
  if (opening.receivedAtSeconds >= startAtSeconds) return 'received_after_start'
  if (opening.isUnconfirmed === true) return 'price_far_from_recorded'
  const best = parseDecimalOdds(opening.bestRecorded)
  const taken = parseOdds(opening.odds)
  if (best.kind !== 'odds' || taken.kind !== 'odds') return 'no_recorded_price'
  return isWithinReach(taken.decimal, best.decimal) ? undefined : 'above_recorded_price'
}

/** What counts once per payer and event: a selection of a market, at any line. */
function repeatKey(opening: Pick<PickOpening, 'payerTag' | 'market' | 'selection'>): string {
  const [, , type, period] = opening.market.split('/')
  const participant = opening.market.split('@')[1] ?? ''
  return `${opening.payerTag} ${type}/${period}@${participant} ${opening.selection}`
}

/** For each payer's selection, the place of the pick that counts: the first that no rule refuses. */
type Counted = Map<string, number>

/** Takes the next pick in the order of the ledger; says whether it counts. */
function take(counted: Counted, start: EarliestStart, pick: CommittedPick): boolean {
  const key = repeatKey(pick.opening)
  if (counted.has(key) || whyNotCounted(start, pick) !== undefined) return false
  counted.set(key, pick.seq)
  return true
}

/** The committed picks that count; `picks` are in ledger order. */
export function countedPicks(
  start: EarliestStart,
  picks: readonly CommittedPick[],
): readonly CommittedPick[] {
  const counted: Counted = new Map()
  return picks.filter((pick) => take(counted, start, pick))
}

/** Events remembered: some hundred bytes a pick. */
const EVENTS_MAX = 64

/** The picks of an event up to one of them. */
type Looked = {
  readonly startAtSeconds: number
  readonly counted: Counted
  lastSeq: number
}

/**
 * Whether a committed pick counts, for a reader of its card. The rule examines every earlier pick of the event and remembers
 * them, so a read examines only the event's new picks. Throws GradingStoreUnavailable.
 */
export function createCountedPicks(store: Pick<GradingStore, 'readEventPicks'>) {
  const events = new BoundedMap<string, Looked>(EVENTS_MAX)
  return {
    /** Whether this is the one pick of its payer and selection that counts. */
    async isCounted(
      path: string,
      start: EarliestStart,
      { opening, seq }: CommittedPick,
    ): Promise<boolean> {
      const { startAtSeconds } = start
      let looked = events.get(path)
      // An earlier start can make a timely pick late: all are examined again.
      if (looked?.startAtSeconds !== startAtSeconds) {
        looked = { startAtSeconds, counted: new Map(), lastSeq: -1 }
        events.set(path, looked)
      }
      for (const pick of await store.readEventPicks(path, looked.lastSeq)) {
        take(looked.counted, start, pick)
        looked.lastSeq = Math.max(looked.lastSeq, pick.seq)
      }
      return looked.counted.get(repeatKey(opening)) === seq
    },
  }
}

/** A receipt opens a card: 128 bits cannot be guessed. */
export const RECEIPT_BYTES = 16
export const SALT_BYTES = 32

type Texts = StoredPick['options']

/** How a price far from anything recorded is kept if the bettor confirmed it. */
const CONFIRMED = 'confirmed'

/** The option that holds the text of a kept audit's request. */
export const AUDIT_TEXT = 'audit'

/** Who paid for a kept pick or audit, and when. */
export type Paid = {
  readonly payer: string
  /** Unique per payment; repeating it keeps nothing new. */
  readonly paymentId: string
  /**
   * When the request came, or its payment if that was held back; Unix seconds. It decides whether a pick came before
   * the start.
   */
  readonly receivedAtSeconds: number
}

export type PaidAudit = Paid & {
  /** The request's canonical text, with all of its picks. */
  readonly text: string
  readonly picks: number
}

/**
 * Keeps an audit's request, so that its receipt repeats the audit with what the ledger knows by then. It belongs to no event
 * and commits nothing.
 */
export async function keepAudit(
  { store, random }: { readonly store: GradingStore; readonly random: (bytes: number) => string },
  { paymentId, payer, picks, receivedAtSeconds, text }: PaidAudit,
): Promise<string> {
  const { receipt } = await store.keepPick(
    {
      receipt: random(RECEIPT_BYTES),
      payer,
      paymentId,
      opening: {
        market: AUDIT_TEXT,
        selection: `${picks} picks`,
        odds: '1',
        receivedAtSeconds: Math.floor(receivedAtSeconds),
        payerTag: await store.payerTag(payer.toLowerCase()),
        salt: random(SALT_BYTES),
      },
      options: { [AUDIT_TEXT]: text },
    },
    false,
  )
  return receipt
}

/** What the opening of a pick, or of a parlay filed under its first leg, does not have. */
export function textsOfPick(pick: PickRequest, legs?: readonly PickRequest[]): Texts {
  const { deductions, eachWay, fieldSize, foundBy, isConfirmed, options, ref } = pick
  const storedLegs = legs?.map((leg) => [
    formatMarketKey(leg.key),
    leg.selection,
    leg.odds.text,
    ...(leg.isConfirmed === true ? [CONFIRMED] : []),
  ])
  const texts = {
    method: options.method,
    basis: options.basis,
    reference: options.reference,
    ref,
    field_size: fieldSize?.toString(),
    found_by: foundBy && JSON.stringify(foundBy),
    confirmed: isConfirmed === true ? CONFIRMED : undefined,
    each_way: eachWay && JSON.stringify(eachWay),
    deductions: deductions && JSON.stringify(deductions),
    legs: storedLegs && JSON.stringify(storedLegs),
  }
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
  )
}

/** Whether more than one price decides the bet, or a deduction changes it. */
export const isCombined = (options: Texts): boolean =>
  ['legs', 'each_way', 'deductions'].some((name) => options[name] !== undefined)

function readKept(
  { market, selection, odds }: Record<'market' | 'selection' | 'odds', string>,
  rest: Omit<PickRequest, 'kind' | 'key' | 'selection' | 'odds'>,
): PickRequest {
  const parsed = parseMarket({ market, selection })
  const read = parseOdds(odds)
  if (parsed.kind !== 'market' || read.kind !== 'odds')
    throw new Error('a kept pick has no market or no price')
  return { ...rest, kind: 'pick', key: parsed.key, selection: parsed.selection, odds: read }
}

/** The pick as requested. Throws if the store holds a pick that was never kept. */
export function pickOfStored({ opening, options: texts }: StoredPick): PickRequest | Parlay {
  const { deductions, each_way: eachWay, found_by: foundBy, legs, reference, ref } = texts
  const isConfirmed = texts['confirmed'] !== undefined
  const options = {
    method: (texts['method'] ?? 'power') as GradeOptions['method'],
    basis: (texts['basis'] ?? 'auto') as GradeOptions['basis'],
    reference,
  }
  const { placedAtSeconds } = opening
  const pick = readKept(opening, {
    placedAtSeconds,
    isConfirmed,
    ref,
    fieldSize: texts['field_size'] === undefined ? undefined : Number(texts['field_size']),
    ...(foundBy === undefined ? {} : { foundBy: JSON.parse(foundBy) }),
    ...(eachWay === undefined ? {} : { eachWay: JSON.parse(eachWay) }),
    ...(deductions === undefined ? {} : { deductions: JSON.parse(deductions) }),
    options,
  })
  if (legs === undefined) return pick
  const storedLegs = JSON.parse(legs) as readonly (readonly [string, string, string, string?])[]
  return {
    kind: 'parlay',
    odds: pick.odds,
    isConfirmed,
    ref,
    options,
    legs: storedLegs.map(([market, selection, odds, sure]) =>
      readKept(
        { market, selection, odds },
        { placedAtSeconds, isConfirmed: sure !== undefined, options },
      ),
    ),
  }
}
