import { describe, expect, test } from 'vitest'
import { chooseBetter, compareFigures, describeChange, isFailure } from './compare-results.ts'
import { type Figure, judgeFigure } from './figure.ts'

/** A cost `ratio` times below its baseline. */
const figure = (name: string, ratio: number, base = 'the baseline'): Figure =>
  judgeFigure({
    name,
    value: 100,
    unit: 'µs',
    baseline: { name: base, value: 100 * ratio },
    aim: { kind: 'none' },
  })

/** A rate beside its baseline. */
const rate = (value: number, base: number) =>
  judgeFigure({
    name: 'calls',
    value,
    unit: '/s',
    baseline: { name: 'the baseline', value: base },
    higherIsBetter: true,
    aim: { kind: 'none' },
  })

const listKinds = (tracked: readonly Figure[], now: readonly Figure[]) =>
  compareFigures(tracked, now).map(({ kind }) => kind)

describe('a figure against the tracked one', () => {
  test.each([
    [3, 3, 'held'],
    [3, 9, 'held'],
    [3, 2, 'held'],
    [3, 1.99, 'worse'],
    [0.9, 0.61, 'held'],
    [0.9, 0.59, 'worse'],
    [-3, -3, 'held'],
    [-3, -2, 'held'],
    [-3, 1, 'held'],
    [-3, -4.1, 'worse'],
  ])(
    'a ratio of %s that becomes %s is %s: worse by more than a third fails',
    (tracked, now, kind) => {
      expect(listKinds([figure('a', tracked)], [figure('a', now)])).toEqual([kind])
    },
  )

  test('a rate is compared like a cost: only the ratio counts, not the value', () => {
    expect(listKinds([rate(900, 300)], [rate(90, 30)])).toEqual(['held'])
    expect(listKinds([rate(900, 300)], [rate(900, 500)])).toEqual(['worse'])
  })

  test('a missing figure fails, a new one does not', () => {
    const changes = compareFigures([figure('old', 2)], [figure('young', 2)])
    expect(changes.map(({ kind }) => kind)).toEqual(['new', 'gone'])
    expect(changes.map(isFailure)).toEqual([false, true])
  })

  test('the same name against two baselines is two figures', () => {
    const tracked = [figure('a', 2, 'one'), figure('a', 8, 'two')]
    const now = [figure('a', 2, 'one'), figure('a', 2, 'two')]
    expect(listKinds(tracked, now)).toEqual(['held', 'worse'])
  })

  test('a cost of zero keeps a ratio that JSON can carry, and any cost after it is worse', () => {
    const nothing = judgeFigure({
      name: 'drift',
      value: 0,
      unit: 's',
      baseline: { name: 'the baseline', value: 60 },
      aim: { kind: 'at-most', value: 0 },
    })
    expect(JSON.parse(JSON.stringify(nothing))).toEqual(nothing)
    expect(nothing.met).toBe(true)
    expect(listKinds([nothing], [nothing])).toEqual(['held'])
    expect(listKinds([nothing], [figure('drift', 60)])).toEqual(['worse'])
  })
})

test('the better of two measurements of a figure counts', () => {
  const better = chooseBetter([figure('a', 1), figure('b', 5)], [figure('a', 3), figure('b', 2)])
  expect(better.map(({ ratio }) => ratio)).toEqual([3, 5])
})

test('a change names the tracked and the new figure', () => {
  const [change] = compareFigures([figure('a', 3)], [figure('a', 1)])
  expect(change && describeChange(change)).toBe(
    'worse: a, against the baseline: 3 × tracked, 1 × now',
  )
})
