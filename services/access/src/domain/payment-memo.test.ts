import { describe, expect, test } from 'vitest'
import { memoAllows, readPaymentMemo } from './sales-terms.ts'

const AGENT = '0x00000000000000000000000000000000000000ab'

describe('X10: the memo that a payer signed', () => {
  test.each([
    ['', 'none'],
    ['for my agent', 'none'],
    ['x402:', 'reserved'],
    ['x402:0x12', 'reserved'],
    [`x402:${AGENT} `, 'reserved'],
    ['refund:0.0.1@1.000000001', 'reserved'],
  ])('%j is %s', (memo, kind) => {
    expect(readPaymentMemo(memo)).toEqual({ kind })
  })

  test('x402:<agent> names an agent, in either case of its letters', () => {
    expect(readPaymentMemo(`x402:${AGENT.toUpperCase().replace('0X', '0x')}`)).toEqual({
      kind: 'agent',
      agent: AGENT,
    })
  })

  test('allows the agent that it names, any agent when it names none, and nobody when it is ours and unreadable', () => {
    const other = '0x00000000000000000000000000000000000000cd'
    expect(memoAllows(`x402:${AGENT}`, AGENT)).toBe(true)
    expect(memoAllows(`x402:${AGENT}`, other)).toBe(false)
    expect(memoAllows('', other)).toBe(true)
    expect(memoAllows('x402:me', other)).toBe(false)
    expect(memoAllows('refund:x', other)).toBe(false)
  })
})
