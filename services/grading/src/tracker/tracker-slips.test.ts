import { describe, expect, test } from 'vitest'
import { readTracker } from './read-tracker.ts'

/** What becomes of each bet of a file: its line, and `bet`, `parlay` or its code. */
function kindsIn(csv: string): string {
  const read = readTracker(csv)
  if (read.kind === 'unreadable') return read.problem
  return [...read.rows]
    .map(({ bet, line }) => {
      const kind = 'expected' in bet ? (bet.code ?? bet.field) : 'legs' in bet ? 'parlay' : 'bet'
      return `${line} ${kind}`
    })
    .join(', ')
}

const [ARS, LIV, MUN, EVE] = [
  '2024-04-23,Arsenal v Chelsea,Arsenal',
  '2024-04-24,Everton v Liverpool,Liverpool',
  '2024-04-24,Man Utd v Sheffield Utd,Man Utd',
  '2024-04-27,Everton v Brentford,Everton',
]

describe('G19: rows that are legs of one bet are never singles', () => {
  test.for([
    [
      'an id, one price and one stake',
      `Bet ID\nT-1001,${ARS},3.24,10\nT-1001,${LIV},3.24,10`,
      '2 multiple',
    ],
    [
      'an id, and the price on the first row only',
      `bet_id\nT-1001,${ARS},3.24,10\nT-1001,${LIV},,`,
      '2 multiple',
    ],
    [
      'an id, and a price on the last row only',
      `Ticket\nT-1001,${ARS},,10\nT-1001,${LIV},3.24,`,
      '2 multiple',
    ],
    [
      'an id, own prices, and one stake',
      `Bet No\n88123,${ARS},1.62,10\n88123,${LIV},2.00,`,
      '2 multiple',
    ],
    [
      'an id on rows that are apart',
      `Bet ID\nT-1001,${ARS},3.24,10\nT-1002,${EVE},2.1,5\nT-1001,${LIV},3.24,10`,
      '2 multiple, 3 bet',
    ],
    [
      'a counter on rows that follow one another',
      `Bet No\n1,${ARS},3.24,10\n1,${LIV},3.24,10\n2,${EVE},2.1,5`,
      '2 multiple, 4 bet',
    ],
    [
      'a zero or a mark for no price',
      `Coupon Ref\nT-1001,${ARS},3.24,10\nT-1001,${LIV},0,0\nT-1001,${MUN},-,-`,
      '2 multiple',
    ],
    [
      'a header with a number sign',
      `Ticket #\n991001,${ARS},3.24,10\n991001,${LIV},3.24,10\n991002,${EVE},2.1,5`,
      '2 multiple, 4 bet',
    ],
    [
      'three legs',
      `Receipt\nT-1001,${ARS},6.1,10\nT-1001,${LIV},6.1,10\nT-1001,${MUN},6.1,10`,
      '2 multiple',
    ],
    [
      'cells below the first row empty',
      `Bet ID\nT-1001,${ARS},3.24,10\n,${LIV},,\nT-1002,${EVE},2.1,5`,
      '2 multiple, 4 bet',
    ],
    [
      'own prices, id and stake empty',
      `Bet ID\nT-1001,${ARS},1.62,10\n,${LIV},2.00,`,
      '2 multiple',
    ],
  ])('%s', ([, rows, expected]) => {
    const [id, ...bets] = (rows ?? '').split('\n')
    expect(kindsIn([`${id},Date,Event,Selection,Odds,Stake`, ...bets].join('\n'))).toBe(expected)
  })

  test.for([
    [
      'a parent row and its legs without prices',
      `,,Parlay,3.24,10,\n${ARS},,,\n${LIV},,,\n${EVE},2.1,5,`,
      '2 multiple, 5 bet',
    ],
    [
      'a parent row of so many legs',
      `,,3 legs,6.1,10,\n${ARS},,,\n${LIV},,,\n${MUN},,,`,
      '2 multiple',
    ],
    [
      'a price and a stake on the first row only',
      `${ARS},3.24,10,\n${LIV},,,\n${EVE},2.1,5,`,
      '2 multiple, 4 bet',
    ],
    ['numbers of legs', `${ARS},1.62,10,1\n${LIV},2,10,2\n${EVE},2.1,5,`, '2 multiple, 4 bet'],
    [
      'numbers of legs of so many',
      `${ARS},1.62,10,1/2\n${LIV},2,10,2/2\n${EVE},2.1,5,`,
      '2 multiple, 4 bet',
    ],
  ])('without an id: %s', ([, rows, expected]) => {
    expect(kindsIn(`Date,Event,Selection,Odds,Stake,Leg\n${rows}`)).toBe(expected)
  })

  test.for([
    [
      'a parent row, and legs with their own prices and results',
      `,,2 legs,3.24,10,L\n${ARS},1.62,,W\n${LIV},2.00,,L\n${EVE},2.1,5,W`,
      '2 parlay, 5 bet',
    ],
    [
      'legs with their own prices and results below the first one’s stake',
      `${ARS},1.62,10,W\n${LIV},2.00,,L\n${EVE},2.1,5,W`,
      '2 unclear, 3 unclear, 4 bet',
    ],
    [
      'a leg that is joined with a plus',
      `${ARS},1.62,10,W\n${LIV.replace(',Liverpool', ',+ Liverpool')},2.00,10,L`,
      '2 multiple',
    ],
  ])('with results: %s', ([, rows, expected]) => {
    expect(kindsIn(`Date,Event,Selection,Odds,Stake,Result\n${rows}`)).toBe(expected)
  })

  test('one row that says parlay makes its id’s rows one bet, whatever their prices', () => {
    const header = 'Bet ID,Type,Date,Event,Selection,Odds,Stake'
    expect(kindsIn(`${header}\nT-1001,,${ARS},1.62,10\nT-1001,Parlay,${LIV},3.24,12`)).toBe(
      '2 multiple',
    )
  })

  test('what may be legs or bets by themselves is a question', () => {
    const own = `Bet ID,Date,Event,Selection,Odds,Stake\nT-1001,${ARS},1.62,10\nT-1001,${LIV},2.00,10`
    expect(kindsIn(own)).toBe('2 unclear, 3 unclear')
    expect(kindsIn(`Date,Event,Selection,Odds\n${ARS},1.62\n${LIV},\n${EVE},2.1`)).toBe(
      '2 unclear, 3 not_read, 4 bet',
    )
  })

  test.for([
    ['a counter', `Bet No\n1,${ARS},1.62,10\n2,${LIV},2.00,10\n3,${EVE},2.1,5`],
    ['a counter that begins again', `Bet No\n1,${ARS},1.62,10\n2,${LIV},2.00,10\n1,${EVE},2.1,10`],
    ['one constant', `Reference\nmine,${ARS},1.62,10\nmine,${LIV},2.00,12\nmine,${EVE},2.1,5`],
    [
      'a receipt of several bets',
      `Receipt\nR-20240423,${ARS},1.62,10\nR-20240423,${LIV},2.00,12\nR-3,${EVE},2.1,5`,
    ],
    ['no id at all', `Bet ID\n,${ARS},1.62,10\n,${LIV},2.00,10\n,${EVE},1.62,10`],
    ['n/a', `Bet ID\nn/a,${ARS},1.62,10\nn/a,${LIV},1.62,10\nn/a,${EVE},1.62,10`],
  ])('%s is no id of a multiple', ([, rows]) => {
    const [id, ...bets] = (rows ?? '').split('\n')
    expect(kindsIn([`${id},Date,Event,Selection,Odds,Stake`, ...bets].join('\n'))).toBe(
      '2 bet, 3 bet, 4 bet',
    )
  })

  test('the same bet in parts is no multiple, and a row of sums no leg', () => {
    const header = 'Bet ID,Date,Event,Selection,Odds,Stake'
    expect(kindsIn(`${header}\nT-1001,${ARS},1.62,10\nT-1001,${ARS},1.64,10\n,,,Total,,20`)).toBe(
      '2 bet, 3 bet, 4 not_read',
    )
    expect(kindsIn(`${header}\nT-1001,${ARS},1.62,10\n,,,Total,,`)).toBe('2 bet, 3 not_read')
  })
})

test('G19: marks on some rows only make their neighbours a question with one answer, not one bet of them all', () => {
  const read = readTracker(`Date,Home,Away,Market,Selection,Odds,Ref
2024-04-23,Arsenal,Chelsea,1X2,Arsenal,1.62,first
2024-04-24,Everton,Liverpool,1X2,Liverpool,2.00,`)
  if (read.kind === 'unreadable') throw new Error(read.problem)
  const answers = [...read.rows].map(({ bet }) => ('options' in bet ? bet.options?.length : 0))
  expect(answers).toEqual([1, 1])
})
