/**
 * An audit: the sum of its cards. It uses only what the cards show, so anyone can recompute it from them. Cards on one event
 * depend on each other and count as one observation; a duplicate, and a card whose price waits to be confirmed (G21), counts nowhere.
 */
import {
  clusterInterval,
  clusterTotals,
  edgeAndLuck,
  effectiveCount,
  GRADE_BANDS,
  type GradeBand,
  picksNeeded,
  SHARP_SCORE_MODEL,
  type SharpScore,
  sharpScore,
  wilsonInterval,
} from '@tallystick/odds'
import { type AuditAnswer, auditAnswerSchema } from '../../wire/audit.ts'
import type { Card, GradedCard, UngradedCode } from '../../wire/cards.ts'
import { isUnconfirmed } from '../closes/far-price.ts'
import { breakDown, byStake } from './audit-breakdown.ts'
import type { AuditContext } from './audit-context.ts'
import { recordFindings } from './record-findings.ts'
import {
  average,
  isGraded,
  isSettled,
  returnsByEvent,
  type SettledCard,
  type SlateCard,
  slateCards,
  sumProfit,
} from './slate-cards.ts'

type AuditScore = AuditAnswer['sharp_score']
type RawRoi = AuditAnswer['raw_roi']

type GradeCounts = Record<GradeBand, number>

/** What the cards alone do not say. */
type AuditedAs = Partial<AuditContext> & { readonly label?: string | undefined }

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((left, right) => left - right)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.floor((sorted.length - 1) / 2)]
  return upper === undefined || lower === undefined ? null : (upper + lower) / 2
}

const NO_RECORD = Object.fromEntries(
  Object.keys(auditAnswerSchema.shape.record.shape).map((status) => [status, 0]),
) as AuditAnswer['record']

function countResults(entries: readonly SlateCard[]): AuditAnswer['record'] {
  const record = { ...NO_RECORD }
  for (const { card } of entries) record[card.scoreboard?.status ?? 'pending'] += 1
  return record
}

function rawRoi(results: readonly SettledCard[]): RawRoi {
  const staked = results.length
  const profit = sumProfit(results)
  if (staked === 0) return { pct: null, staked, events: 0, profit, p_value: null, ci95: null }
  const events = returnsByEvent(results)
  const mean = clusterInterval(clusterTotals(events))
  return {
    pct: profit / staked,
    staked,
    events: events.length,
    profit,
    p_value: edgeAndLuck(results).profitPValue,
    ci95: mean.kind === 'mean' ? [mean.low, mean.high] : null,
  }
}

function scoreOnWire(score: SharpScore, priceSeen: number): AuditScore {
  if (score.kind === 'insufficient') return null
  const { priorEdge, priorDeviation, hiddenDeviation, scale } = SHARP_SCORE_MODEL
  return {
    value: score.score,
    edge: score.edge,
    edge_ci90: [score.interval.low, score.interval.high],
    p_edge_positive: score.chanceOfEdge,
    price_seen: priceSeen,
    inputs: {
      n: score.picks,
      observations: score.observations,
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

const scoreCards = (entries: readonly SlateCard<GradedCard>[]): AuditScore =>
  scoreOnWire(sharpScore(entries), entries.filter(({ card }) => card.price_seen).length)

/**
 * The Sharp Score of fair values at the default reference (G16), and a second figure, which says what it covers: another
 * choice, or cards that have only a closing price.
 */
function bothScores(
  graded: readonly SlateCard<GradedCard>[],
  otherThanDefault: string | undefined,
): Pick<AuditAnswer, 'sharp_score' | 'second_score'> {
  const second = (label: string, entries: typeof graded): AuditAnswer['second_score'] => {
    const score = scoreCards(entries)
    return score === null ? null : { label, ...score }
  }
  if (otherThanDefault !== undefined)
    return { sharp_score: null, second_score: second(otherThanDefault, graded) }
  return {
    sharp_score: scoreCards(graded.filter(({ card }) => card.basis === 'fair')),
    second_score: second(
      'closing prices with their margin, of the picks without a fair close',
      graded.filter(({ card }) => card.basis === 'price'),
    ),
  }
}

/** The rate of beating the close; its interval counts dependent cards as fewer observations. */
function beatClose(graded: readonly SlateCard<GradedCard>[]): AuditAnswer['summary']['beat_close'] {
  const count = graded.filter(({ card }) => card.clv.beat_close).length
  const gradedCount = graded.length
  if (gradedCount === 0) return { count, of: gradedCount, rate: null, ci95: null }
  const trials = effectiveCount(graded.map(({ event }) => event))
  const interval = wilsonInterval({ successes: (count / gradedCount) * trials, trials })
  return { count, of: gradedCount, rate: count / gradedCount, ci95: [interval.low, interval.high] }
}

function summarise(graded: readonly SlateCard<GradedCard>[]): AuditAnswer['summary'] {
  const cards = graded.map(({ card }) => card)
  const values = graded.map(({ clv }) => clv)
  const paid = cards.flatMap(({ clv }) => (clv.fair === undefined ? [] : [clv.price - clv.fair]))
  const counts = Object.fromEntries(GRADE_BANDS.map(({ band }) => [band, 0])) as GradeCounts
  for (const { grade } of cards) counts[grade] += 1
  return {
    mean_clv: average(values),
    median_clv: median(values),
    beat_close: beatClose(graded),
    vig_paid: average(paid),
    grade_counts: counts,
    edge_and_luck: splitProfit(graded),
  }
}

function splitProfit(
  graded: readonly SlateCard<GradedCard>[],
): AuditAnswer['summary']['edge_and_luck'] {
  const settled = graded.filter(isSettled)
  if (settled.length === 0) return null
  const { profit, edge, luck, luckDeviations } = edgeAndLuck(settled)
  return { profit, edge, luck, luck_z: luckDeviations }
}

function countCoverage(
  all: readonly Card[],
  { duplicates, unconfirmed }: Pick<AuditAnswer['coverage'], 'duplicates' | 'unconfirmed'>,
): AuditAnswer['coverage'] {
  const waiting = new Set(unconfirmed)
  const cards = all.filter((_card, place) => !waiting.has(place))
  const reasons: Partial<Record<UngradedCode, number>> = {}
  for (const card of cards)
    if (card.outcome === 'UNGRADED')
      reasons[card.reason.code] = (reasons[card.reason.code] ?? 0) + 1
  const graded = cards.flatMap((card) => (card.outcome === 'GRADED' ? [card.basis] : []))
  return {
    picks: cards.length,
    graded: graded.length,
    ungraded: cards.length - graded.length,
    by_reason: reasons,
    price_basis: graded.filter((basis) => basis === 'price').length,
    duplicates,
    unconfirmed,
  }
}

/** Comes first if the ledger knows fewer than half of the prices behind the score. */
function seenWords({ inputs: { n }, price_seen: seen }: NonNullable<AuditScore>): string {
  if (seen * 2 >= n) return ''
  return `The ledger has a record of only ${seen} of the ${n} prices taken: the rest is the tipster's word. `
}

function verdictText({ second_score: second, sharp_score: first }: Scores, roi: RawRoi): string {
  const score = first ?? second
  if (score === null) return 'No pick could be graded, so there is nothing to say about skill.'
  const [low, high] = score.edge_ci90
  const record = roi.pct === null ? 'No results yet' : `${(roi.pct * 100).toFixed(1)} % so far`
  const edge = `an edge of ${(score.edge * 100).toFixed(1)} % (90 %: ${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)})`
  const words =
    low > 0 ? 'sharp' : high < 0 ? 'paying the margin' : 'not enough to tell sharp from lucky'
  const basis =
    first === null && second !== null ? ` This is no Sharp Score, but of ${second.label}.` : ''
  return `${seenWords(score)}${record}; the prices show ${edge}: ${words}.${basis}`
}

type Scores = Pick<AuditAnswer, 'sharp_score' | 'second_score'>

/** How many picks like these would show the edge that remains after all doubt. */
function picksStillNeeded(score: AuditScore): AuditAnswer['needs'] {
  if (score === null || score.edge === 0) return { picks_for_95: null }
  const { edge, inputs } = score
  return { picks_for_95: picksNeeded({ edge, deviation: Math.sqrt(inputs.s2) }) }
}

/** Sums cards: a thousand take some milliseconds. */
export function auditCards(cards: readonly Card[], context: AuditedAs = {}): AuditAnswer {
  const { duplicates = [], label, otherThanDefault } = context
  const unconfirmed = cards.flatMap((card, place) => (isUnconfirmed(card) ? [place] : []))
  const left = new Set([...duplicates, ...unconfirmed])
  const entries = slateCards(cards).filter((_entry, place) => !left.has(place))
  const graded = entries.filter(isGraded)
  const roi = rawRoi(entries.filter(isSettled))
  const scores = bothScores(graded, otherThanDefault)
  const summary = summarise(graded)
  const breakdown = breakDown(entries)
  return {
    ...(label === undefined ? {} : { label }),
    record: countResults(entries),
    raw_roi: roi,
    by_stake: byStake(entries),
    ...scores,
    summary,
    breakdown,
    findings: recordFindings(cards),
    coverage: countCoverage(cards, { duplicates, unconfirmed }),
    verdict: verdictText(scores, roi),
    needs: picksStillNeeded(scores.sharp_score),
    picks: cards,
  }
}
