import { describe, expect, test } from 'vitest'
import type { VerifiedPayment } from '../../payment.ts'
import {
  FEE_PAYER,
  HederaStandIn,
  OTHER_PAYER,
  PAY_TO,
  PAYER,
  START_MS,
} from '../../testing/hedera-stand-in.fixture.ts'
import { findHederaPayment } from './exact-hedera-scheme.ts'

const START_SECONDS = START_MS / 1_000
const nonce = `${FEE_PAYER}@${START_SECONDS}.000000001`
const payment: VerifiedPayment = {
  id: `hedera:testnet/${nonce}`,
  network: 'hedera:testnet',
  asset: '0.0.0',
  amount: 300_000_000n,
  payTo: PAY_TO,
  payer: PAYER,
  payerEvmAddress: '0x00',
  nonce,
  memo: 'x402:0xab',
  validFromSeconds: START_SECONDS,
  validUntilSeconds: START_SECONDS + 180,
}

const find = (ledger: HederaStandIn) =>
  findHederaPayment(payment, { mirror: ledger.mirror, nowSeconds: ledger.nowSeconds() })

describe('X8: what the ledger says about a payment', () => {
  test('landed: a record with SUCCESS that moved the payment’s amount between its accounts', async () => {
    const ledger = new HederaStandIn()
    ledger.land(payment)
    expect(await find(ledger)).toEqual({
      kind: 'landed',
      transaction: nonce,
      consensusSeconds: START_SECONDS,
    })
  })

  test('landed: even alongside duplicates and a failure', async () => {
    const ledger = new HederaStandIn()
    ledger.land(payment, 'DUPLICATE_TRANSACTION')
    ledger.land(payment, 'INVALID_PAYER_SIGNATURE')
    ledger.land(payment)
    expect((await find(ledger)).kind).toBe('landed')
  })

  test('failed: a record with another result and none with SUCCESS', async () => {
    const ledger = new HederaStandIn()
    ledger.land(payment, 'DUPLICATE_TRANSACTION')
    ledger.land(payment, 'INSUFFICIENT_ACCOUNT_BALANCE')
    expect(await find(ledger)).toEqual({ kind: 'failed', result: 'INSUFFICIENT_ACCOUNT_BALANCE' })
  })

  test.each([
    ['another payer', { payer: OTHER_PAYER }],
    ['another amount', { amount: 299_999_999n }],
    ['another receiver', { payTo: '0.0.66' }],
    ['another memo', { memo: 'x402:0xcd' }],
  ])('failed: the id was used for a transfer with %s', async (_name, changes) => {
    const ledger = new HederaStandIn()
    ledger.land({ ...payment, ...changes })
    expect(await find(ledger)).toEqual({ kind: 'failed', result: 'OTHER_TRANSACTION' })
  })

  const inToken = { ...payment, asset: '0.0.6001', amount: 1_000n }
  test.each<
    [string, string, readonly (readonly [asset: string, account: string, amount: bigint])[]]
  >([
    [
      'the amount',
      'landed',
      [
        ['0.0.6001', PAYER, -1_000n],
        ['0.0.6001', PAY_TO, 1_000n],
      ],
    ],
    [
      'the amount, and a fee that the payer paid besides, also in another token',
      'landed',
      [
        ['0.0.6001', PAYER, -1_050n],
        ['0.0.6001', PAY_TO, 1_000n],
        ['0.0.6001', '0.0.4242', 50n],
        ['0.0.7777', PAYER, -5n],
        ['0.0.7777', '0.0.4242', 5n],
      ],
    ],
    [
      'a fee taken from the credit',
      'failed',
      [
        ['0.0.6001', PAYER, -1_000n],
        ['0.0.6001', PAY_TO, 950n],
        ['0.0.6001', '0.0.4242', 50n],
      ],
    ],
    [
      'a credit to another account',
      'failed',
      [
        ['0.0.6001', PAYER, -1_000n],
        ['0.0.6001', '0.0.8888', 1_000n],
      ],
    ],
    [
      'as much of another token',
      'failed',
      [
        ['0.0.7777', PAYER, -1_000n],
        ['0.0.7777', PAY_TO, 1_000n],
      ],
    ],
    [
      'another payer',
      'failed',
      [
        ['0.0.6001', OTHER_PAYER, -1_000n],
        ['0.0.6001', PAY_TO, 1_000n],
      ],
    ],
  ])('X25: the effective transfers of the record decide: %s, %s', async (_name, kind, lines) => {
    const ledger = new HederaStandIn()
    ledger.land(inToken)
    const [record] = ledger.records.splice(0)
    if (record === undefined) throw new Error('no record')
    const tokenTransfers = lines.map(([asset, accountId, amount]) => ({ asset, accountId, amount }))
    ledger.records.push({ ...record, tokenTransfers })
    const context = { mirror: ledger.mirror, nowSeconds: ledger.nowSeconds() }
    expect((await findHederaPayment(inToken, context)).kind).toBe(kind)
  })

  test('unknown: only duplicates so far', async () => {
    const ledger = new HederaStandIn()
    ledger.land(payment, 'DUPLICATE_TRANSACTION')
    await ledger.clock.advanceMsSettled(600_000)
    expect(await find(ledger)).toEqual({ kind: 'unknown' })
  })

  test.each([
    [0, 0, 'unknown'],
    [210, 0, 'unknown'],
    [211, 0, 'never'],
    [211, 1, 'unknown'],
    [3_600, 3_400, 'unknown'],
    [3_600, 3_000, 'never'],
  ])('%i s later, the mirror node %i s behind: %s', async (seconds, lag, kind) => {
    const ledger = new HederaStandIn()
    ledger.mirrorLagSeconds = lag
    await ledger.clock.advanceMsSettled(seconds * 1_000)
    expect((await find(ledger)).kind).toBe(kind)
  })

  test('a record that the mirror node reads between two answers is not missed', async () => {
    const ledger = new HederaStandIn()
    await ledger.clock.advanceMsSettled(211_000)
    const order: string[] = []
    const { mirror } = ledger
    await findHederaPayment(payment, {
      nowSeconds: ledger.nowSeconds(),
      mirror: {
        async latestConsensusSeconds() {
          order.push('progress')
          return await mirror.latestConsensusSeconds()
        },
        async transaction(id) {
          order.push('records')
          return await mirror.transaction(id)
        },
      },
    })
    expect(order).toEqual(['progress', 'records'])
  })
})
