/** Numbers from 0 (inclusive) to 1 that look random and are the same for the same seed (mulberry32). */
export type RandomSource = () => number

/** A source for a whole-number seed. */
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
