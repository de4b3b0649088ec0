/**
 * Fits the goals of a football match to its recorded close: home and away goals are independent Poisson variables whose
 * sum and difference of means are those at which the model agrees with the closing total and the closing Asian handicap,
 * both without their margins. What comes out prices other lines (`footballLineValue`); it is no recorded close, and a
 * grade made with it must say that its line was converted.
 */
import { findRoot } from './find-root.ts'
import type { MarginMasses, StakeShares } from './line-result.ts'
import { marginMasses } from './margin-masses.ts'
import type { MarginMethod } from './margin-removal.ts'
import { poissonMasses } from './poisson-masses.ts'
import { removeMargin } from './remove-margin.ts'
import { stakeShares } from './stake-shares.ts'

/** The most goals of one side that are counted; at the highest mean of 10 less than 1e-12 lies above. */
const GOALS_MAX = 40

/** The lowest and highest expected goals of a match that are believed. */
const EXPECTED_GOALS_MIN = 0.05
const EXPECTED_GOALS_MAX = 10

/** The least expected goals of one side: keeps the supremacy inside the total. */
const SIDE_GOALS_MIN = 1e-6

/** The recorded close of one match: decimal odds, lines that are multiples of 0.25. */
export type FootballClose = {
  readonly handicap: {
    /** The home side's handicap: -0.5 where home gives half a goal. */
    readonly line: number
    readonly home: number
    readonly away: number
  }
  readonly total: { readonly line: number; readonly over: number; readonly under: number }
}

/** A fitted match. */
export type FootballFit = {
  /** Mean of all goals. */
  readonly expectedGoals: number
  /** Mean of home goals minus away goals. */
  readonly supremacy: number
  /** Probabilities of home goals minus away goals. */
  readonly margins: MarginMasses
  /** Probabilities of all goals. */
  readonly totals: MarginMasses
}

/**
 * What fitting gives. `line`: a line is no multiple of 0.25; `handicap_prices`, `total_prices`: the pair has no fair
 * probabilities; `no_fit`: no means within reason agree with the close.
 */
export type FittedFootballClose =
  | ({ readonly kind: 'fitted' } & FootballFit)
  | {
      readonly kind: 'refused'
      readonly reason: 'line' | 'handicap_prices' | 'total_prices' | 'no_fit'
    }

/** The probability of winning among the outcomes that are not refunded. */
const winShareOf = ({ won, lost }: StakeShares): number => won / (won + lost)

/** The first outcome's fair probability of a pair of prices, or undefined. */
const fairFirst = (prices: readonly [number, number], method: MarginMethod) => {
  const removal = removeMargin(prices, method)
  return removal.kind === 'fair' ? removal.probabilities[0] : undefined
}

/** The margins of a match with given means. */
const marginsOf = (means: { expectedGoals: number; supremacy: number }): MarginMasses => {
  const { expectedGoals, supremacy } = means
  return marginMasses({
    home: poissonMasses({ mean: (expectedGoals + supremacy) / 2, most: GOALS_MAX }),
    away: poissonMasses({ mean: (expectedGoals - supremacy) / 2, most: GOALS_MAX }),
  })
}

/** The totals of a match with a given mean: a sum of independent Poisson variables is one. */
const totalsOf = (expectedGoals: number): MarginMasses => ({
  lowest: 0,
  masses: poissonMasses({ mean: expectedGoals, most: GOALS_MAX }),
})

/** Fits one match to its close; margins are removed by `method`, power by default. Takes about 0.1 ms: keep the fit. */
export function fitFootballClose(
  close: FootballClose,
  method: MarginMethod = 'power',
): FittedFootballClose {
  const { handicap, total } = close
  if (!Number.isInteger(handicap.line * 4) || !Number.isInteger(total.line * 4))
    return { kind: 'refused', reason: 'line' }
  const home = fairFirst([handicap.home, handicap.away], method)
  if (home === undefined) return { kind: 'refused', reason: 'handicap_prices' }
  const over = fairFirst([total.over, total.under], method)
  if (over === undefined) return { kind: 'refused', reason: 'total_prices' }
  const expectedGoals = findRoot({
    low: EXPECTED_GOALS_MIN,
    high: EXPECTED_GOALS_MAX,
    valueAt: (mean) =>
      winShareOf(stakeShares({ margins: totalsOf(mean), line: -total.line })) - over,
  })
  if (expectedGoals === undefined) return { kind: 'refused', reason: 'no_fit' }
  const supremacyMax = expectedGoals - 2 * SIDE_GOALS_MIN
  const supremacy = findRoot({
    low: -supremacyMax,
    high: supremacyMax,
    valueAt: (difference) => {
      const margins = marginsOf({ expectedGoals, supremacy: difference })
      return winShareOf(stakeShares({ margins, line: handicap.line })) - home
    },
  })
  if (supremacy === undefined) return { kind: 'refused', reason: 'no_fit' }
  const margins = marginsOf({ expectedGoals, supremacy })
  return { kind: 'fitted', expectedGoals, supremacy, margins, totals: totalsOf(expectedGoals) }
}
