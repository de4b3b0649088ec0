import type { FastifyBaseLogger } from 'fastify'
import { describe, expect, it } from 'vitest'
import type { GateHappening } from '../gate/gate-event.ts'
import type { VerifiedPayment } from '../schemes/payment-scheme.ts'
import { logGateEvent } from './log-gate-event.ts'

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

describe('the line of a payment in the log', () => {
  const lines: (readonly [GateHappening, string, object])[] = [
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
  it.each(lines)('%o', (happening, level, fields) => {
    const written: unknown[][] = []
    const write =
      (name: string) =>
      (...words: unknown[]): void => {
        written.push([name, ...words])
      }
    const logger = { info: write('info'), warn: write('warn') } as unknown as FastifyBaseLogger
    logGateEvent({ ...happening, requestId: 'request-1' }, logger)
    expect(written).toEqual([[level, { ...common, ...fields }, happening.kind]])
  })
})
