/**
 * A bettor's own record beside the ledger: results, profits and closing prices that do not agree. They are told and
 * never graded (G22). Pure: an audit's page finds the same from its cards.
 */
import type { RecordFinding } from '../../wire/audit.ts'
import type { Card, OwnRecord } from '../../wire/cards.ts'

/** How far a closing price in a record may be from the recorded one, a fraction: another book's differs by as much. */
const CLOSING_TOLERANCE = 0.02
/** The part of a win that an exchange may keep. */
const COMMISSION_MAX = 0.1
/** How far a profit may be from the computed one: a part of the stake, and half a cent of rounding. */
const PROFIT_TOLERANCE = 0.01
const ROUNDING = 0.0051

/** How far a closing price may be off before it is told, upwards and downwards. */
type ClosingTolerance = { readonly above: number; readonly below: number }

/**
 * A free look tells a closing price only if it is far off, by a limit that the ledger's secret draws anew for each price
 * and side: whoever sends price after price learns where a limit is, and from it no hidden price (G14).
 */
export const FREE_TOLERANCE = { min: 0.05, max: 0.25 } as const

/** A limit from sixteen secret bits in hex, for each side. */
export function freeTolerance(secret: string): ClosingTolerance {
  const { max, min } = FREE_TOLERANCE
  const drawn = (from: number): number =>
    min + (Number.parseInt(secret.slice(from, from + 4), 16) / 0xffff) * (max - min)
  return { above: drawn(0), below: drawn(4) }
}

export type Found = Omit<RecordFinding, 'pick'>
type Result = NonNullable<OwnRecord['result']> | 'dead_heat'

const IN_WORDS: Readonly<Record<Result, string>> = {
  won: 'won',
  half_won: 'half won',
  push: 'push',
  void: 'void',
  half_lost: 'half lost',
  lost: 'lost',
  dead_heat: 'a dead heat',
}

/** Results that trackers often write alike: a W for a half win, a push for a void bet. */
const ALIKE: readonly (readonly Result[])[] = [
  ['won', 'half_won', 'dead_heat'],
  ['push', 'void'],
  ['lost', 'half_lost', 'dead_heat'],
]

const resultOnLedger = ({ scoreboard }: Card): Result | undefined =>
  scoreboard === undefined || scoreboard.status === 'pending' ? undefined : scoreboard.status

function resultFinding(card: Card, { result }: OwnRecord): Found | undefined {
  const recorded = resultOnLedger(card)
  if (result === undefined || recorded === undefined) return undefined
  if (ALIKE.some((results) => results.includes(result) && results.includes(recorded)))
    return undefined
  const [stated, ledger] = [IN_WORDS[result], IN_WORDS[recorded]]
  return {
    kind: 'result',
    stated,
    ledger,
    message: `Your record says ${stated}; the ledger, ${ledger}.`,
  }
}

/** Of a bet on one market: a parlay's close is a product that no record shows. */
function closingFinding(
  card: Card,
  { closing_odds: stated }: OwnRecord,
  { above, below }: ClosingTolerance,
): Found | undefined {
  if (stated === undefined || card.outcome !== 'GRADED' || card.close.legs !== undefined)
    return undefined
  const { fair_odds: fair, odds } = card.close
  const isNear = (recorded: number): boolean =>
    stated <= recorded * (1 + above) && stated >= recorded / (1 + below)
  if (isNear(odds) || (fair !== undefined && isNear(fair))) return undefined
  const message = `Your record has a closing price of ${stated}, which is not the recorded one, with or without its margin.`
  return { kind: 'closing_odds', stated: String(stated), ledger: String(odds), message }
}

/** What a stake earns by a result at a price. */
const RETURNS: Readonly<Record<NonNullable<OwnRecord['result']>, (odds: number) => number>> = {
  won: (odds) => odds - 1,
  half_won: (odds) => (odds - 1) / 2,
  push: () => 0,
  void: () => 0,
  half_lost: () => -0.5,
  lost: () => -1,
}

function profitFinding(
  { scoreboard, taken }: Card,
  { profit, result, stake }: OwnRecord,
): Found | undefined {
  if (profit === undefined || stake === undefined || taken === undefined) return undefined
  const odds = taken.pays ?? taken.odds
  const isSettled = scoreboard !== undefined && scoreboard.status !== 'pending'
  const units = [
    ...(result === undefined ? [] : [RETURNS[result](odds)]),
    ...(isSettled ? [scoreboard.return_units] : []),
  ]
  const isNear = (unit: number): boolean => {
    const expected = unit * stake
    const slack = PROFIT_TOLERANCE * stake + ROUNDING
    return (
      profit <= expected + slack &&
      profit >= Math.min(expected, expected * (1 - COMMISSION_MAX)) - slack
    )
  }
  const [first] = units
  if (first === undefined || units.some(isNear)) return undefined
  const ledger = (first * stake).toFixed(2)
  const message = `Your record has a profit of ${profit}; a stake of ${stake} at ${taken.text} earns ${ledger} by that result.`
  return { kind: 'profit', stated: String(profit), ledger, message }
}

/** What does not agree between a card and the record of its bet. */
export function findDifferences(
  card: Card,
  own: OwnRecord | undefined = card.pick.own,
  tolerance: ClosingTolerance = { above: CLOSING_TOLERANCE, below: CLOSING_TOLERANCE },
): readonly Found[] {
  if (own === undefined) return []
  return [
    resultFinding(card, own),
    closingFinding(card, own, tolerance),
    profitFinding(card, own),
  ].filter((found) => found !== undefined)
}

/** The findings of a slate, by the places of their cards. */
export const recordFindings = (cards: readonly Card[]): readonly RecordFinding[] =>
  cards.flatMap((card, pick) => findDifferences(card).map((found) => ({ pick, ...found })))
