import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatTimestamp, parseTimestamp } from '../ledger/records.ts'
import { cutPage, isWithin, nextLink, readRange } from './mirror-query.ts'

const timestamp = fc.bigInt({ min: 0n, max: 9_999_999_999_999_999_999n })

describe('timestamps', () => {
  test('what is written reads back the same, with nine digits', () => {
    fc.assert(
      fc.property(timestamp, (nanoseconds) => {
        const text = formatTimestamp(nanoseconds)
        expect(text).toMatch(/^\d+\.\d{9}$/)
        expect(parseTimestamp(text)).toBe(nanoseconds)
      }),
    )
  })

  test.each([
    ['1700000000', 1_700_000_000_000_000_000n],
    ['1700000000.5', 1_700_000_000_500_000_000n],
    ['', undefined],
    ['1.0000000001', undefined],
    ['-1', undefined],
    ['1e9', undefined],
  ])('%s reads as %s', (text, expected) => {
    expect(parseTimestamp(text)).toBe(expected)
  })
})

const read = (...values: string[]) => readRange(values, parseTimestamp)

describe('ranges', () => {
  test('bounds narrow each other, whatever their order', () => {
    fc.assert(
      fc.property(timestamp, timestamp, (a, b) => {
        const bounds = [`gt:${formatTimestamp(a)}`, `lte:${formatTimestamp(b)}`]
        expect(read(...bounds)).toEqual({
          from: a + 1n,
          to: b < 2n ** 63n - 1n ? b : 2n ** 63n - 1n,
        })
        expect(read(...bounds.toReversed())).toEqual(read(...bounds))
      }),
    )
  })

  test('several values choose, within the bounds', () => {
    const range = read('eq:7', '3', '9', 'lt:8')
    expect(
      range && [2n, 3n, 5n, 7n, 9n].filter((second) => isWithin(range, second * 10n ** 9n)),
    ).toEqual([3n, 7n])
  })

  test.each(['ne:5', 'about:5', 'gt:', 'gt:x', ''])('%s is none', (value) => {
    expect(read(value)).toBeUndefined()
  })
})

describe('the link to the next page', () => {
  const options = { url: '/p', name: 'timestamp', last: '5.000000000' }

  test('keeps every other parameter and moves the bound on the side that the page advances', () => {
    const query = { 'account.id': '0.0.2', limit: '2', timestamp: ['gte:1', 'lt:9'] }
    expect(nextLink({ ...options, query, order: 'desc' })).toBe(
      '/p?account.id=0.0.2&limit=2&timestamp=gte:1&timestamp=lt:5.000000000',
    )
    expect(nextLink({ ...options, query, order: 'asc' })).toBe(
      '/p?account.id=0.0.2&limit=2&timestamp=lt:9&timestamp=gt:5.000000000',
    )
  })

  test('is null after a page that is not full', () => {
    const request = { url: '/p', query: { limit: '2' }, limit: 2, order: undefined }
    const list = { name: 'number', order: 'asc', pageKey: String } as const
    expect(cutPage(request, [1, 2], list).links.next).toBe('/p?limit=2&number=gt:2')
    expect(cutPage(request, [1], list).links.next).toBeNull()
  })
})
