/** A pick received before its start: a salted commitment in the ledger until then, and the rules for whether it counts after (G6). */
import { canonicalJson, preimageHash } from '@tallystick/hashchain'
import { type ParsedOdds, parseDecimalOdds, parseOdds } from '@tallystick/odds'
import type { NotCountedReason } from '../wire/cards.ts'
import type { EventInfo } from './event-state.ts'

/** What a committed pick says; public once its event has started. */
export type PickOpening = {
  /** The whole market key, as text. */
  readonly market: string
  readonly selection: string
  /** Decimal odds taken, canonical text. */
  readonly odds: string
  /** When the service received it, Unix seconds. */
  readonly receivedAtSeconds: number
  /** When the bet was placed, according to the payer; Unix seconds. */
  readonly placedAtSeconds?: number
  /** The selection's best recorded price at that moment, canonical text; absent if there was none. */
  readonly bestRecorded?: string
  /** One tag per payer and store: it counts repeats without naming the payer. */
  readonly payerTag: string
  /** 32 random bytes, hex: without them the commitment to a likely pick could be guessed. */
  readonly salt: string
}

/** The commitment to a pick: SHA-256 of the opening's RFC 8785 JSON, hex. */
export const commitmentOf = (opening: PickOpening): string => preimageHash(canonicalJson(opening))

/** How far a pick's price may exceed the selection's best recorded price. */
const ABOVE_RECORDED_MAX = 0.01
/** Allowance for rounding: 2.02 / 2 exceeds 1.01 in binary. */
const ROUNDING = 1e-9

/** The price of a kept pick. Older openings write decimal odds of 100 and more as whole numbers. */
export function takenOdds({ odds }: Pick<PickOpening, 'odds'>): ParsedOdds {
  const read = parseOdds(odds)
  return read.kind === 'odds' ? read : parseDecimalOdds(odds)
}

/** A committed pick with its place in the ledger. */
export type CommittedPick = { readonly seq: number; readonly opening: PickOpening }

/** Why a committed pick, taken alone, does not count; undefined if it does (G6). */
export function refusalOf(
  info: EventInfo,
  { opening }: Pick<CommittedPick, 'opening'>,
): Exclude<NotCountedReason, 'not_kept' | 'repeated_selection'> | undefined {
  if (opening.receivedAtSeconds >= info.startAtSeconds) return 'received_after_start'
  const best = parseDecimalOdds(opening.bestRecorded)
  const taken = takenOdds(opening)
  if (best.kind !== 'odds' || taken.kind !== 'odds') return 'no_recorded_price'
  const isAbove = taken.decimal / best.decimal > 1 + ABOVE_RECORDED_MAX + ROUNDING
  return isAbove ? 'above_recorded_price' : undefined
}

/** What counts once per payer and event: a selection of a market, at any line. */
function repeatKey(opening: Pick<PickOpening, 'payerTag' | 'market' | 'selection'>): string {
  const [, , type, period] = opening.market.split('/')
  const participant = opening.market.split('@')[1] ?? ''
  return `${opening.payerTag} ${type}/${period}@${participant} ${opening.selection}`
}

/** The committed picks that count: per payer and selection, the first that no rule refuses. `picks` are in ledger order. */
export function countedPicks(
  info: EventInfo,
  picks: readonly CommittedPick[],
): readonly CommittedPick[] {
  const seen = new Set<string>()
  return picks.filter((pick) => {
    const key = repeatKey(pick.opening)
    if (seen.has(key) || refusalOf(info, pick) !== undefined) return false
    seen.add(key)
    return true
  })
}
