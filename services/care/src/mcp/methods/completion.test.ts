import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { COMPLETION_VALUES_MAX, completeVersions } from './completion-methods.ts'

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

describe('completion of versions at any size', () => {
  it('gives what a search of every version would', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3_000 }),
        fc.integer({ min: 0, max: 4_000 }),
        (latest, typed) => {
          const all = Array.from({ length: latest }, (_, at) => String(latest - at))
          const fitting = all.filter((version) => version.startsWith(String(typed)))
          const { values, total } = completeVersions(latest, String(typed))
          expect([values, total]).toEqual([fitting.slice(0, COMPLETION_VALUES_MAX), fitting.length])
        },
      ),
    )
  })
})
