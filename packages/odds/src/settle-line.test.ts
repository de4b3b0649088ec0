import { describe, expect, test } from 'vitest'
import type { LineResult } from './line-result.ts'
import { settleLine } from './settle-line.ts'

/** How half a stake on a line without quarters ends, written out anew. */
const half = (margin: number, line: number): number => Math.sign(margin + line)

const named: Record<string, LineResult> = {
  '2': 'won',
  '1': 'half_won',
  '0': 'push',
  '-1': 'half_lost',
  '-2': 'lost',
}

describe('settleLine', () => {
  test('every quarter line from -3 to +3 is half a stake on each neighbour', () => {
    for (let quarters = -12; quarters <= 12; quarters++)
      for (let margin = -6; margin <= 6; margin++) {
        const line = quarters / 4
        const isSplit = quarters % 2 !== 0
        const parts = isSplit
          ? half(margin, line - 0.25) + half(margin, line + 0.25)
          : 2 * half(margin, line)
        expect(settleLine({ margin, line })).toBe(named[String(parts)])
      }
  })

  test.for([
    { margin: 0, line: -0.25, result: 'half_lost' },
    { margin: 0, line: 0.25, result: 'half_won' },
    { margin: 1, line: -1, result: 'push' },
    { margin: 0, line: 0, result: 'push' },
    { margin: 3, line: -2.75, result: 'half_won' },
    { margin: -3, line: 2.75, result: 'half_lost' },
  ])('margin $margin on line $line is $result', ({ margin, line, result }) => {
    expect(settleLine({ margin, line })).toBe(result)
  })

  test.for([
    { margin: 0.5, line: 0 },
    { margin: Number.NaN, line: 0 },
    { margin: 0, line: 0.1 },
    { margin: 0, line: Infinity },
  ])('margin $margin on line $line throws a RangeError', (bet) => {
    expect(() => settleLine(bet)).toThrow(RangeError)
  })
})
