// What one event with very many picks or prices does to a read and to a round of the poller, beside one with a hundredth of
// them. The imports are relative because the service exports none of these parts.
import { randomBytes } from 'node:crypto'
import { manualClock } from '@tallystick/service-kit'
import type { GradingStore } from '../../services/grading/src/domain/closes/grading-store.ts'
import { createGrader } from '../../services/grading/src/domain/grading/grader.ts'
import { coverageAnswer } from '../../services/grading/src/domain/markets/coverage.ts'
import { parseMarket } from '../../services/grading/src/domain/markets/parse-market.ts'
import {
  DEFAULT_GRADE_OPTIONS,
  type PickRequest,
} from '../../services/grading/src/domain/markets/pick-request.ts'
import { type Figure, judgeFigure } from './figure.ts'
import { median } from './quantile.ts'

const NOW_SECONDS = 1_780_000_000
const EVENT_PICKS = 30_000
const EVENT_PRICES = 36_000
/** A hundredth: what the large event is compared with. */
const SMALL = 100
const REPEATS = 20
/** Rounds in one payload while an event is filled: each waits for the disk. */
const FILLED_ROUNDS = 36

export function makePick(market: string, selection: string): PickRequest {
  const parsed = parseMarket({ market, selection })
  if (parsed.kind !== 'market') throw new Error('no market')
  const odds = { kind: 'odds', format: 'decimal', decimal: 2.1, text: '2.1' } as const
  const { key } = parsed
  return { kind: 'pick', key, selection: parsed.selection, odds, options: DEFAULT_GRADE_OPTIONS }
}

export async function cpuMs(run: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const event = (name: string) => ({
  path: `soccer/bench.${name}`,
  sport: 'soccer',
  league: 'Bench',
  home: `Home ${name}`,
  away: `Away ${name}`,
  startAtSeconds: NOW_SECONDS + 86_400,
  startPrecision: 'second' as const,
})

const FEED = { feed: 'bench', isRedistributable: true, isSynthetic: true }

/** Rounds of a poller: new prices of ten books, each round at its own minute, in one payload. */
async function poll(
  store: GradingStore,
  name: string,
  { first, rounds }: { readonly first: number; readonly rounds: number },
): Promise<void> {
  const at = NOW_SECONDS - 86_400 * 30 + (first + rounds) * 60
  const snapshots = Array.from({ length: 10 * rounds }, (_, index) => {
    const round = first + Math.floor(index / 10)
    return {
      market: '1x2/ft',
      book: `book_${index % 10}`,
      odds: { home: String(2 + (round % 100) / 100), draw: '3.5', away: '3.9' },
      capturedAtSeconds: NOW_SECONDS - 86_400 * 30 + round * 60,
    }
  })
  const observation = {
    event: event(name),
    rule: 'last_before_start' as const,
    snapshots,
    closes: [],
    closeStatus: 'provisional' as const,
    outcomes: [],
  }
  await store.ingest({
    feed: FEED,
    observations: [observation],
    receivedAtSeconds: at,
    rawSha256: '',
  })
}

async function priceFigures(store: GradingStore): Promise<readonly Figure[]> {
  const fill = async (name: string, prices: number): Promise<number> => {
    const all = prices / 10
    for (let first = 0; first < all; first += FILLED_ROUNDS)
      await poll(store, name, { first, rounds: Math.min(FILLED_ROUNDS, all - first) })
    return all
  }
  const sizes = {
    large: await fill('large', EVENT_PRICES),
    small: await fill('small', EVENT_PRICES / SMALL),
  }
  const makeRound = async (name: 'large' | 'small'): Promise<number> => {
    const first = sizes[name]
    sizes[name] += REPEATS
    return (
      (await cpuMs(async () => {
        for (let round = 0; round < REPEATS; round += 1)
          await poll(store, name, { first: first + round, rounds: 1 })
      })) / REPEATS
    )
  }
  const lookAt = async (name: string): Promise<number> =>
    (await cpuMs(async () => {
      for (let read = 0; read < REPEATS; read += 1)
        await coverageAnswer(store, { kind: 'key', market: `soccer/bench.${name}/1x2/ft` })
    })) / REPEATS
  const figure = (what: string, large: number, small: number): Figure =>
    judgeFigure({
      name: `${what} of an event with ${EVENT_PRICES.toLocaleString('en')} prices`,
      value: large,
      unit: 'ms of CPU',
      baseline: { name: 'with a hundredth of them', value: small },
      aim: { kind: 'ratio', times: 0.5 },
    })
  return [
    figure('a round of ten prices', await makeRound('large'), await makeRound('small')),
    figure('a look', await warm(() => lookAt('large')), await warm(() => lookAt('small'))),
  ]
}

/** Runs measured after the first. One takes some 60 µs, and a collection in it would more than double its figure. */
const WARM_RUNS = 7

async function warm(run: () => Promise<number>): Promise<number> {
  await run()
  const runs: number[] = []
  while (runs.length < WARM_RUNS) runs.push(await run())
  return median(runs)
}

async function pickFigure(store: GradingStore): Promise<Figure> {
  const grader = createGrader({
    store,
    clock: manualClock(NOW_SECONDS * 1_000),
    randomBytes,
  })
  const keep = async (name: string, count: number): Promise<string> => {
    const pick = makePick(`soccer/bench.${name}/1x2/ft`, 'home')
    const card = await grader.grade(pick)
    let receipt = ''
    for (let from = 0; from < count; from += 500) {
      const keptEvents = await Promise.all(
        Array.from({ length: Math.min(500, count - from) }, (_, index) =>
          grader.release({
            pick,
            card,
            payer: `0x${from + index}`,
            paymentId: `${name} ${from + index}`,
            receivedAtSeconds: NOW_SECONDS,
          }),
        ),
      )
      receipt = keptEvents.at(-1)?.receipt ?? ''
    }
    return receipt
  }
  const [large, small] = [
    await keep('large', EVENT_PICKS),
    await keep('small', EVENT_PICKS / SMALL),
  ]
  const makeRead = async (receipt: string): Promise<number> =>
    (await cpuMs(async () => {
      for (let read = 0; read < REPEATS; read += 1) await grader.findCard(receipt)
    })) / REPEATS
  return judgeFigure({
    name: `a receipt read, of an event with ${EVENT_PICKS.toLocaleString('en')} picks`,
    value: await warm(() => makeRead(large)),
    unit: 'ms of CPU',
    baseline: { name: 'with a hundredth of them', value: await warm(() => makeRead(small)) },
    aim: { kind: 'ratio', times: 0.5 },
  })
}

/** Rounds, looks and receipts of events that are far larger than others. */
export const largeEventFigures = async (store: GradingStore): Promise<readonly Figure[]> => [
  ...(await priceFigures(store)),
  await pickFigure(store),
]
