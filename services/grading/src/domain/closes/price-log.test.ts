import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PriceRecord } from './price-log.ts'
import { PriceLog } from './price-log.ts'

type Given = {
  readonly book: string
  readonly market: string
  readonly seen: number | undefined
  readonly recorded: number
  readonly odds: number
  readonly isOpen?: boolean
}

const makeRecord = ({ book, isOpen = true, market, odds, recorded, seen }: Given): PriceRecord => ({
  feed: 'feed',
  isRedistributable: isOpen,
  isSynthetic: false,
  market,
  type: '1x2',
  period: 'ft',
  family: market,
  book,
  odds: { home: odds },
  isComplete: false,
  capturedAtSeconds: seen,
  recordedAtSeconds: recorded,
  record: { seq: 0, hash: '' },
})

const input = fc.record({
  book: fc.constantFrom('a', 'b', 'c'),
  market: fc.constantFrom('1x2/ft', 'ah/ft/-1'),
  seen: fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined }),
  recorded: fc.integer({ min: 0, max: 400 }),
  odds: fc.integer({ min: 11, max: 90 }).map((tenths) => tenths / 10),
  isOpen: fc.boolean(),
})

/** Long enough for an index, in rounds. */
const rounds = fc.array(fc.array(input, { maxLength: 12 }), { minLength: 1, maxLength: 14 })

const makeLog = (all: readonly (readonly Given[])[]): PriceLog =>
  all.reduce((log, round) => log.with(round.map(makeRecord)), PriceLog.fromRecords([]))

const most = (some: readonly PriceRecord[]): number =>
  Math.max(0, ...some.map(({ odds }) => odds['home'] ?? 0))

const names = (records: readonly PriceRecord[]): readonly string[] =>
  records.map(({ book, odds }) => `${book} ${odds['home']}`).toSorted()

const price = (odds: number): PriceRecord =>
  makeRecord({ book: 'a', market: '1x2/ft', seen: odds, recorded: odds, odds })

describe('a log of prices answers as a scan of all its prices does, whatever came in whatever order', () => {
  test('the last of a source, those of a minute, the extremes, the markets', () => {
    fc.assert(
      fc.property(rounds, input, (all, { book, market, recorded }) => {
        const log = makeLog(all)
        const records = all.flat().map(makeRecord)
        const source = { feed: 'feed', market, book }
        const ofSource = records.filter((each) => each.book === book && each.market === market)
        expect([...log]).toEqual(records)
        expect(log.last(source)).toEqual(ofSource.at(-1))
        const minute = ofSource.filter(
          ({ capturedAtSeconds: seen }) =>
            seen !== undefined && Math.floor(seen / 60) === Math.floor(recorded / 60),
        )
        expect(log.ofMinute(source, recorded)).toEqual(minute)
        const prices = records.filter((each) => each.market === market)
        expect(log.extremes(market, 'home')).toEqual({
          highest: most(prices),
          lowest: Math.min(...prices.map(({ odds }) => odds['home'] ?? 0)),
          isOpen: prices.every(({ isRedistributable }) => isRedistributable),
          timeless: most(prices.filter(({ capturedAtSeconds: seen }) => seen === undefined)),
        })
        expect(new Set(log.markets)).toEqual(new Set(records.map((each) => each.market)))
      }),
    )
  })

  test('what stood at a moment: of each source the last by then', () => {
    fc.assert(
      fc.property(rounds, input, fc.constantFrom('record', 'source'), (all, each, by) => {
        const { market, recorded: atSeconds } = each
        const at = { atSeconds, by } as const
        const indexed = makeLog(all).standing(market, at)
        // Another state goes on from each round, so that no log is the newest: every answer is a scan.
        const scanned = all.reduce((log, round) => {
          const next = log.with(round.map(makeRecord))
          log.with([makeRecord({ book: 'z', market, seen: 0, recorded: 0, odds: 2 })])
          return next
        }, PriceLog.fromRecords([]))
        expect(names(indexed)).toEqual(names(scanned.standing(market, at)))
      }),
    )
  })
})

test('a state keeps its prices although later ones share them, and a state that is gone on from twice has two futures', () => {
  const first = PriceLog.fromRecords(Array.from({ length: 60 }, (_, index) => price(2 + index)))
  const [left, right] = [first.with([price(100)]), first.with([price(200)])]
  const source = { feed: 'feed', market: '1x2/ft', book: 'a' }
  expect([first.length, left.length, right.length]).toEqual([60, 61, 61])
  expect([first, left, right].map((log) => log.last(source)?.odds['home'])).toEqual([61, 100, 200])
  expect(first.extremes('1x2/ft', 'home').highest).toBe(61)
})
