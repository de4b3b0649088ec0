// The checker of payments itself: it finds what is wrong in broken books, and nothing in those that hold.
import { describe, expect, it } from 'vitest'
import { type Books, checkPayments } from './check-payments.ts'

const payment = (id: string, ...answers: readonly (readonly [number, string])[]) => ({
  id,
  startMs: 0,
  firstMs: 1,
  answers: answers.map(([status, text]) => ({ status, text })),
})

/** One that all processes served, one that some did not answer, one that was never sent to the chain, and one refused. */
const GOOD = {
  payments: [
    payment('a', [200, 'A'], [200, 'A'], [200, 'A']),
    payment('b', [200, 'B']),
    payment('pending'),
    payment('refused', [402, 'expired']),
  ],
  calls: [
    { id: 'a', status: 200 },
    { id: 'a', status: 502 },
  ],
  charges: ['a', 'b'],
  effects: ['b', 'a'],
} satisfies Books

describe('the checker of payments', () => {
  it('finds nothing where each is charged once, done once and answered alike', () => {
    expect(checkPayments(GOOD)).toEqual([])
  })

  it.each<[string, Partial<Books>, string]>([
    ['a second charge', { charges: ['a', 'b', 'a'] }, 'a is charged 2 times'],
    ['a second effect', { effects: ['a', 'b', 'b'] }, 'b is done 2 times'],
    ['a charge without an effect', { effects: ['a'] }, 'b is charged and not done'],
    ['an effect without a charge', { charges: ['b'] }, 'a is done and not charged'],
    ['an answer without a charge', { charges: ['b'] }, 'a is served and not charged'],
    [
      'a charge without an answer',
      { charges: ['a', 'b', 'pending'], effects: ['a', 'b', 'pending'] },
      'pending is charged and not served',
    ],
    [
      'two answers',
      { payments: [...GOOD.payments, payment('a', [200, 'another'])] },
      'a has 2 answers',
    ],
    [
      'a refusal of what is charged',
      { payments: [...GOOD.payments, payment('b', [402, 'payment_already_used'])] },
      'b is charged and refused: 402 payment_already_used',
    ],
    ['money of nobody', { charges: ['a', 'b', 'x'] }, 'x is no payment of anybody'],
    [
      'a payer who is asked again',
      { calls: [{ id: 'a', status: 402 }] },
      'a has paid and is asked to pay again',
    ],
  ])('finds %s', (_, broken, sentence) => {
    expect(checkPayments({ ...GOOD, ...broken })).toContain(sentence)
  })
})
