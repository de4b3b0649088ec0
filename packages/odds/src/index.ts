export { type ClusterMean, type ClusterTotals, clusterInterval, clusterTotals } from './clusters.ts'
export { type EdgeAndLuck, edgeAndLuck, type SettledPick } from './edge-and-luck.ts'
export {
  bandPrice,
  GRADE_BANDS,
  type GradeBand,
  type GradedPriceInput,
  gradePrice,
  type PriceGrade,
} from './grade-price.ts'
export { type JointTest, jointTest } from './joint-test.ts'
export type { MethodResult } from './method-result.ts'
export {
  type Odds,
  type OddsFormat,
  type OddsRefusal,
  type ParsedOdds,
  parseDecimalOdds,
  parseOdds,
} from './odds.ts'
export { effectiveCount, profitVariance, type UncertainBet } from './outcome-variance.ts'
export {
  BOOKSUM_MAX,
  BOOKSUM_MIN,
  booksum,
  type MarginMethod,
  type MarginRefusal,
  type MarginRemoval,
  removeMargin,
} from './remove-margin.ts'
export {
  type LineResult,
  type MarginMasses,
  type SettledBet,
  type SettledReturn,
  type StakeShares,
  settledReturn,
  settleLine,
  stakeShares,
} from './settlement.ts'
export {
  type ScoredPick,
  SHARP_SCORE_MODEL,
  type SharpScore,
  sharpScore,
} from './sharp-score.ts'
export {
  chiSquareTail,
  DEVIATIONS_95,
  type Interval,
  picksNeeded,
  wilsonInterval,
} from './statistics.ts'
