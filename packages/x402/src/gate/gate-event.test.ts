import { describe, expect, test } from 'vitest'
import type { VerifiedPayment } from '../payment.ts'
import { gateFixture } from '../testing/gate.fixture.ts'
import { type GateEvent, logGateEvent } from './gate-event.ts'

describe('S6: a payment’s events name the request that brought it', () => {
  test('from settlement to answer, whoever else sends the same payment', async () => {
    const { events, gate, job, ledger, terms } = gateFixture()
    const header = await ledger.pay(terms)
    await Promise.all(
      ['request-1', 'request-2'].map((requestId) =>
        gate.pay({ paymentSignature: header }, terms, job({ requestId })),
      ),
    )
    expect(events.map(({ kind, requestId }) => [kind, requestId])).toEqual([
      ['settled', 'request-1'],
      ['fulfilled', 'request-1'],
    ])
  })

  test('even when it completes in the background, and when the header comes again', async () => {
    const { events, gate, job, ledger, terms } = gateFixture()
    ledger.fault = 'answer_lost'
    ledger.isMirrorDown = true
    const header = await ledger.pay(terms)
    const first = gate.pay({ paymentSignature: header }, terms, job({ requestId: 'request-1' }))
    await ledger.clock.advanceMsSettled(60_000)
    expect((await first).kind).toBe('pending')
    ledger.isMirrorDown = false
    const again = gate.pay({ paymentSignature: header }, terms, job({ requestId: 'request-2' }))
    expect((await again).kind).toBe('paid')
    expect(events.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['in_doubt', 'found', 'fulfilled']),
    )
    expect(new Set(events.map(({ requestId }) => requestId))).toEqual(new Set(['request-1']))
  })

  test('a job without an id adds none', async () => {
    const { events, gate, job, ledger, terms } = gateFixture()
    await gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job())
    expect(events.map((event) => 'requestId' in event)).toEqual([false, false])
  })
})

const payment: VerifiedPayment = {
  id: 'hedera:testnet/0.0.7@1700000000.000000001',
  network: 'hedera:testnet',
  asset: '0.0.0',
  amount: 1_200_000_000n,
  payTo: '0.0.1001',
  payer: '0.0.1002',
  payerEvmAddress: '0x00000000000000000000000000000000000a6e17',
  nonce: '0.0.7@1700000000.000000001',
  memo: 'x402:0x00000000000000000000000000000000000a6e17',
  validFromSeconds: 1_700_000_000,
  validUntilSeconds: 1_700_000_120,
}

const common = {
  reqId: 'request-1',
  paymentId: payment.id,
  payer: '0.0.1002',
  amount: '1200000000',
}
const settlement = {
  success: true,
  transaction: '0.0.7@1700000000.000000001',
  network: payment.network,
  payer: payment.payer,
}
const cause = new Error('no answer')

describe('a payment’s log line', () => {
  const lines: (readonly [GateEvent, string, object])[] = [
    [{ kind: 'settled', payment, settlement }, 'info', { transaction: settlement.transaction }],
    [{ kind: 'fulfilled', payment }, 'info', {}],
    [
      {
        kind: 'found',
        payment,
        finding: { kind: 'landed', transaction: payment.nonce, consensusSeconds: 1_700_000_003 },
      },
      'info',
      { finding: 'landed', transaction: payment.nonce },
    ],
    [{ kind: 'found', payment, finding: { kind: 'never' } }, 'info', { finding: 'never' }],
    [{ kind: 'refused', payment, reason: 'late' }, 'warn', { reason: 'late' }],
    [{ kind: 'in_doubt', payment, cause }, 'warn', { err: cause }],
    [{ kind: 'retrying', payment, cause }, 'warn', { err: cause }],
    [{ kind: 'store_failed', payment, cause }, 'warn', { err: cause }],
  ]
  test.each(lines)('%o', (event, level, fields) => {
    const written: unknown[][] = []
    const write =
      (name: string) =>
      (...words: unknown[]): void => {
        written.push([name, ...words])
      }
    const logger = { info: write('info'), warn: write('warn') }
    logGateEvent({ ...event, requestId: 'request-1' }, logger)
    expect(written).toEqual([[level, { ...common, ...fields }, event.kind]])
  })
})
