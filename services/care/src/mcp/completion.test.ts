import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { COMPLETION_VALUES_MAX, completeNames, completeVersions } from './completion-methods.ts'

describe('completion of {version}', () => {
  it('returns the available versions (newest first)', () => {
    expect(completeVersions(3, '')).toEqual({ values: ['3', '2', '1'], total: 3, hasMore: false })
    expect(completeVersions(0, '')).toEqual({ values: [], total: 0, hasMore: false })
  })

  it('C7: has the prefix v only if the typed value starts with v', () => {
    expect(completeVersions(3, 'v').values).toEqual(['v3', 'v2', 'v1'])
    expect(completeVersions(12, 'v1').values).toEqual(['v12', 'v11', 'v10', 'v1'])
    expect(completeVersions(12, '1').values).toEqual(['12', '11', '10', '1'])
  })

  it('is empty for a value with which no version starts', () => {
    for (const typed of ['x', '1x', 'vv', '-1', ' 1', '٣'])
      expect(completeVersions(3, typed).values).toEqual([])
  })

  it('holds at most 100 values and gives the total', () => {
    const many = completeVersions(250, '')
    expect(many.values).toHaveLength(COMPLETION_VALUES_MAX)
    expect(many).toMatchObject({ total: 250, hasMore: true })
    expect(many.values[0]).toBe('250')
  })
})

describe('completion of names', () => {
  it('gives each name that starts with the typed text once, in order', () => {
    expect(completeNames(['bo', 'ann', 'anna', 'ann'], 'an').values).toEqual(['ann', 'anna'])
  })

  it('never gives a name that does not start with the typed text', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.string(), (names, typed) => {
        const { values, total, hasMore } = completeNames(names, typed)
        for (const value of values)
          expect(value.startsWith(typed) && names.includes(value)).toBe(true)
        expect(hasMore).toBe(total > values.length)
      }),
    )
  })
})
