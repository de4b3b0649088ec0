/** An audit: the sum of its cards. It uses only what the cards show, so anyone can recompute it from them. */
import {
  DEVIATIONS_95,
  edgeAndLuck,
  GRADE_BANDS,
  type GradeBand,
  picksNeeded,
  SHARP_SCORE_MODEL,
  type SharpScore,
  sharpScore,
  wilsonInterval,
} from '@tallystick/odds'
import type { AuditAnswer } from '../wire/audit.ts'
import type { Card, GradedCard, Scoreboard, UngradedCode } from '../wire/cards.ts'

type AuditScore = AuditAnswer['sharp_score']
type RawRoi = AuditAnswer['raw_roi']

const isGraded = (card: Card): card is GradedCard => card.outcome === 'GRADED'

/** The value behind a card's band. */
const valueOf = (card: GradedCard): number => card.clv.fair ?? card.clv.price

const settledReturn = (scoreboard: Scoreboard | undefined): number | undefined =>
  scoreboard === undefined || scoreboard.status === 'pending' || scoreboard.status === 'void'
    ? undefined
    : scoreboard.return_units

/** A flat-stake result, graded or not. */
type FlatResult = { readonly returnUnits: number; readonly odds: number }

/** The cards with a result other than void, and their returns. */
const settledOf = <Some extends Card>(cards: readonly Some[]) =>
  cards.flatMap((card) => {
    const returnUnits = settledReturn(card.scoreboard)
    const { taken } = card
    return returnUnits === undefined || taken === undefined
      ? []
      : [{ card, odds: taken.odds, returnUnits }]
  })

const meanOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length

function medianOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((one, other) => one - other)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.floor((sorted.length - 1) / 2)]
  return upper === undefined || lower === undefined ? null : (upper + lower) / 2
}

function recordOf(cards: readonly Card[]): AuditAnswer['record'] {
  const record = {
    won: 0,
    lost: 0,
    push: 0,
    void: 0,
    half_won: 0,
    half_lost: 0,
    dead_heat: 0,
    pending: 0,
  }
  for (const card of cards) record[card.scoreboard?.status ?? 'pending'] += 1
  return record
}

function rawRoi(results: readonly FlatResult[]): RawRoi {
  const returns = results.map(({ returnUnits }) => returnUnits)
  const staked = returns.length
  const profit = returns.reduce((sum, value) => sum + value, 0)
  if (staked === 0) return { pct: null, staked, profit, p_value: null, ci95: null }
  const mean = profit / staked
  const spread = returns.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  const error = Math.sqrt(spread / (staked - 1) / staked)
  // With no edge at fair prices every value is 0: only profit and odds matter here.
  const asFair = results.map(({ odds, returnUnits }) => ({ odds, returnUnits, clv: 0 }))
  return {
    pct: mean,
    staked,
    profit,
    p_value: edgeAndLuck(asFair).profitPValue,
    ci95: staked < 2 ? null : [mean - DEVIATIONS_95 * error, mean + DEVIATIONS_95 * error],
  }
}

function scoreOnWire(score: SharpScore): AuditScore {
  if (score.kind === 'insufficient') return null
  const { priorEdge, priorDeviation, hiddenDeviation, scale } = SHARP_SCORE_MODEL
  return {
    value: score.score,
    edge: score.edge,
    edge_ci90: [score.interval.low, score.interval.high],
    p_edge_positive: score.chanceOfEdge,
    inputs: {
      n: score.picks,
      settled: score.settled,
      mean: score.meanClv,
      s2: score.clvVariance,
      mu0: priorEdge,
      tau: priorDeviation,
      delta: hiddenDeviation,
      scale,
    },
  }
}

function summaryOf(graded: readonly GradedCard[]): AuditAnswer['summary'] {
  const values = graded.map(valueOf)
  const beat = graded.filter(({ clv }) => clv.beat_close).length
  const interval = wilsonInterval({ successes: beat, trials: graded.length })
  const paid = graded.flatMap(({ clv }) => (clv.fair === undefined ? [] : [clv.price - clv.fair]))
  const counts = Object.fromEntries(
    GRADE_BANDS.map(({ band }) => [band, graded.filter(({ grade }) => grade === band).length]),
  ) as Record<GradeBand, number>
  const settled = settledOf(graded).map(({ card, ...result }) => ({
    ...result,
    clv: valueOf(card),
  }))
  const split = settled.length === 0 ? undefined : edgeAndLuck(settled)
  return {
    mean_clv: meanOf(values),
    median_clv: medianOf(values),
    beat_close: {
      count: beat,
      of: graded.length,
      rate: graded.length === 0 ? null : beat / graded.length,
      ci95: graded.length === 0 ? null : [interval.low, interval.high],
    },
    vig_paid: meanOf(paid),
    grade_counts: counts,
    edge_and_luck:
      split === undefined
        ? null
        : {
            profit: split.profit,
            edge: split.edge,
            luck: split.luck,
            luck_z: split.luckDeviations,
          },
  }
}

function coverageOf(cards: readonly Card[]): AuditAnswer['coverage'] {
  const reasons: Partial<Record<UngradedCode, number>> = {}
  let [graded, priceBasis] = [0, 0]
  for (const card of cards) {
    if (isGraded(card)) {
      graded += 1
      if (card.basis === 'price') priceBasis += 1
    } else reasons[card.reason.code] = (reasons[card.reason.code] ?? 0) + 1
  }
  return {
    picks: cards.length,
    graded,
    ungraded: cards.length - graded,
    by_reason: reasons,
    price_basis: priceBasis,
  }
}

function verdictOf(score: AuditScore, roi: RawRoi): string {
  if (score === null) return 'No pick could be graded, so there is nothing to say about skill.'
  const [low, high] = score.edge_ci90
  const record = roi.pct === null ? 'No results yet' : `${(roi.pct * 100).toFixed(1)} % so far`
  const edge = `an edge of ${(score.edge * 100).toFixed(1)} % (90 %: ${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)})`
  if (low > 0) return `${record}; the prices show ${edge}: sharp.`
  if (high < 0) return `${record}; the prices show ${edge}: paying the margin.`
  return `${record}; the prices show ${edge}: not enough to tell sharp from lucky.`
}

export function auditCards(cards: readonly Card[], label?: string): AuditAnswer {
  const graded = cards.filter(isGraded)
  const score = sharpScore(
    graded.map((card) => {
      const returnUnits = settledReturn(card.scoreboard)
      return {
        clv: valueOf(card),
        odds: card.taken.odds,
        ...(returnUnits === undefined ? {} : { returnUnits }),
      }
    }),
  )
  const roi = rawRoi(settledOf(cards))
  const onWire = scoreOnWire(score)
  const summary = summaryOf(graded)
  const edge = summary.mean_clv
  const deviation = onWire === null ? 0 : Math.sqrt(onWire.inputs.s2)
  return {
    ...(label === undefined ? {} : { label }),
    record: recordOf(cards),
    raw_roi: roi,
    sharp_score: onWire,
    summary,
    coverage: coverageOf(cards),
    verdict: verdictOf(onWire, roi),
    needs: {
      picks_for_95: edge === null || edge === 0 ? null : picksNeeded({ edge, deviation }),
    },
    picks: cards,
  }
}
