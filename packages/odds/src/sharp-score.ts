import { groupedBy, type UncertainBet, varianceAt } from './outcome-variance.ts'
import { type Interval, normalCdf } from './statistics.ts'

/**
 * The Sharp Score: how likely a tipster's prices are to make money, from the closing-line values of the picks and,
 * strongly damped, from their results. A normal prior (a typical payer of the margin, edge -3 % ± 5 %) is updated by the
 * mean closing-line value. What the results add beyond it counts little until there are thousands of picks. Picks of one
 * event are one observation: a thousand copies of a pick score as much as one.
 */

/** The score's constants; edges, values and deviations are fractions per unit staked. */
export const SHARP_SCORE_MODEL = {
  /** Edge of a typical payer of the margin, before any pick is seen. */
  priorEdge: -0.03,
  /** Standard deviation of edges between tipsters. */
  priorDeviation: 0.05,
  /** Standard deviation of the edge that the close does not show. */
  hiddenDeviation: 0.015,
  /** Edge that scores Φ(1) = 84. */
  scale: 0.04,
  /** Closing-line values are clipped to ± this, so that one mistyped price does not decide. */
  valueLimit: 0.5,
  /** Standard deviation of picks' values assumed before any is seen, and how many picks that assumption is worth. */
  assumedDeviation: 0.07,
  assumedPicks: 4,
  /** Deviation between a tipster's edge now and later, used in the interval. */
  driftDeviation: 0.025,
  /** Deviations of the 90 % interval. */
  intervalDeviations: 1.645,
} as const

/** One graded pick; event, market and selection say which picks are not independent. */
export type ScoredPick = Omit<UncertainBet, 'probability'> & {
  /** Closing-line value on the fair basis, a fraction of the stake that stands. */
  readonly clv: number
  /** Return per unit of a flat stake; left out while there is no result, and for a void bet. */
  readonly returnUnits?: number | undefined
}

/** The score and everything it was made from. */
export type SharpScore =
  | {
      readonly kind: 'scored'
      /** 0–100; 50 means no edge, 84.1 an edge of 4 %, 15.9 one of -4 %. */
      readonly score: number
      /** Expected profit per unit staked, a fraction. */
      readonly edge: number
      /** 90 % interval of the future edge. */
      readonly interval: Interval
      /** Standard deviation of the edge. */
      readonly deviation: number
      /** Probability of an edge above zero. */
      readonly chanceOfEdge: number
      /** Graded picks. */
      readonly picks: number
      /** How many independent observations they are worth: as many as their events if all have equally many picks. */
      readonly observations: number
      /** Picks with a result. */
      readonly settled: number
      /** Mean of the clipped closing-line values, and the variance of one event's. */
      readonly meanClv: number
      readonly clvVariance: number
      /** How much the mean value counts against the prior, and the results against the values; 0–1. */
      readonly clvWeight: number
      readonly resultWeight: number
    }
  /** No graded pick: the prior alone says nothing about anyone. */
  | { readonly kind: 'insufficient' }

/** A pick with its clipped value. */
type ValuedPick = { readonly pick: ScoredPick; readonly value: number }

/** The mean of a quantity over the picks; 0 for none. */
function computeMean(picks: readonly ValuedPick[], read: (entry: ValuedPick) => number): number {
  let sum = 0
  for (const entry of picks) sum += read(entry)
  return picks.length === 0 ? 0 : sum / picks.length
}

/** How much results count against values, and by how much they beat them, over picks with a result. */
function resultEvidence(picks: readonly ValuedPick[]) {
  const settled = picks.filter(({ pick }) => pick.returnUnits !== undefined)
  if (settled.length === 0) return { settled: 0, resultWeight: 0, residual: 0 }
  const hidden = SHARP_SCORE_MODEL.hiddenDeviation ** 2
  const placed = settled.map(({ pick }) => pick)
  const noise = varianceAt(placed, ({ odds }) => 1 / odds) / settled.length ** 2
  const residual = computeMean(
    settled,
    ({ pick, value }) => (pick.returnUnits ?? 0) - (pick.stood ?? 1) * value,
  )
  // Without chance, the results show nothing.
  const resultWeight = noise === 0 ? 0 : hidden / (hidden + noise)
  return { settled: settled.length, resultWeight, residual }
}

/** The spread of the events' mean values around the mean of all, and how many observations the events are worth. */
function eventSpread(picks: readonly ValuedPick[], mean: number) {
  let [squares, spread] = [0, 0]
  for (const event of groupedBy(picks, ({ pick }) => pick.event)) {
    const share = event.length / picks.length
    squares += share * share
    spread += share * (computeMean(event, ({ value }) => value) - mean) ** 2
  }
  const observations = 1 / squares
  return { observations, spread: observations * spread }
}

/**
 * Scores graded picks; ungraded ones must be left out and reported as coverage. The order of picks does not matter.
 * Throws a RangeError if a value, or the odds or return of a pick with a result, is NaN. A single extreme value also
 * widens the spread, so raising it further may lower the score.
 */
export function sharpScore(picks: readonly ScoredPick[]): SharpScore {
  if (picks.length === 0) return { kind: 'insufficient' }
  const model = SHARP_SCORE_MODEL
  const valued = picks.map((pick) => ({
    pick,
    value: Math.min(model.valueLimit, Math.max(-model.valueLimit, pick.clv)),
  }))
  const number = picks.length
  const meanClv = computeMean(valued, ({ value }) => value)
  const { observations, spread } = eventSpread(valued, meanClv)
  const clvVariance =
    (spread + model.assumedPicks * model.assumedDeviation ** 2) /
    (observations + model.assumedPicks - 1)
  const priorVariance = model.priorDeviation ** 2
  const clvWeight = priorVariance / (priorVariance + clvVariance / observations)
  const { settled, resultWeight, residual } = resultEvidence(valued)
  const edge = model.priorEdge + clvWeight * (meanClv - model.priorEdge) + resultWeight * residual
  if (!Number.isFinite(edge)) throw new RangeError('values, odds and returns must be numbers')
  const variance = priorVariance * (1 - clvWeight) + model.hiddenDeviation ** 2 * (1 - resultWeight)
  const deviation = Math.sqrt(variance)
  const half = model.intervalDeviations * Math.sqrt(variance + model.driftDeviation ** 2)
  return {
    kind: 'scored',
    score: 100 * normalCdf(edge / model.scale),
    edge,
    interval: { low: edge - half, high: edge + half },
    deviation,
    chanceOfEdge: normalCdf(edge / deviation),
    picks: number,
    observations,
    settled,
    meanClv,
    clvVariance,
    clvWeight,
    resultWeight,
  }
}
