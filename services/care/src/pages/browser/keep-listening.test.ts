import { describe, expect, it } from 'vitest'
import { pauseMs } from './keep-listening.ts'

describe('pauses between attempts', () => {
  it('double, from half a second up to 15 s', () => {
    const longest = [0, 1, 2, 3, 10, 1000].map((attempt) => pauseMs({ attempt, chance: 1 }))
    expect(longest).toEqual([500, 1000, 2000, 4000, 15_000, 15_000])
  })

  it('vary randomly by half of their length', () => {
    expect(pauseMs({ attempt: 0, chance: 0 })).toBe(250)
  })
})
