import { describe, expect, test } from 'vitest'
import { dayOrder, readDate } from './tracker-dates.ts'

describe('a date as trackers write it', () => {
  test.for([
    ['2024-04-23', '2024-04-23', undefined],
    ['2024/4/3', '2024-04-03', undefined],
    ['2024-04-23 19:00', '2024-04-23', undefined, '2024-04-23T19:00:00'],
    ['2024-04-23T19:00:00Z', '2024-04-23', '2024-04-23T19:00:00Z'],
    ['2026-02-24T19:53:23.751Z', '2026-02-24', '2026-02-24T19:53:23Z'],
    ['02/24/2026 19:53:23 GMT', '2026-02-24', '2026-02-24T19:53:23Z'],
    ['2024-04-23 19:00 +0200', '2024-04-23', '2024-04-23T19:00:00+02:00'],
    ['23/04/2024', '2024-04-23', undefined],
    ['23.04.24', '2024-04-23', undefined],
    ['03.04.2024', '2024-04-03', undefined],
    ['23-04-2024 20:45', '2024-04-23', undefined, '2024-04-23T20:45:00'],
    ['23 Apr 2024', '2024-04-23', undefined],
    ['23-Apr-24', '2024-04-23', undefined],
    ['Sep 29 2024 9:18 PM', '2024-09-29', undefined, '2024-09-29T21:18:00'],
    ['September 29, 2024', '2024-09-29', undefined],
    ['Sun, 29 Sep 2024 12:05 AM UTC', '2024-09-29', '2024-09-29T00:05:00Z'],
    ['04/04/2024', '2024-04-04', undefined],
    ['20240423', '2024-04-23', undefined],
    ['23rd April 2024', '2024-04-23', undefined],
    ['Tue 23. Apr. 2024', '2024-04-23', undefined],
    ['23. März 2024', '2024-03-23', undefined],
    ['Sa., 7. Dez. 2024, 15:30', '2024-12-07', undefined, '2024-12-07T15:30:00'],
    ['mar. 23 août 2024', '2024-08-23', undefined],
    ['14 juillet 2024', '2024-07-14', undefined],
    ['14 juin 2024', '2024-06-14', undefined],
    ['23 de abril de 2024', '2024-04-23', undefined],
    ['sáb 1 ene 2024', '2024-01-01', undefined],
    ['23 giugno 2024', '2024-06-23', undefined],
    ['2 ottobre 2024 20:45', '2024-10-02', undefined, '2024-10-02T20:45:00'],
    ['23/04/2024 20:00 BST', '2024-04-23', undefined, '2024-04-23T20:00:00'],
    ['4/23/2024 7:30 PM EDT', '2024-04-23', undefined, '2024-04-23T19:30:00'],
  ])('%s', ([text = '', day, moment, clock]) => {
    expect(readDate(text, undefined)).toEqual({ kind: 'date', day, moment, clock })
  })

  test.for([
    '',
    'yesterday',
    '2024-13-01',
    '30/02/2024',
    '32 Jan 2024',
    '12:00',
    '20240423x',
    '23 mes 2024',
  ])('%s is no date', (text) => {
    expect(readDate(text, 'day_first')).toEqual({ kind: 'unreadable' })
  })
})

test('03/04/2024 is asked about, unless the file or the reader says which comes first', () => {
  expect(readDate('03/04/2024', undefined)).toEqual({ kind: 'unclear' })
  expect(readDate('03/04/2024', 'day_first')).toEqual({ kind: 'date', day: '2024-04-03' })
  expect(readDate('03/04/2024', 'month_first')).toEqual({ kind: 'date', day: '2024-03-04' })
  expect(dayOrder(['03/04/2024', '25/04/2024'])).toBe('day_first')
  expect(dayOrder(['03/04/2024', '04/25/2024'])).toBe('month_first')
  expect(dayOrder(['03/04/2024', '2024-04-25'])).toBeUndefined()
})
