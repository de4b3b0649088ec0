import { expect, test } from 'vitest'
import { eachWayPrices } from './each-way-prices.ts'
import { settledReturn } from './settled-return.ts'

test('10/1 each way at one fifth the odds is 11.0 to win and 3.0 to be placed', () => {
  expect(eachWayPrices({ odds: 11, placeDivisor: 5 })).toEqual({ win: 11, place: 3 })
})

test('placed and not won, the two halves return half a unit of a unit staked', () => {
  const { win, place } = eachWayPrices({ odds: 11, placeDivisor: 5 })
  const halves = [
    settledReturn({ result: 'lost', odds: win }),
    settledReturn({ result: 'won', odds: place }),
  ]
  expect(halves.reduce((sum, { returnUnits }) => sum + returnUnits / 2, 0)).toBe(0.5)
})
