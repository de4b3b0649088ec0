/** One more than a 32-bit word can hold. */
const WORD = 2 ** 32

/** A reproducible stream of numbers below 1 (mulberry32): for tests, not for secrets. */
function* numbersFrom(seed: number): Generator<number, never> {
  let state = seed >>> 0
  while (true) {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    yield ((mixed ^ (mixed >>> 14)) >>> 0) / WORD
  }
}

/** `count` of the items (all if there are fewer), equally likely, in their order; the same for the same seed. */
export function sampleOf<Item>(
  items: readonly Item[],
  count: number,
  seed: number,
): readonly Item[] {
  const numbers = numbersFrom(seed)
  const drawn = items.map((item, index) => ({ item, index, at: numbers.next().value }))
  return drawn
    .toSorted((one, other) => one.at - other.at)
    .slice(0, count)
    .toSorted((one, other) => one.index - other.index)
    .map(({ item }) => item)
}
