/** The largest stake by default: the traditional ladder (100/30, 85/40, 8/11, 1/100) stays below or at it. */
const STAKE_MAX_DEFAULT = 100

/**
 * Decimal odds (above 1) as the nearest fraction whose stake is at most `stakeMax` (default 100) and whose profit is
 * not 0, in lowest terms: `6/5` for 2.2. Continued fractions with their semiconvergents, so no other such fraction is
 * nearer. Throws a RangeError for odds of 1 or less, or a stake below 1.
 */
export function formatFractionalOdds(
  decimal: number,
  stakeMax: number = STAKE_MAX_DEFAULT,
): string {
  if (!(decimal > 1 && decimal < Infinity)) throw new RangeError('decimal odds must be above 1')
  if (!(stakeMax >= 1)) throw new RangeError('the largest stake must be at least 1')
  const target = decimal - 1
  let [before, last] = [
    { profit: 0, stake: 1 },
    { profit: 1, stake: 0 },
  ]
  let rest = target
  for (;;) {
    const whole = Math.floor(rest)
    const room = last.stake === 0 ? whole : Math.floor((stakeMax - before.stake) / last.stake)
    const steps = Math.min(whole, room)
    const next = {
      profit: before.profit + steps * last.profit,
      stake: before.stake + steps * last.stake,
    }
    if (steps < whole) {
      const isNearer =
        next.stake !== 0 &&
        Math.abs(next.profit / next.stake - target) < Math.abs(last.profit / last.stake - target)
      return textOf(isNearer ? next : last, stakeMax)
    }
    if (next.profit / next.stake === target || rest === whole) return textOf(next, stakeMax)
    before = last
    last = next
    rest = 1 / (rest - whole)
  }
}

/** A fraction's text; one that rounded to nothing becomes the shortest price that the ladder has. */
const textOf = (fraction: { profit: number; stake: number }, stakeMax: number): string =>
  fraction.profit === 0 ? `1/${Math.floor(stakeMax)}` : `${fraction.profit}/${fraction.stake}`
