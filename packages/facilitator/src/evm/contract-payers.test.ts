import { HOUR_MS, manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { ConsensusUnavailable, type SettlementEnd } from '../settlement.ts'
import { createContractPayers } from './contract-payers.ts'

const REVERTED: SettlementEnd = { outcome: 'failed', reason: 'x', hasReverted: true }
const FRONT_RUN: SettlementEnd = { outcome: 'duplicate', reason: 'x' }
const PENDING: SettlementEnd = { outcome: 'pending', reason: 'settlement_pending' }

const VALID_SECONDS = 60
let made = 0
/** Another payment of that payer, valid for a minute after the start of the clock. */
const makePayment = (payer: string) => ({
  payer,
  id: `${payer}/${(made += 1)}`,
  validUntilSeconds: VALID_SECONDS,
})

test('X21: a payer whose transaction reverted is refused for an hour, others are not', () => {
  const clock = manualClock(0)
  const payers = createContractPayers(clock)
  const [payment, frontRun] = [makePayment('a'), makePayment('front-run')]
  payers.begin(payment)
  payers.end(payment, REVERTED)
  payers.begin(frontRun)
  payers.end(frontRun, FRONT_RUN)
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
  const payment = makePayment('a')
  payers.begin(payment)
  expect(() => payers.begin(makePayment('a'))).toThrow(ConsensusUnavailable)
  payers.begin(makePayment('b'))
  payers.end(payment)
  payers.begin(makePayment('a'))
})

test('X21: a transaction in doubt stays under way until its end is known or its authorization is over', () => {
  const clock = manualClock(0)
  const payers = createContractPayers(clock)
  const doubtful = makePayment('a')
  payers.begin(doubtful)
  payers.end(doubtful, PENDING)
  expect(() => payers.begin(makePayment('a'))).toThrow(ConsensusUnavailable)
  payers.end(doubtful, { outcome: 'settled', reason: '' })
  const next = makePayment('a')
  payers.begin(next)
  payers.end(next, PENDING)
  clock.advanceMs(VALID_SECONDS * 1_000)
  const last = { ...makePayment('a'), validUntilSeconds: 2 * VALID_SECONDS }
  payers.begin(last)
  // The one before it reverted after all: that is held against its payer, and ends no other transaction.
  payers.end(next, REVERTED)
  expect(payers.hasReverted('a')).toBe(true)
  expect(() => payers.begin(makePayment('a'))).toThrow(ConsensusUnavailable)
})

test('X21: 10,000 payers are remembered, the latest ones', () => {
  const payers = createContractPayers(manualClock(0))
  for (let at = 0; at <= 10_000; at += 1) {
    const payment = makePayment(`${at}`)
    payers.begin(payment)
    payers.end(payment, REVERTED)
  }
  expect([payers.hasReverted('0'), payers.hasReverted('1')]).toEqual([false, true])
})
