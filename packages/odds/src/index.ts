export { addCluster } from './add-cluster.ts'
export { booksum } from './booksum.ts'
export { type ClusterMean, clusterInterval } from './cluster-interval.ts'
export {
  type ClusterRegression,
  clusterRegression,
  type RegressionPoint,
} from './cluster-regression.ts'
export { type Cluster, type ClusterTotals, NO_CLUSTERS } from './cluster-totals.ts'
export { eachWayPrices } from './each-way-prices.ts'
export { type EdgeAndLuck, edgeAndLuck, type SettledPick } from './edge-and-luck.ts'
export { type ExactOdds, exactOdds } from './exact-odds.ts'
export { fairClv } from './fair-clv.ts'
export {
  type FittedFootballClose,
  type FootballClose,
  type FootballFit,
  fitFootballClose,
} from './fit-football-close.ts'
export {
  type FootballLineBet,
  type FootballLineValue,
  footballLineValue,
} from './football-line-value.ts'
export { formatAmericanOdds } from './format-american-odds.ts'
export { formatDecimalOdds } from './format-decimal-odds.ts'
export { formatFractionalOdds } from './format-fractional-odds.ts'
export { gradeBand } from './grade-band.ts'
export { GRADE_BANDS, type GradeBand } from './grade-bands.ts'
export { gradeMargin } from './grade-margin.ts'
export { type GradedPriceInput, gradePrice, type PriceGrade } from './grade-price.ts'
export { DEVIATIONS_95, type Interval } from './interval.ts'
export type { LineResult, MarginMasses, StakeShares } from './line-result.ts'
export { logClv } from './log-clv.ts'
export {
  BOOKSUM_MAX,
  BOOKSUM_MIN,
  type MarginMethod,
  type MarginRefusal,
  type MarginRemoval,
  type MethodResult,
  OUTCOMES_MAX,
} from './margin-removal.ts'
export { methodSpread } from './method-spread.ts'
export { mirrorMargins } from './mirror-margins.ts'
export { normalCdf } from './normal-cdf.ts'
export { DECIMAL_ODDS_MAX, ODDS_TEXT_CHARACTERS_MAX } from './odds-limits.ts'
export { parseAmericanOdds } from './parse-american-odds.ts'
export { parseDecimalOdds } from './parse-decimal-odds.ts'
export { parseFractionalOdds } from './parse-fractional-odds.ts'
export { parseOdds } from './parse-odds.ts'
export type { Odds, OddsFormat, OddsRefusal, ParsedOdds } from './parsed-odds.ts'
export { picksNeeded } from './picks-needed.ts'
export { pointsClv } from './points-clv.ts'
export { priceClv } from './price-clv.ts'
export { removeCluster } from './remove-cluster.ts'
export { removeMargin } from './remove-margin.ts'
export { sameLineValue } from './same-line-value.ts'
export { settleLine } from './settle-line.ts'
export { type SettledBet, type SettledReturn, settledReturn } from './settled-return.ts'
export { settlementValue } from './settlement-value.ts'
export {
  type ScoredPick,
  SHARP_SCORE_MODEL,
  type SharpScore,
  sharpScore,
} from './sharp-score.ts'
export { stakeShares } from './stake-shares.ts'
export type { TakenAtFairClose } from './taken-at-fair-close.ts'
export { toBillionths } from './to-billionths.ts'
export { wilsonInterval } from './wilson-interval.ts'
