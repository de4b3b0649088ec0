/** Keeping a paid pick: its receipt, its commitment where it came before the start, and reading it back. */
import { parseOdds } from '@tallystick/odds'
import { bestRecorded } from './best-recorded.ts'
import type { PickOpening } from './commitment.ts'
import type { GradeRelease } from './grader.ts'
import type { GradingStore, StoredPick } from './grading-store.ts'
import { eventPath, formatMarketKey, marketPath } from './market-key.ts'
import { parseMarket } from './parse-market.ts'
import type { GradeOptions, PickRequest } from './pick-request.ts'

/** Random bytes in hex. */
export type Randomness = (bytes: number) => string

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

async function openingOf(options: {
  readonly store: GradingStore
  readonly random: Randomness
  readonly paid: GradeRelease
  readonly pick: PickRequest
}): Promise<{ readonly opening: PickOpening; readonly isBeforeStart: boolean }> {
  const { store, random, paid, pick } = options
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

/** Keeps a pick once per payment, and commits it where it came before its start, or its start is not known yet. */
export async function keepPaidPick(options: {
  readonly store: GradingStore
  readonly random: Randomness
  readonly paid: GradeRelease
  readonly pick: PickRequest
}): Promise<StoredPick> {
  const { store, random, paid, pick } = options
  const known = await store.pickByPayment(paid.paymentId)
  if (known !== undefined) return known
  const { opening, isBeforeStart } = await openingOf(options)
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

/** The pick as it was asked. Throws where the store holds what was never kept. */
export function pickOfStored({ opening, options }: StoredPick): PickRequest {
  const parsed = parseMarket({ market: opening.market, selection: opening.selection })
  const odds = parseOdds(opening.odds)
  if (parsed.kind !== 'market' || odds.kind !== 'odds')
    throw new Error('a kept pick has no market or no price')
  const { reference, ref, field_size: fieldSize } = options
  return {
    kind: 'pick',
    key: parsed.key,
    selection: parsed.selection,
    odds,
    ...(opening.placedAtSeconds === undefined ? {} : { placedAtSeconds: opening.placedAtSeconds }),
    ...(ref === undefined ? {} : { ref }),
    ...(fieldSize === undefined ? {} : { fieldSize: Number(fieldSize) }),
    options: {
      method: (options['method'] ?? 'power') as GradeOptions['method'],
      basis: (options['basis'] ?? 'auto') as GradeOptions['basis'],
      ...(reference === undefined ? {} : { reference }),
    },
  }
}
