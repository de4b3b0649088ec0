import { expect, it } from 'vitest'
import { betWords, marketSelections, marketWords, selectionWords } from './market-words.ts'

it.each([
  ['soccer/e/1x2/ft', 'Match result'],
  ['soccer/e/ah/ft/-0.75', 'Asian handicap −0.75'],
  ['soccer/e/total/h1/2.5', 'Total 2.5 first half'],
  ['basketball/e/prop:points/q1/25.5@lebron-james', 'points 25.5 (lebron james) Q1'],
  ['nonsense', 'nonsense'],
])('%s is %s', (key, words) => {
  expect(marketWords(key)).toBe(words)
})

it('home and away carry their teams', () => {
  const event = { home: 'Arsenal', away: 'Chelsea' }
  expect(selectionWords('home', event)).toBe('Arsenal (home)')
  expect(selectionWords('home_draw', undefined)).toBe('Home draw')
})

it('selections follow the type of the key', () => {
  expect(marketSelections('soccer/e/total/ft/2.5')).toEqual(['over', 'under'])
  for (const key of ['soccer', 'soccer/e/cs/ft', 'soccer/e/prop:goals/ft', 'soccer/e/toString/ft'])
    expect(marketSelections(key)).toEqual([])
})

it.each([
  ['football/e/spread/ft/-6', 'away', 'Spread: Vikings (away) +6'],
  ['football/e/spread/ft/-6', 'home', 'Spread: Packers (home) −6'],
  ['football/e/spread/h1/3.5', 'away', 'Spread first half: Vikings (away) −3.5'],
  ['soccer/e/ah/ft/0', 'away', 'Asian handicap: Vikings (away) 0'],
  ['soccer/e/ah/ft/0.25', 'home', 'Asian handicap: Packers (home) +0.25'],
  ['soccer/e/total/ft/2.5', 'over', 'Total 2.5: Over'],
  ['soccer/e/1x2/ft', 'draw', 'Match result: Draw'],
  ['nonsense', 'x', 'nonsense: X'],
])('a line is shown from the backed side: %s %s is %s', (key, selection, words) => {
  expect(betWords(key, selection, { home: 'Packers', away: 'Vikings' })).toBe(words)
})
