/**
 * A paid pick as it is kept and read again. What its opening lacks is kept as text by name, so a store needs no column for a
 * new kind of bet.
 */
import { parseOdds } from '@tallystick/odds'
import type { GradingStore, StoredPick } from './grading-store.ts'
import { formatMarketKey } from './markets.ts'
import { parseMarket } from './parse-market.ts'
import type { GradeOptions, Parlay, PickRequest } from './pick-request.ts'

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
  const kept = legs?.map((leg) => [
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
    legs: kept && JSON.stringify(kept),
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
  const kept = JSON.parse(legs) as readonly (readonly [string, string, string, string?])[]
  return {
    kind: 'parlay',
    odds: pick.odds,
    isConfirmed,
    ref,
    options,
    legs: kept.map(([market, selection, odds, sure]) =>
      readKept(
        { market, selection, odds },
        { placedAtSeconds, isConfirmed: sure !== undefined, options },
      ),
    ),
  }
}
