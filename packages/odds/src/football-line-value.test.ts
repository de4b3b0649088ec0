import { describe, expect, test } from 'vitest'
import vectors from '../vectors/football-lines.json' with { type: 'json' }
import golden from '../vectors/golden.json' with { type: 'json' }
import { type FootballFit, fitFootballClose } from './fit-football-close.ts'
import { type FootballLineBet, footballLineValue } from './football-line-value.ts'
import { gradeBand } from './grade-band.ts'
import { sameLineValue } from './same-line-value.ts'
import { fairProbabilities } from './testing/fair-probabilities.ts'

const fitOf = (written: {
  handicap: { line: string; home: string; away: string }
  total: { line: string; over: string; under: string }
}): FootballFit => {
  const { handicap, total } = written
  const fit = fitFootballClose({
    handicap: { line: +handicap.line, home: +handicap.home, away: +handicap.away },
    total: { line: +total.line, over: +total.over, under: +total.under },
  })
  if (fit.kind !== 'fitted') throw new Error(fit.reason)
  return fit
}

const sides: readonly string[] = ['home', 'away', 'over', 'under']
const isSide = (text: string): text is FootballLineBet['side'] => sides.includes(text)
const sideOf = (text: string): FootballLineBet['side'] => {
  if (!isSide(text)) throw new Error(`no side: ${text}`)
  return text
}

const all = vectors.flatMap((vector) => vector.bets.map((bet) => ({ vector, ...bet })))

describe('footballLineValue', () => {
  test.for(all)('agrees to 1e-11 with 60 digits: $vector.name, $side $line @$odds', (vector) => {
    const bet = { side: sideOf(vector.side), line: Number(vector.line), odds: Number(vector.odds) }
    const found = footballLineValue(fitOf(vector.vector), bet)
    expect(found.won).toBeCloseTo(Number(vector.won), 11)
    expect(found.lost).toBeCloseTo(Number(vector.lost), 11)
    expect(found.value).toBeCloseTo(Number(vector.value), 11)
  })

  test.for(golden.moved_lines)('golden, by value and not by price: $name', (vector) => {
    const [home = '', away = ''] = vector.close_ah
    const [over = '', under = ''] = vector.close_ou25
    const fit = fitOf({
      handicap: { line: vector.close_line, home, away },
      total: { line: '2.5', over, under },
    })
    const bet = {
      side: sideOf(vector.side),
      line: Number(vector.taken_line),
      odds: Number(vector.taken),
    }
    const { value } = footballLineValue(fit, bet)
    expect(value).toBeCloseTo(Number(vector.ev_close), 10)
    expect(gradeBand(value)).toBe(vector.grade)
  })

  test('on the closing line itself it is the exposed value of the closing pair', () => {
    for (const vector of vectors) {
      const fit = fitOf(vector)
      const line = Number(vector.handicap.line)
      const { won, lost, value } = footballLineValue(fit, { side: 'home', line, odds: 2 })
      const [winShare = 0] = fairProbabilities([+vector.handicap.home, +vector.handicap.away])
      expect(value).toBeCloseTo(sameLineValue({ odds: 2, winShare, exposure: won + lost }), 12)
    }
  })

  test('a better line is worth more, at every quarter', () => {
    const fit = fitOf(vectors[0] as (typeof vectors)[number])
    for (const { side, better } of [
      { side: 'home', better: 1 },
      { side: 'away', better: 1 },
      { side: 'over', better: -1 },
      { side: 'under', better: 1 },
    ] as const)
      for (let line = 0.25; line <= 4; line += 0.25) {
        const worse = footballLineValue(fit, { side, line, odds: 1.9 }).value
        const gained = footballLineValue(fit, { side, line: line + better * 0.25, odds: 1.9 }).value
        expect(gained).toBeGreaterThan(worse)
      }
  })

  test('a line that is no multiple of 0.25 throws a RangeError', () => {
    const fit = fitOf(vectors[0] as (typeof vectors)[number])
    expect(() => footballLineValue(fit, { side: 'home', line: 0.3, odds: 2 })).toThrow(RangeError)
  })
})
