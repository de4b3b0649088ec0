/**
 * An audit by sport, market, book, month and odds, and weighted by the stakes of the bettor's record. Both are second
 * readings beside the flat ones (G16); an event is one observation in them, too (G17).
 */
import { clusterInterval, clusterTotals } from '@tallystick/odds'
import type { AuditAnswer } from '../../wire/audit.ts'
import { DIMENSIONS } from './audit-groups.ts'
import {
  average,
  isGraded,
  isSettled,
  returnsByEvent,
  type SlateCard,
  sumProfit,
} from './slate-cards.ts'

type StakeFigures = AuditAnswer['by_stake']
type GroupRow = AuditAnswer['breakdown']['sport'][number]

function meanInterval(events: Iterable<{ readonly count: number; readonly sum: number }>) {
  const mean = clusterInterval(clusterTotals(events))
  return mean.kind === 'mean' ? ([mean.low, mean.high] as const) : null
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

const ownStake = ({ card }: SlateCard): number => card.pick.own?.stake ?? 0

/** The figures weighted by stake, of the cards that have one; null if none has. */
export function byStake(entries: readonly SlateCard[]): StakeFigures {
  const staked = entries.filter(({ card }) => card.pick.own?.stake !== undefined)
  if (staked.length === 0) return null
  const settled = staked.filter(isSettled)
  const graded = staked.filter(isGraded)
  const total = sum(settled.map(ownStake))
  const profit = sum(settled.map((result) => result.returnUnits * ownStake(result)))
  const events = [...Map.groupBy(settled, ({ event }) => event).values()].map((own) => ({
    count: sum(own.map(ownStake)),
    sum: sum(own.map((result) => result.returnUnits * ownStake(result))),
  }))
  const onGraded = sum(graded.map(ownStake))
  return {
    picks: staked.length,
    staked: total,
    profit,
    pct: total === 0 ? null : profit / total,
    ci95: meanInterval(events),
    mean_clv:
      onGraded === 0 ? null : sum(graded.map((entry) => entry.clv * ownStake(entry))) / onGraded,
  }
}

function groupRow(name: string, entries: readonly SlateCard[]): GroupRow {
  const graded = entries.filter(isGraded)
  const settled = entries.filter(isSettled)
  const profit = sumProfit(settled)
  return {
    name,
    picks: entries.length,
    graded: graded.length,
    mean_clv: average(graded.map(({ clv }) => clv)),
    staked: settled.length,
    profit,
    pct: settled.length === 0 ? null : profit / settled.length,
    ci95: meanInterval(returnsByEvent(settled)),
    by_stake: byStake(entries),
  }
}

/** Each dimension's groups, the largest first. */
export function breakDown(entries: readonly SlateCard[]): AuditAnswer['breakdown'] {
  const rowsIn = (dimension: (typeof DIMENSIONS)[number]) =>
    [...Map.groupBy(entries, ({ groups }) => groups[dimension])]
      .map(([name, own]) => groupRow(name, own))
      .toSorted((left, right) => right.picks - left.picks || (left.name < right.name ? -1 : 1))
  const rows = DIMENSIONS.map((dimension) => [dimension, rowsIn(dimension)])
  return Object.fromEntries(rows) as AuditAnswer['breakdown']
}
