/**
 * What an audit's cards do not say: which picks repeat an earlier one, in any notation, by key or by names, and which
 * choices replaced the default reference, method and basis.
 */
import { minuteAt } from '../closes/price-log.ts'
import { formatMarketKey } from '../markets/markets.ts'
import {
  type AskedPick,
  DEFAULT_GRADE_OPTIONS,
  legsIn,
  type PickRequest,
  type SinglePick,
} from '../markets/pick-request.ts'

export type AuditContext = {
  /** The choices that replaced the defaults, in words; undefined if none did. */
  readonly otherThanDefault: string | undefined
  /** Places of picks that repeat an earlier one. */
  readonly duplicates: readonly number[]
}

type Audited = {
  readonly picks: readonly AskedPick[]
  /** The legs of all picks, in order, with their names resolved. */
  readonly singles: readonly SinglePick[]
  /** Whether the card at a place counts nowhere, so that a pick like it repeats nothing that counts. */
  readonly isOut: (place: number) => boolean
}

/** Two notations of one price differ by up to this: -110 is 10/11, 1.909 and 1.91. Odds equal to two decimals are one price. */
const cents = (odds: number): number => Math.round(odds * 100)

const placedMinute = ({ placedAtSeconds }: PickRequest): number | undefined =>
  placedAtSeconds === undefined ? undefined : minuteAt(placedAtSeconds)

/** What a pick is on, and at which price; `legs` have their names resolved. Undefined if they do not say. */
function betName(pick: AskedPick, legs: readonly SinglePick[]): string | undefined {
  const parts: string[] = []
  for (const leg of legs) {
    if (leg.kind === 'ambiguous') return undefined
    parts.push(`${formatMarketKey(leg.key)} ${leg.selection}`)
  }
  if (pick.kind === 'ambiguous') return undefined
  const terms = pick.kind === 'pick' && pick.eachWay !== undefined ? ' each way' : ''
  return `${parts.toSorted().join(' + ')} ${cents(pick.odds.decimal)}${terms}`
}

/** Places of picks that repeat an earlier bet, unless both say when they were placed, in different minutes. */
function repeatedPicks({ isOut, picks, singles }: Audited): readonly number[] {
  const seen = new Map<string, (number | undefined)[]>()
  let from = 0
  return picks.flatMap((pick, place) => {
    const legs = singles.slice(from, from + legsIn(pick).length)
    from += legs.length
    const bet = betName(pick, legs)
    if (bet === undefined || isOut(place)) return []
    const [first] = legs
    const minute = first?.kind === 'pick' ? placedMinute(first) : undefined
    const before = seen.get(bet)
    if (before === undefined) {
      seen.set(bet, [minute])
      return []
    }
    const isRepeated =
      minute === undefined ||
      before.some((candidate) => candidate === undefined || candidate === minute)
    if (!isRepeated) before.push(minute)
    return isRepeated ? [place] : []
  })
}

/** The choices that differ from the defaults, in words; undefined if none do. */
function choiceWords(picks: readonly AskedPick[]): string | undefined {
  const pick = picks.find((candidate) => candidate.kind !== 'ambiguous')
  const { basis, method, reference } = pick?.options ?? DEFAULT_GRADE_OPTIONS
  const words = [
    ...(reference === undefined ? [] : [`against the close of ${reference}`]),
    ...(method === DEFAULT_GRADE_OPTIONS.method ? [] : [`margin removed by ${method}`]),
    ...(basis === 'price' ? ['closing prices with their margin'] : []),
  ]
  return words.length === 0 ? undefined : words.join(', ')
}

export const auditContext = (audited: Audited): AuditContext => ({
  otherThanDefault: choiceWords(audited.picks),
  duplicates: repeatedPicks(audited),
})
