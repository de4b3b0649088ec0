/** Where values stand on an axis: ticks on round numbers, and a straight scale. */

/** Steps that people count in, as fractions: 1, 2, 5, 10, 20, 50 %. */
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]

/**
 * Round values that enclose a range, at most so many steps. The range is not empty.
 *
 * @param {readonly [number, number]} range
 * @param {number} stepsMax
 */
export function roundTicks([low, high], stepsMax) {
  const fits = (/** @type {number} */ step) =>
    Math.ceil(high / step - 1e-9) - Math.floor(low / step + 1e-9) <= stepsMax
  const step = STEPS.find(fits) ?? (high - low) / stepsMax
  const first = Math.floor(low / step + 1e-9)
  const last = Math.ceil(high / step - 1e-9)
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
}

/**
 * @param {readonly [number, number]} values
 * @param {readonly [number, number]} pixels
 */
export function straightScale([low, high], [from, to]) {
  return (/** @type {number} */ value) => from + ((value - low) / (high - low)) * (to - from)
}

/**
 * Moves labels on one axis apart, as little as needed, keeping their order.
 *
 * @param {readonly number[]} places In rising order.
 * @param {{ gap: number, range: readonly [number, number] }} room
 */
export function spreadLabels(places, { gap, range: [low, high] }) {
  const spread = [...places]
  for (let pass = 0; pass < spread.length * 4; pass += 1)
    for (let index = 1; index < spread.length; index += 1) {
      const [before = 0, after = 0] = [spread[index - 1], spread[index]]
      const lacking = gap - (after - before)
      if (lacking <= 0) continue
      spread[index - 1] = before - lacking / 2
      spread[index] = after + lacking / 2
    }
  const over = Math.max(0, (spread.at(-1) ?? high) - high)
  const under = Math.max(0, low - (spread[0] ?? low))
  return spread.map((place) => place - over + under)
}
