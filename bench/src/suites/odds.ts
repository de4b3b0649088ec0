import { removeMargin } from '@tallystick/odds'
import { type Figure, judgeFigure } from '../figure.ts'
import { median } from '../quantile.ts'

/** Calls in one sample: some tens of milliseconds, far above the clock's grain. */
const CALLS = 100_000
const REPEATS = 15

const THREE = [2.05, 3.55, 3.9]
const TWENTY = [5.5, 6.5, 7, 8, 9, 11, 13, 15, 17, 19, 21, 23, 26, 29, 34, 41, 51, 67, 81, 101]

/** Keeps results alive, so that no call can be optimised away. */
let kept: unknown

/** CPU nanoseconds of one call. */
function nanosOf(run: () => unknown): number {
  const before = process.cpuUsage()
  for (let call = 0; call < CALLS; call += 1) kept = run()
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1000) / CALLS
}

/** The calibration: as many powers as there are outcomes, the arithmetic that no solver can do without. */
const powersOf = (prices: readonly number[]) => (): number => {
  let sum = 0
  for (const price of prices) sum += (1 / price) ** 1.05
  return sum
}

function figureOf(prices: readonly number[], aimNanos: number): Figure {
  const ours: number[] = []
  const base: number[] = []
  const calibrate = powersOf(prices)
  for (let repeat = 0; repeat <= REPEATS; repeat += 1) {
    const removal = nanosOf(() => removeMargin(prices, 'power'))
    const calibration = nanosOf(calibrate)
    // The first round warms up.
    if (repeat === 0) continue
    ours.push(removal)
    base.push(calibration)
  }
  if (kept === undefined) throw new Error('nothing was computed')
  return judgeFigure({
    name: `removeMargin, power, ${prices.length} outcomes`,
    value: median(ours),
    unit: 'ns',
    baseline: { name: `${prices.length} powers summed`, value: median(base) },
    aim: { kind: 'at-most', value: aimNanos },
  })
}

/** Margin removal by the power method. */
export async function measureOdds(): Promise<readonly Figure[]> {
  return [figureOf(THREE, 350), figureOf(TWENTY, 2000)]
}
