import { expect, test } from 'vitest'
import { agentMemo, agentOfMemo, refundMemo, refundOfMemo } from './payment-memo.ts'

const AGENT = `0x${'Ab'.repeat(20)}`

test('X10: a memo x402:<agent> names that agent, in lower case', () => {
  expect(agentMemo(AGENT)).toBe(`x402:${AGENT.toLowerCase()}`)
  expect(agentOfMemo(`x402:${AGENT}`)).toBe(AGENT.toLowerCase())
  expect(agentOfMemo(agentMemo(AGENT))).toBe(AGENT.toLowerCase())
})

test.each([
  '',
  'x402:',
  `x402: ${AGENT}`,
  `x402:${AGENT}0`,
  ` x402:${AGENT}`,
  `X402:${AGENT}`,
  AGENT,
])('X10: the memo %j names no agent', (memo) => {
  expect(agentOfMemo(memo)).toBeUndefined()
})

test('A15: a refund names the canonical id of what it refunds', () => {
  expect(refundMemo('0.0.5001-1795226009-5')).toBe('refund:0.0.5001@1795226009.000000005')
  expect(refundOfMemo('refund:0.0.5001-1795226009-000000005')).toBe('0.0.5001@1795226009.000000005')
  expect(refundOfMemo('refund:never')).toBeUndefined()
  expect(refundOfMemo('0.0.5001@1795226009.000000005')).toBeUndefined()
  expect(() => refundMemo('never')).toThrow(RangeError)
})
