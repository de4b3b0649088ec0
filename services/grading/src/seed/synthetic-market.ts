/** Synthetic matches: chance, a Poisson match, a market's belief about it, and a bookmaker's margin on top. */

/** Expected goals of both sides. */
export type MatchBelief = { readonly home: number; readonly away: number }

/** Goals counted per side: at these means the rest of the distribution is below one in a billion. */
const GOALS_MAX = 15

function poissonMasses(mean: number): readonly number[] {
  const masses = [Math.exp(-mean)]
  for (let goals = 1; goals <= GOALS_MAX; goals += 1)
    masses.push(((masses[goals - 1] ?? 0) * mean) / goals)
  return masses
}

/** The chance of the scores that a test holds for. */
function winChance(
  belief: MatchBelief,
  holds: (score: { readonly home: number; readonly away: number }) => boolean,
): number {
  const [homes, aways] = [poissonMasses(belief.home), poissonMasses(belief.away)]
  let sum = 0
  for (const [home, homeMass] of homes.entries())
    for (const [away, awayMass] of aways.entries())
      if (holds({ home, away })) sum += homeMass * awayMass
  return sum
}

/** Fair chances of the markets that the synthetic feed quotes. */
export function fairChances(belief: MatchBelief, handicap: number) {
  const home = winChance(belief, (score) => score.home > score.away)
  const draw = winChance(belief, (score) => score.home === score.away)
  const over = winChance(belief, (score) => score.home + score.away > 2.5)
  // A half-goal handicap is won or lost; quarter and whole lines are not quoted.
  const covered = winChance(belief, (score) => score.home - score.away + handicap > 0)
  return {
    matchOdds: [home, draw, 1 - home - draw],
    total: [over, 1 - over],
    handicap: [covered, 1 - covered],
  }
}

/** The half-goal handicap nearest to an even match. */
export function evenHandicap({ home, away }: MatchBelief): number {
  return Math.round(away - home - 0.5) + 0.5
}

/** A book's prices: chances with a margin spread by the power rule, two decimals. */
export function quote(chances: readonly number[], margin: number): readonly string[] {
  const exponent = 1 - margin / chances.length
  return chances.map((chance) => {
    const price = 1 / chance ** exponent / (1 + margin / 2)
    return Math.max(1.01, price).toFixed(2)
  })
}

/** Pseudo-random numbers from 0 (inclusive) to 1, the same for the same seed (mulberry32). */
export type RandomSource = () => number

export function createRandomSource(seed: number): RandomSource {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A draw from the normal distribution with mean 0 and deviation 1 (Box and Muller). */
export function normalDraw(random: RandomSource): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()))
  return radius * Math.cos(2 * Math.PI * random())
}

/** A draw from the Poisson distribution (Knuth's product of uniforms; means stay below 10). */
export function poissonDraw(random: RandomSource, mean: number): number {
  const limit = Math.exp(-mean)
  let [count, product] = [0, random()]
  while (product > limit) {
    count += 1
    product *= random()
  }
  return count
}
