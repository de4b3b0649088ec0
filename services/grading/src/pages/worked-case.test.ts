import { describe, expect, it } from 'vitest'
import { methodPage } from './method-page.ts'
import { workedCase } from './worked-case.ts'

describe('the worked case', () => {
  const shown = workedCase()

  it('won, but is graded poorly, because its price was worse than the close', () => {
    expect(shown.won.beatClose).toBe(false)
    expect(['D', 'F']).toContain(shown.won.band)
  })

  it('has a second pick that beats the close and is still a loss', () => {
    expect(shown.draw.beatClose).toBe(true)
    expect(shown.draw.fair).toBeLessThan(0)
    expect(shown.draw.band).toBe('C')
  })

  it('has a record whose return and score diverge', () => {
    const { score, split } = shown.record
    expect(split.profit).toBeGreaterThan(0)
    expect(score.score).toBeLessThan(50)
    expect(split.edge + split.luck).toBeCloseTo(split.profit, 12)
  })

  it('fair chances sum to one', () => {
    expect(shown.rows.reduce((sum, { fair }) => sum + fair, 0)).toBeCloseTo(1, 12)
  })
})

it('the page shows the computed figures', () => {
  const page = String(methodPage().body)
  const { rows, won } = workedCase()
  for (const { fair } of rows) expect(page).toContain(`${(fair * 100).toFixed(2)}\u00a0%`)
  expect(page).toContain(`−${Math.abs(won.fair * 100).toFixed(2)}\u00a0%`)
  expect(page).toContain('Grade D.')
})
