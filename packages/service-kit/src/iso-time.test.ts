import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseIsoTime } from './clock.ts'

describe('ISO 8601 times', () => {
  test.each([
    '2026-11-21T12:00:00.000Z',
    '2026-11-21T12:00:00Z',
    '2026-11-21T12:00Z',
    '2026-11-21T12:00:00.123456789Z',
    '2026-11-21T12:00:00.5+05:30',
    '2026-11-21T00:00:00-11:00',
    '2028-02-29',
    '2000-02-29',
    '2026-11-21T23:59:59.9+23:59',
    '2000-02-29T23:59:59.999Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
  ])('%s is the moment that Date.parse names', (text) => {
    expect(parseIsoTime(text)).toBe(Date.parse(text))
  })

  test.each([
    '',
    'tomorrow',
    '2026-11-21T12:00:00',
    '2026-11-21 12:00:00Z',
    '2026-11-21T12:00:00z',
    '2026-02-30',
    '2026-02-29T00:00:00Z',
    '1900-02-29',
    '2100-02-29',
    '2026-06-31',
    '2026-11-00',
    '2026-11-32',
    '2026-13-01',
    '2026-00-10',
    '2026-04-31',
    '2026-11-21T24:00:00Z',
    '2026-11-21T12:60:00Z',
    '2026-11-21T12:00:60Z',
    '2026-11-21T12:00:00+0530',
    '2026-11-21T12:00:00+24:00',
    '1800000000',
    ' 2026-11-21',
    '2026-11-21\n',
    '+012026-11-21T12:00:00Z',
  ])('%j is none', (text) => {
    expect(parseIsoTime(text)).toBeUndefined()
  })

  test('every moment of the years 0 to 9999 round-trips', () => {
    const years = {
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
    }
    fc.assert(
      fc.property(fc.date({ ...years, noInvalidDate: true }), (date) => {
        expect(parseIsoTime(date.toISOString())).toBe(date.getTime())
      }),
    )
  })

  test('whatever it reads, Date.parse reads the same; any text is either read or refused', () => {
    const digits = fc.stringMatching(
      /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d\.\d{1,9}(Z|[+-][01]\d:[0-5]\d)$/,
    )
    fc.assert(
      fc.property(fc.oneof(digits, fc.string()), (text) => {
        const read = parseIsoTime(text)
        expect(read === undefined || read === Date.parse(text)).toBe(true)
      }),
    )
  })
})
