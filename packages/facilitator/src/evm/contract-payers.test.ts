import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { ConsensusUnavailable, type SettlementEnd } from '../settlement.ts'
import { createContractPayers } from './contract-payers.ts'

const HOUR_MS = 3_600_000
const REVERTED: SettlementEnd = { outcome: 'failed', reason: 'x', hasReverted: true }
const FRONT_RUN: SettlementEnd = { outcome: 'duplicate', reason: 'x' }

test('X21: a payer whose transaction reverted is refused for an hour, others are not', () => {
  const clock = manualClock(0)
  const payers = createContractPayers(clock)
  payers.begin('a')
  payers.end('a', REVERTED)
  payers.begin('front-run')
  payers.end('front-run', FRONT_RUN)
  expect(['a', 'front-run', 'b'].map((payer) => payers.hasReverted(payer))).toEqual([
    true,
    false,
    false,
  ])
  clock.advanceMs(HOUR_MS - 1)
  expect(payers.hasReverted('a')).toBe(true)
  clock.advanceMs(1)
  expect(payers.hasReverted('a')).toBe(false)
})

test('X21: a contract has one transaction under way; the next is not submitted meanwhile', () => {
  const payers = createContractPayers(manualClock(0))
  payers.begin('a')
  expect(() => payers.begin('a')).toThrow(ConsensusUnavailable)
  payers.begin('b')
  payers.end('a')
  payers.begin('a')
})

test('X21: 10,000 payers are remembered, the latest ones', () => {
  const payers = createContractPayers(manualClock(0))
  for (let at = 0; at <= 10_000; at += 1) {
    payers.begin(`${at}`)
    payers.end(`${at}`, REVERTED)
  }
  expect([payers.hasReverted('0'), payers.hasReverted('1')]).toEqual([false, true])
})
