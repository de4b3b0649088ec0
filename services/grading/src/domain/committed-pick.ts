/** A pick that came before its start: a salted commitment in the ledger until then, and whether it counts after (G6). */
import { canonicalJson, preimageHash } from '@tallystick/hashchain'
import { parseOdds } from '@tallystick/odds'
import type { NotCountedReason } from '../wire/cards.ts'
import type { EventInfo } from './event-state.ts'

/** What a committed pick says, shown once its event has started. */
export type PickOpening = {
  /** The whole market key, as text. */
  readonly market: string
  readonly selection: string
  /** Decimal odds taken, canonical text. */
  readonly odds: string
  /** When the service received it, Unix seconds. */
  readonly receivedAtSeconds: number
  /** When the payer says that the bet was placed, Unix seconds. */
  readonly placedAtSeconds?: number
  /** Best price of the selection that the ledger had when it was received, canonical text; left out where it had none. */
  readonly bestRecorded?: string
  /** One tag per payer and store: repeats can be counted, and no payer is named. */
  readonly payerTag: string
  /** 32 random bytes, hex: without them the commitment of a likely pick could be guessed. */
  readonly salt: string
}

/** The commitment to a pick: SHA-256 of the opening's RFC 8785 JSON, hex. */
export const commitmentOf = (opening: PickOpening): string => preimageHash(canonicalJson(opening))

/** A pick may be this much above the best price that the ledger had of its selection. */
const ABOVE_RECORDED_MAX = 0.01
/** Room for the rounding of a division: 2.02 / 2 is above 1.01 in binary. */
const ROUNDING = 1e-9

/** A committed pick with its place in the ledger. */
export type CommittedPick = { readonly seq: number; readonly opening: PickOpening }

/** Why a committed pick alone does not count; undefined where it does (G6). */
export function refusalOf(
  info: EventInfo,
  { opening }: Pick<CommittedPick, 'opening'>,
): Exclude<NotCountedReason, 'not_kept' | 'repeated_selection'> | undefined {
  if (opening.receivedAtSeconds >= info.startAtSeconds) return 'received_after_start'
  const best = parseOdds(opening.bestRecorded)
  const taken = parseOdds(opening.odds)
  if (best.kind !== 'odds' || taken.kind !== 'odds') return 'no_recorded_price'
  const isAbove = taken.decimal / best.decimal > 1 + ABOVE_RECORDED_MAX + ROUNDING
  return isAbove ? 'above_recorded_price' : undefined
}

/** What a payer may count once on an event: a selection of a market, whatever its line. */
function repeatKey(opening: Pick<PickOpening, 'payerTag' | 'market' | 'selection'>): string {
  const [, , type, period] = opening.market.split('/')
  const participant = opening.market.split('@')[1] ?? ''
  return `${opening.payerTag} ${type}/${period}@${participant} ${opening.selection}`
}

/** The committed picks that count: the first of each payer and selection that no rule refuses. Picks in ledger order. */
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
