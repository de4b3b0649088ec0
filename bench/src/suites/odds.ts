import { createRequire } from 'node:module'
import { parseOdds, removeMargin } from '@tallystick/odds'
import { type Figure, judgeFigure } from '../figure.ts'
import { median } from '../quantile.ts'

/** Calls in one sample: tens of milliseconds, far above the clock's resolution. */
const CALLS = 100_000
const REPEATS = 15

const THREE = [2.05, 3.55, 3.9]
const TWENTY = [5.5, 6.5, 7, 8, 9, 11, 13, 15, 17, 19, 21, 23, 26, 29, 34, 41, 51, 67, 81, 101]

/** Keeps results alive, so that no call can be optimised away. */
let lastResult: unknown

/** CPU nanoseconds of one call. */
function measureNanos(run: () => unknown): number {
  const before = process.cpuUsage()
  for (let call = 0; call < CALLS; call += 1) lastResult = run()
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1000) / CALLS
}

/** The calibration: one power per outcome, the arithmetic that every solver needs. */
const computePowers = (prices: readonly number[]) => (): number => {
  let sum = 0
  for (const price of prices) sum += (1 / price) ** 1.05
  return sum
}

function measureFigure(prices: readonly number[], aimNanos: number): Figure {
  const ours: number[] = []
  const base: number[] = []
  const calibrate = computePowers(prices)
  for (let repeat = 0; repeat <= REPEATS; repeat += 1) {
    const removal = measureNanos(() => removeMargin(prices, 'power'))
    const calibration = measureNanos(calibrate)
    // The first round warms up.
    if (repeat === 0) continue
    ours.push(removal)
    base.push(calibration)
  }
  if (lastResult === undefined) throw new Error('nothing was computed')
  return judgeFigure({
    name: `removeMargin, power, ${prices.length} outcomes`,
    value: median(ours),
    unit: 'ns',
    baseline: { name: `${prices.length} powers summed`, value: median(base) },
    aim: { kind: 'at-most', value: aimNanos },
  })
}

// Neither has types. They are the only two packages on npm that convert odds.
const require = createRequire(import.meta.url)
const oddslib = require('oddslib') as {
  from(format: 'moneyline', odds: number): { to(format: 'decimal'): number }
}
const oddsConverter = require('odds-converter') as {
  american: { toDecimal(odds: number): unknown }
}

/** American odds to decimal: ours stay exact, oddslib rounds to twelve digits, odds-converter to three. */
function readingFigure(peer: { readonly name: string; readonly read: () => unknown }): Figure {
  const ours: number[] = []
  const theirs: number[] = []
  for (let repeat = 0; repeat <= REPEATS; repeat += 1) {
    const own = measureNanos(() => parseOdds('-110'))
    const other = measureNanos(peer.read)
    if (repeat === 0) continue
    ours.push(own)
    theirs.push(other)
  }
  return judgeFigure({
    name: `American odds read, beside ${peer.name.split(' ')[0]}`,
    value: median(ours),
    unit: 'ns',
    baseline: { name: peer.name, value: median(theirs) },
    aim: { kind: 'none' },
  })
}

/** Margin removal by the power method, and reading odds beside npm's two converters. */
export async function measureOdds(): Promise<readonly Figure[]> {
  return [
    measureFigure(THREE, 350),
    measureFigure(TWENTY, 2000),
    readingFigure({
      name: 'oddslib 2.1.1, twelve digits',
      read: () => oddslib.from('moneyline', -110).to('decimal'),
    }),
    readingFigure({
      name: 'odds-converter 1.0.4, three digits',
      read: () => oddsConverter.american.toDecimal(-110),
    }),
  ]
}
